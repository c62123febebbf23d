#include "settings.hpp"

#include "pg_compat.hpp"
#include "resource_name.hpp"

namespace fencelock {

namespace {

char* claims_text = nullptr;
int enforce_value = static_cast<int>(enforcement::on);
int preempt_after_ms = 0;

constexpr config_enum_entry enforce_options[] = {
    {"on", static_cast<int>(enforcement::on), false},
    {"warn", static_cast<int>(enforcement::warn), false},
    {"off", static_cast<int>(enforcement::off), false},
    {nullptr, 0, false},
};

// fencelock.claims, parsed: one block, kept as the setting's "extra", so that SET LOCAL, savepoints
// and rollbacks treat it exactly like the text.
struct parsed_claim {
    uint32 offset; // of the name, from the start of the block
    uint32 length;
    token presented;
};
struct parsed_claims {
    int count;
    parsed_claim items[FLEXIBLE_ARRAY_MEMBER]; // sorted by name
};
const parsed_claims* active_claims = nullptr;

std::string_view name_of(const parsed_claims* claims, const parsed_claim& item)
{
    return {reinterpret_cast<const char*>(claims) + item.offset, item.length};
}

// What the JSON parser has met so far; problem is set at the first thing that does not fit.
struct claims_reader {
    int depth;
    char* name; // the field whose value comes next
    List* names;
    List* values; // palloc'd tokens
    const char* problem;
};

claims_reader* reader_of(void* state)
{
    return static_cast<claims_reader*>(state);
}

void note_problem(claims_reader* reader, const char* problem)
{
    if (reader->problem == nullptr)
        reader->problem = problem;
}

constexpr const char* not_flat = "It must be one JSON object of resource names and tokens, as in "
                                 "{\"order:1001\": 34}.";

extern "C" {

static compat::json_action_result claims_object_start(void* state)
{
    claims_reader* reader = reader_of(state);
    if (++reader->depth > 1)
        note_problem(reader, not_flat);
    FENCELOCK_JSON_ACTION_RETURN;
}

static compat::json_action_result claims_array_start(void* state)
{
    note_problem(reader_of(state), not_flat);
    FENCELOCK_JSON_ACTION_RETURN;
}

static compat::json_action_result claims_field_start(void* state, char* name, bool)
{
    reader_of(state)->name = name;
    FENCELOCK_JSON_ACTION_RETURN;
}

static compat::json_action_result claims_scalar(void* state, char* value, JsonTokenType type)
{
    claims_reader* reader = reader_of(state);
    if (reader->depth != 1) {
        note_problem(reader, not_flat);
        FENCELOCK_JSON_ACTION_RETURN;
    }
    // A string of digits does as well: some languages have no integers beyond 2^53.
    bool whole = (type == JSON_TOKEN_NUMBER || type == JSON_TOKEN_STRING) && *value != '\0' &&
                 strspn(value, "0123456789") == strlen(value);
    errno = 0;
    int64 presented = whole ? static_cast<int64>(strtoll(value, nullptr, 10)) : 0;
    if (presented < 1 || errno != 0)
        note_problem(reader, "A token must be a whole number from 1 to 9223372036854775807.");
    size_t length = strlen(reader->name);
    if (length < 1 || length > max_resource_bytes)
        note_problem(reader, "The name of a resource must have 1 to 1024 bytes.");
    auto* item = static_cast<token*>(palloc(sizeof(token)));
    *item = presented;
    reader->names = lappend(reader->names, reader->name);
    reader->values = lappend(reader->values, item);
    FENCELOCK_JSON_ACTION_RETURN;
}

} // extern "C"

int compare_items(const void* one, const void* other, void* block)
{
    const auto* claims = static_cast<const parsed_claims*>(block);
    return name_of(claims, *static_cast<const parsed_claim*>(one))
        .compare(name_of(claims, *static_cast<const parsed_claim*>(other)));
}

parsed_claims* pack(const claims_reader& reader)
{
    int count = list_length(reader.names);
    size_t head = offsetof(parsed_claims, items) + sizeof(parsed_claim) * count;
    size_t size = head;
    for (int i = 0; i < count; i++)
        size += strlen(static_cast<char*>(list_nth(reader.names, i)));
    auto* block = static_cast<parsed_claims*>(compat::allocate_setting_extra(size));
    if (block == nullptr)
        return nullptr;
    block->count = count;
    size_t at = head;
    for (int i = 0; i < count; i++) {
        auto* name = static_cast<char*>(list_nth(reader.names, i));
        size_t length = strlen(name);
        memcpy(reinterpret_cast<char*>(block) + at, name, length);
        block->items[i] = {static_cast<uint32>(at), static_cast<uint32>(length),
                           *static_cast<token*>(list_nth(reader.values, i))};
        at += length;
    }
    qsort_arg(block->items, count, sizeof(parsed_claim), compare_items, block);
    return block;
}

bool names_repeat(const parsed_claims* block)
{
    for (int i = 1; i < block->count; i++)
        if (name_of(block, block->items[i - 1]) == name_of(block, block->items[i]))
            return true;
    return false;
}

bool read_claims(const char* source, claims_reader& reader)
{
    JsonSemAction actions{};
    actions.semstate = &reader;
    actions.object_start = claims_object_start;
    actions.array_start = claims_array_start;
    actions.object_field_start = claims_field_start;
    actions.scalar = claims_scalar;
    JsonParseErrorType result = compat::parse_json(source, &actions);
    if (result == JSON_UNICODE_CODE_POINT_ZERO)
        note_problem(&reader, "A name or token in it contains \\u0000, which no text can.");
    else if (result != JSON_SUCCESS)
        note_problem(&reader, not_flat);
    return reader.problem == nullptr;
}

extern "C" {

static bool check_claims(char** value, void** extra, GucSource)
{
    *extra = nullptr;
    if (*value == nullptr || **value == '\0')
        return true;
    claims_reader reader{};
    if (!read_claims(*value, reader)) {
        GUC_check_errdetail("%s", reader.problem);
        return false;
    }
    parsed_claims* block = pack(reader);
    if (block == nullptr)
        return false;
    if (names_repeat(block)) {
        GUC_check_errdetail("A resource is named twice.");
        compat::free_setting_extra(block);
        return false;
    }
    *extra = block;
    return true;
}

static void assign_claims(const char*, void* extra)
{
    active_claims = static_cast<const parsed_claims*>(extra);
}

} // extern "C"

} // namespace

void define_settings()
{
    DefineCustomStringVariable(
        "fencelock.claims", "Fencing tokens that this transaction's writes present.",
        "A JSON object of resources and tokens, as in {\"order:1001\": 34}; meant for SET LOCAL.",
        &claims_text, "", PGC_USERSET, 0, check_claims, assign_claims, nullptr);
    DefineCustomEnumVariable(
        "fencelock.enforce", "Whether refused fencing tokens are errors, warnings or ignored.",
        "Writes under anything but \"on\" are outside what fencelock promises.", &enforce_value,
        static_cast<int>(enforcement::on), enforce_options, PGC_SUSET, 0, nullptr, nullptr,
        nullptr);
    DefineCustomIntVariable(
        "fencelock.preempt_after",
        "How long a newer fencing token waits for a transaction with an older one before it ends "
        "that session.",
        "0 means never.", &preempt_after_ms, 0, 0, INT_MAX, PGC_SUSET, GUC_UNIT_MS, nullptr,
        nullptr, nullptr);
    compat::reserve_setting_prefix("fencelock");
}

enforcement current_enforcement()
{
    return static_cast<enforcement>(enforce_value);
}

int preempt_after()
{
    return preempt_after_ms;
}

token token_in_claims_setting(std::string_view resource)
{
    if (active_claims == nullptr)
        return no_token;
    int low = 0;
    int high = active_claims->count - 1;
    while (low <= high) {
        int middle = low + (high - low) / 2;
        const parsed_claim& item = active_claims->items[middle];
        int order = resource.compare(name_of(active_claims, item));
        if (order == 0)
            return item.presented;
        if (order < 0)
            high = middle - 1;
        else
            low = middle + 1;
    }
    return no_token;
}

} // namespace fencelock
