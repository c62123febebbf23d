#include "guard_config.hpp"

#include "errors.hpp"

namespace fencelock {

namespace {

struct cached_config {
    Oid trigger; // first, as dynahash wants it
    Oid table;
    bool valid;
    guard_config* config; // null before it was compiled
    MemoryContext memory; // holds it
};

HTAB* cache = nullptr;
uint64 invalidations = 0; // so far

void invalidate_configs(Datum, Oid table)
{
    invalidations++;
    latest.config = nullptr;
    if (cache == nullptr)
        return;
    HASH_SEQ_STATUS all;
    hash_seq_init(&all, cache);
    while (auto* entry = static_cast<cached_config*>(hash_seq_search(&all)))
        if (table == InvalidOid || entry->table == table)
            entry->valid = false;
}

HTAB* create_cache()
{
    HASHCTL control{};
    control.keysize = sizeof(Oid);
    control.entrysize = sizeof(cached_config);
    control.hcxt = CacheMemoryContext;
    return hash_create("fencelock guards", 16, &control, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
}

// Null where the argument has another key.
const char* value_of(const char* argument, const char* key)
{
    size_t length = strlen(key);
    return strncmp(argument, key, length) == 0 && argument[length] == '=' ? argument + length + 1
                                                                          : nullptr;
}

struct choice {
    const char* key;
    const char* standard; // the default
    const char* other;
};

// Sets chosen to whether the argument asks for the value that is not the default; false where it is
// about another key.
bool read_choice(Relation table, const char* argument, const choice& allowed, bool& chosen)
{
    const char* value = value_of(argument, allowed.key);
    if (value == nullptr)
        return false;
    chosen = strcmp(value, allowed.other) == 0;
    if (!chosen && strcmp(value, allowed.standard) != 0)
        raise_guard_argument(table,
                             psprintf("\"%s\" is neither %s=%s nor %s=%s", argument, allowed.key,
                                      allowed.standard, allowed.key, allowed.other),
                             nullptr);
    return true;
}

constexpr choice mark_choice{"mark", "resource", "row"};
constexpr choice ties_choice{"ties", "accept", "reject"};
constexpr choice require_choice{"require", "any", "claim"};
constexpr choice unfenced_choice{"unfenced", "reject", "warn"};

// The arguments as written, before the table has been looked at.
struct guard_arguments {
    const char* resource;
    const char* token;
    bool mark_row;
    bool ties_reject;
    bool require_claim;
    bool unfenced_warn;
};

guard_arguments read_arguments(Relation table, int count, char** arguments)
{
    guard_arguments read{};
    for (int i = 0; i < count; i++) {
        const char* argument = arguments[i];
        for (int j = 0; j < i; j++) {
            const char* equals = strchr(argument, '=');
            if (equals != nullptr && strncmp(argument, arguments[j], equals - argument + 1) == 0)
                raise_guard_argument(table, psprintf("\"%s\" is given twice", argument), nullptr);
        }
        if (const char* value = value_of(argument, "resource"))
            read.resource = value;
        else if (const char* column = value_of(argument, "token"))
            read.token = column;
        else if (!read_choice(table, argument, mark_choice, read.mark_row) &&
                 !read_choice(table, argument, ties_choice, read.ties_reject) &&
                 !read_choice(table, argument, require_choice, read.require_claim) &&
                 !read_choice(table, argument, unfenced_choice, read.unfenced_warn))
            raise_guard_argument(table, psprintf("unknown argument \"%s\"", argument),
                                 "The arguments are resource=, token=, mark=, ties=, require= and "
                                 "unfenced=.");
    }
    if (read.resource == nullptr)
        raise_guard_argument(table, "\"resource=\" is missing",
                             "Name the resource that a row belongs to, as in "
                             "'resource=order:{id}'.");
    if (read.token == nullptr && (read.mark_row || read.ties_reject))
        raise_guard_argument(table, "mark=row and ties=reject need a token column",
                             "Name it, as in 'token=fence_token'.");
    return read;
}

AttrNumber find_token_column(Relation table, const char* column)
{
    AttrNumber number = get_attnum(RelationGetRelid(table), column);
    if (number <= 0)
        raise_guard_no_column(table, column);
    Form_pg_attribute attribute =
        TupleDescAttr(RelationGetDescr(table), AttrNumberGetAttrOffset(number));
    if (attribute->atttypid != INT8OID)
        raise_guard_token_type(table, number);
    if (attribute->attgenerated != '\0')
        raise_guard_generated_column(table, number);
    return number;
}

// A configuration that a running guard may still use dies with the transaction.
void retire(cached_config& entry)
{
    if (entry.memory != nullptr)
        MemoryContextSetParent(entry.memory, TopTransactionContext);
    entry.memory = nullptr;
    entry.config = nullptr;
}

// The cache grows here alone, so here it gives up what it may never be asked for again: the
// triggers of dropped tables, and dropped triggers, whose tables have changed by that.
void drop_invalid_but(const cached_config* kept)
{
    HASH_SEQ_STATUS all;
    hash_seq_init(&all, cache);
    while (auto* entry = static_cast<cached_config*>(hash_seq_search(&all))) {
        if (entry->valid || entry == kept)
            continue;
        retire(*entry);
        (void)hash_search(cache, &entry->trigger, HASH_REMOVE, nullptr);
    }
}

void compile_into(cached_config& entry, Relation table, const Trigger* trigger)
{
    MemoryContext memory =
        AllocSetContextCreate(CurrentMemoryContext, "fencelock guard", ALLOCSET_SMALL_SIZES);
    MemoryContext caller = MemoryContextSwitchTo(memory);
    auto* config = static_cast<guard_config*>(palloc(sizeof(guard_config)));
    *config = compile_guard_config(table, trigger->tgnargs, trigger->tgargs);
    MemoryContextSwitchTo(caller);
    MemoryContextSetParent(memory, CacheMemoryContext); // nothing can fail from here on
    retire(entry);
    entry.memory = memory;
    entry.config = config;
    entry.table = RelationGetRelid(table);
}

cached_config& entry_of(Oid trigger)
{
    if (cache == nullptr)
        cache = create_cache();
    bool found;
    auto* entry = static_cast<cached_config*>(hash_search(cache, &trigger, HASH_ENTER, &found));
    if (!found) {
        entry->table = InvalidOid;
        entry->valid = false;
        entry->config = nullptr;
        entry->memory = nullptr;
    }
    return *entry;
}

AttrNumber last_column_of(const name_template& names, AttrNumber token_column)
{
    AttrNumber last = token_column;
    for (int i = 0; i < names.column_count; i++)
        last = std::max(last, names.columns[i].number);
    return last;
}

// Else each token written would move its row to another resource.
bool names_column(const name_template& names, AttrNumber column)
{
    for (int i = 0; i < names.column_count; i++)
        if (names.columns[i].number == column)
            return true;
    return false;
}

// Whether two rows never have one name, as mark=row needs: at most one column may contain anything,
// the others only what hexadecimal numbers and dashes consist of, and between two columns stands
// something else.
bool tells_rows_apart(const name_template& names)
{
    int free_columns = 0;
    bool separated = true;
    for (int i = 0; i < names.part_count; i++) {
        const template_part& part = names.parts[i];
        if (part.column == InvalidAttrNumber) {
            separated = separated || part.literal.find_first_not_of("0123456789abcdef-") !=
                                         std::string_view::npos;
            continue;
        }
        if (!separated)
            return false;
        separated = false;
        bool numeric = part.type == INT2OID || part.type == INT4OID || part.type == INT8OID ||
                       part.type == OIDOID || part.type == UUIDOID;
        free_columns += numeric ? 0 : 1;
    }
    return free_columns <= 1;
}

} // namespace

latest_config latest;

void watch_guarded_tables()
{
    CacheRegisterRelcacheCallback(invalidate_configs, 0);
}

guard_config compile_guard_config(Relation table, int count, char** arguments)
{
    char kind = table->rd_rel->relkind;
    if (kind != RELKIND_RELATION && kind != RELKIND_PARTITIONED_TABLE)
        raise_guard_relation_kind(table);
    guard_arguments read = read_arguments(table, count, arguments);
    guard_config config{};
    config.resource = compile_name_template(table, pstrdup(read.resource));
    config.token_column =
        read.token == nullptr ? InvalidAttrNumber : find_token_column(table, read.token);
    config.last_column = last_column_of(config.resource, config.token_column);
    if (names_column(config.resource, config.token_column))
        raise_guard_argument(
            table, "the token column is part of the resource template",
            "Name a column that holds nothing but tokens: the guard writes to it.");
    if (read.mark_row && !tells_rows_apart(config.resource))
        raise_guard_argument(table, "with mark=row two rows could have the same resource name",
                             "Put text such as a colon between columns, and name at most one that "
                             "is neither integer nor uuid; or use mark=resource.");
    config.mark = read.mark_row ? mark_place::row : mark_place::resource;
    config.ties = read.ties_reject ? tie_rule::reject : tie_rule::accept;
    config.require = read.require_claim ? stamp_rule::claim : stamp_rule::any;
    config.unfenced = read.unfenced_warn ? unfenced_rule::warn : unfenced_rule::reject;
    return config;
}

guard_config compile_guard_config(Relation table, ArrayType* arguments)
{
    Datum* elements;
    int count;
    deconstruct_array(arguments, TEXTOID, -1, false, TYPALIGN_INT, &elements, nullptr, &count);
    char** texts = static_cast<char**>(palloc(sizeof(char*) * std::max(count, 1)));
    for (int i = 0; i < count; i++)
        texts[i] = TextDatumGetCString(elements[i]);
    return compile_guard_config(table, count, texts);
}

uint64 table_changes()
{
    return invalidations;
}

guard_config& find_config(Relation table, const Trigger* trigger)
{
    cached_config& entry = entry_of(trigger->tgoid);
    if (!entry.valid) {
        drop_invalid_but(&entry);
        uint64 before = invalidations;
        compile_into(entry, table, trigger);
        entry.valid = invalidations == before;
    }
    if (entry.valid)
        latest = {trigger->tgoid, entry.config};
    return *entry.config;
}

} // namespace fencelock
