#include "backend.hpp"

#include <array>
#include <cstdlib>
#include <memory>
#include <unordered_set>
#include <utility>
#include <vector>

#include "errors.hpp"

namespace {

std::unordered_set<void*> allocated;

struct column {
    char const* name;
    Oid type;
    char const* value;
};
// The text of the last depends on settings, so they are pinned for it.
constexpr std::array<column, 3> columns{{{"id", TEXTOID, "1001"},
                                         {"n", INT8OID, "-9223372036854775808"},
                                         {"at", TIMESTAMPTZOID, "now"}}};

TupleDesc make_description()
{
    // Room for attributes as any version lays them out.
    auto* made = static_cast<TupleDesc>(std::calloc(
        1, sizeof(TupleDescData) + columns.size() * (sizeof(FormData_pg_attribute) + 64)));
    made->natts = static_cast<int>(columns.size());
    for (std::size_t i = 0; i < columns.size(); ++i) {
        auto* attribute = TupleDescAttr(made, static_cast<int>(i));
        attribute->atttypid = columns[i].type;
        attribute->attnum = static_cast<AttrNumber>(i + 1);
        attribute->attlen = -1;
    }
    return made;
}

// Text as the server stores it; what has an output function stays a C string.
Datum make_value(column const& from)
{
    if (from.type == INT8OID)
        return Int64GetDatum(std::strtoll(from.value, nullptr, 10));
    if (from.type != TEXTOID)
        return CStringGetDatum(from.value);
    auto const size = std::strlen(from.value) + VARHDRSZ;
    auto* made = static_cast<text*>(std::calloc(1, size));
    SET_VARSIZE(made, size);
    std::memcpy(VARDATA(made), from.value, size - VARHDRSZ);
    return PointerGetDatum(made);
}

// fencelock.claims, as it was defined.
GucStringCheckHook check_claims;
GucStringAssignHook assign_claims;

} // namespace

namespace fuzz {

memory_of_one_input::~memory_of_one_input()
{
    for (auto* one : allocated)
        std::free(one);
    allocated.clear();
}

Relation table()
{
    static auto* const made = [] {
        auto* relation = static_cast<Relation>(std::calloc(1, sizeof(RelationData)));
        relation->rd_att = make_description();
        return relation;
    }();
    return made;
}

TupleTableSlot* row()
{
    static auto* const made = [] {
        auto* slot = static_cast<TupleTableSlot*>(std::calloc(1, sizeof(TupleTableSlot)));
        slot->tts_tupleDescriptor = table()->rd_att;
        slot->tts_nvalid = static_cast<AttrNumber>(columns.size());
        slot->tts_values = static_cast<Datum*>(std::calloc(columns.size(), sizeof(Datum)));
        slot->tts_isnull = static_cast<bool*>(std::calloc(columns.size(), sizeof(bool)));
        for (std::size_t i = 0; i < columns.size(); ++i)
            slot->tts_values[i] = make_value(columns[i]);
        return slot;
    }();
    return made;
}

HeapTuple tuple()
{
    static auto* const made = [] {
        auto* header = static_cast<HeapTupleHeader>(std::calloc(1, 64));
        HeapTupleHeaderSetNatts(header, columns.size());
        header->t_infomask = HEAP_HASNULL; // none is, but so no offsets are looked for
        header->t_bits[0] = 0xFF;
        auto* one = static_cast<HeapTuple>(std::calloc(1, sizeof(HeapTupleData)));
        one->t_data = header;
        return one;
    }();
    return made;
}

char const* column_value(std::string const& name)
{
    for (auto const& one : columns)
        if (name == one.name)
            return one.value;
    return nullptr;
}

bool set_claims(std::string const& text)
{
    static void* active = nullptr;
    std::vector<char> copy{text.c_str(), text.c_str() + text.size() + 1};
    char* value = copy.data();
    void* extra = nullptr;
    if (!check_claims(&value, &extra, PGC_S_SESSION))
        return false;
    assign_claims(value, extra);
    std::free(std::exchange(active, extra));
    return true;
}

} // namespace fuzz

namespace fencelock {

void raise_bad_resource_length(std::string_view)
{
    throw fuzz::raised{};
}
void raise_guard_template(Relation, char const*, char const*)
{
    throw fuzz::raised{};
}
void raise_guard_no_column(Relation, char const*)
{
    throw fuzz::raised{};
}
void raise_guard_generated_column(Relation, AttrNumber)
{
    throw fuzz::raised{};
}
void raise_guard_null_column(Relation, AttrNumber)
{
    throw fuzz::raised{};
}
void raise_guard_resource_length(Relation, size_t)
{
    throw fuzz::raised{};
}

} // namespace fencelock

extern "C" {

MemoryContext CurrentMemoryContext = nullptr;
char* GUC_check_errdetail_string = nullptr;

void* palloc(Size size)
{
    auto* const made = std::malloc(size);
    allocated.insert(made);
    return made;
}

void* palloc0(Size size)
{
    auto* const made = palloc(size);
    std::memset(made, 0, size);
    return made;
}

void pfree(void* memory)
{
    allocated.erase(memory);
    std::free(memory);
}

void* repalloc(void* memory, Size size)
{
    allocated.erase(memory);
    auto* const made = std::realloc(memory, size);
    allocated.insert(made);
    return made;
}

char* pstrdup(char const* text)
{
    auto const size = std::strlen(text) + 1;
    return static_cast<char*>(std::memcpy(palloc(size), text, size));
}

List* lappend(List* list, void* datum)
{
    if (list == NIL) {
        list = static_cast<List*>(palloc0(sizeof(List)));
        list->type = T_List;
    }
    auto const size = sizeof(ListCell) * static_cast<Size>(list->length + 1);
    list->elements =
        static_cast<ListCell*>(list->elements ? repalloc(list->elements, size) : palloc(size));
    list->elements[list->length++].ptr_value = datum;
    return list;
}

void qsort_arg(void* base, size_t count, size_t size, qsort_arg_comparator compare, void* state)
{
    ::qsort_r(base, count, size, compare, state);
}

Datum nocachegetattr(HeapTuple, int number, TupleDesc)
{
    return fuzz::row()->tts_values[number - 1];
}
Datum getmissingattr(TupleDesc, int, bool*)
{
    std::abort();
}
void heap_datum_check(HeapTupleHeader, TupleDesc) {} // asked for by newer minor versions
Datum heap_getsysattr(HeapTuple, int, TupleDesc, bool*)
{
    std::abort();
}
varlena* pg_detoast_datum_packed(varlena* datum)
{
    return datum;
}

int pg_ulltoa_n(uint64 number, char* digits)
{
    auto const text = std::to_string(number);
    std::memcpy(digits, text.data(), text.size());
    return static_cast<int>(text.size());
}

char* OutputFunctionCall(FmgrInfo*, Datum value)
{
    return pstrdup(DatumGetCString(value));
}
bool datum_image_eq(Datum one, Datum other, bool, int)
{
    return one == other;
}

AttrNumber get_attnum(Oid, char const* name)
{
    for (std::size_t i = 0; i < columns.size(); ++i)
        if (std::strcmp(name, columns[i].name) == 0)
            return static_cast<AttrNumber>(i + 1);
    return InvalidAttrNumber;
}

int GetDatabaseEncoding()
{
    return PG_UTF8;
}
Oid getBaseType(Oid type)
{
    return type;
}
char get_typtype(Oid)
{
    return TYPTYPE_BASE;
}
void fmgr_info_cxt(Oid, FmgrInfo*, MemoryContext) {}
int NewGUCNestLevel()
{
    return 1;
}
void AtEOXact_GUC(bool, int) {}

void getTypeOutputInfo(Oid, Oid* function, bool* is_varlena)
{
    *function = 1;
    *is_varlena = true;
}

int set_config_option(char const*, char const*, GucContext, GucSource, GucAction, bool, int, bool)
{
    return 1;
}

// All values of the row are there.
void slot_getsomeattrs_int(TupleTableSlot*, int)
{
    std::abort();
}

void DefineCustomStringVariable(char const*, char const*, char const*, char**, char const*,
                                GucContext, int, GucStringCheckHook check,
                                GucStringAssignHook assign, GucShowHook)
{
    check_claims = check;
    assign_claims = assign;
}

void DefineCustomEnumVariable(char const*, char const*, char const*, int*, int,
                              config_enum_entry const*, GucContext, int, GucEnumCheckHook,
                              GucEnumAssignHook, GucShowHook)
{
}

void DefineCustomIntVariable(char const*, char const*, char const*, int*, int, int, int, GucContext,
                             int, GucIntCheckHook, GucIntAssignHook, GucShowHook)
{
}

#if PG_VERSION_NUM >= 150000
void MarkGUCPrefixReserved(char const*) {}
#else
void EmitWarningsOnPlaceholders(char const*) {}
#endif

#if PG_VERSION_NUM >= 160000
void* guc_malloc(int, size_t size)
{
    return std::malloc(size);
}
void guc_free(void* memory)
{
    std::free(memory);
}
#endif

void pre_format_elog_string(int, char const*) {}
char* format_elog_string(char const*, ...)
{
    return pstrdup("");
}

} // extern "C"
