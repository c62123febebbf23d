#include "resource_name.hpp"

#include "errors.hpp"

namespace fencelock {

void require_resource_name(std::string_view name)
{
    if (name.empty() || name.size() > max_resource_bytes)
        raise_bad_resource_length(name);
}

namespace {

// Types whose text no setting changes. All others are rendered under pinned settings, which costs
// more.
bool text_depends_on_settings(Oid type)
{
    switch (type) {
    case BOOLOID:
    case INT2OID:
    case INT4OID:
    case INT8OID:
    case OIDOID:
    case NUMERICOID:
    case TEXTOID:
    case VARCHAROID:
    case BPCHAROID:
    case NAMEOID:
    case CHAROID:
    case UUIDOID:
        return false;
    default:
        return get_typtype(type) != TYPTYPE_ENUM;
    }
}

// The settings that the output functions of PostgreSQL's types look at, each with the value that
// names are made with. search_path decides how regclass and its kind qualify names.
struct pinned_setting {
    const char* name;
    const char* value;
};
constexpr pinned_setting pinned_settings[] = {
    {"DateStyle", "ISO, MDY"},     {"IntervalStyle", "postgres"}, {"TimeZone", "UTC"},
    {"extra_float_digits", "3"},   {"bytea_output", "hex"},       {"lc_monetary", "C"},
    {"search_path", "pg_catalog"}, {"xmloption", "content"},      {"quote_all_identifiers", "off"},
};

// Pins all of them until AtEOXact_GUC is called with the level returned; an error before that
// restores them too.
int pin_settings()
{
    int level = NewGUCNestLevel();
    for (const pinned_setting& setting : pinned_settings)
        (void)set_config_option(setting.name, setting.value, PGC_USERSET, PGC_S_SESSION,
                                GUC_ACTION_SAVE, true, 0, false);
    return level;
}

void add_literal(name_template& compiled, const char* begin, const char* end)
{
    if (begin == end)
        return;
    template_part& part = compiled.parts[compiled.part_count++];
    part.literal = {begin, static_cast<size_t>(end - begin)};
    part.column = InvalidAttrNumber;
}

void add_column(name_template& compiled, Relation table, const char* column)
{
    AttrNumber number = get_attnum(RelationGetRelid(table), column);
    if (number <= 0)
        raise_guard_no_column(table, column);
    Form_pg_attribute attribute =
        TupleDescAttr(RelationGetDescr(table), AttrNumberGetAttrOffset(number));
    if (attribute->attgenerated != '\0')
        raise_guard_generated_column(table, number);

    template_part& part = compiled.parts[compiled.part_count++];
    part.literal = {};
    part.column = number;
    part.type = getBaseType(attribute->atttypid);
    part.depends_on_settings = text_depends_on_settings(part.type);
    compiled.depends_on_settings |= part.depends_on_settings;

    compiled.columns[compiled.column_count++] = {number, attribute->attlen, attribute->attbyval};

    Oid output;
    bool is_varlena;
    getTypeOutputInfo(part.type, &output, &is_varlena);
    fmgr_info_cxt(output, &part.output, CurrentMemoryContext);
}

} // namespace

name_template compile_name_template(Relation table, const char* source)
{
    name_template compiled{};
    size_t length = strlen(source);
    if (length == 0)
        raise_guard_template(table, source, "it is empty");

    // Every part takes at least one character of the source.
    compiled.parts = static_cast<template_part*>(palloc0(sizeof(template_part) * length));
    compiled.columns = static_cast<template_column*>(palloc0(sizeof(template_column) * length));
    char* column = static_cast<char*>(palloc(length + 1));

    const char* literal = source;
    const char* at = source;
    while (*at != '\0') {
        if (*at != '{' && *at != '}') {
            at++;
            continue;
        }
        if (at[0] == at[1]) { // doubled: one brace, which ends this literal part
            add_literal(compiled, literal, at + 1);
            literal = at += 2;
            continue;
        }
        if (*at == '}')
            raise_guard_template(table, source, "a closing brace has no opening one");
        add_literal(compiled, literal, at);
        const char* end = strchr(at + 1, '}');
        if (end == nullptr)
            raise_guard_template(table, source, "an opening brace is never closed");
        if (end == at + 1)
            raise_guard_template(table, source, "a pair of braces names no column");
        memcpy(column, at + 1, end - at - 1);
        column[end - at - 1] = '\0';
        add_column(compiled, table, column);
        literal = at = end + 1;
    }
    add_literal(compiled, literal, at);
    pfree(column);
    return compiled;
}

namespace {

// A name on its way into the buffer. What no longer fits is only counted.
struct name_writer {
    name_buffer& buffer;
    size_t length;

    void append(std::string_view piece)
    {
        if (length + piece.size() <= max_resource_bytes)
            memcpy(buffer.data + length, piece.data(), piece.size());
        length += piece.size();
    }

    void append(int64 number)
    {
        char digits[24]; // 19 at most, and a sign
        bool negative = number < 0;
        digits[0] = '-';
        uint64 magnitude = negative ? 0 - static_cast<uint64>(number) : static_cast<uint64>(number);
        int length_of_digits = pg_ulltoa_n(magnitude, digits + (negative ? 1 : 0));
        append({digits, static_cast<size_t>(length_of_digits) + (negative ? 1 : 0)});
    }
};

// The commonest types without their output functions, which write the same.
void append_value(name_writer& name, template_part& part, Datum value)
{
    switch (part.type) {
    case INT2OID:
        return name.append(DatumGetInt16(value));
    case INT4OID:
        return name.append(DatumGetInt32(value));
    case INT8OID:
        return name.append(DatumGetInt64(value));
    case TEXTOID:
    case VARCHAROID:
        return name.append(view_of(DatumGetTextPP(value)));
    default:
        return name.append(std::string_view{OutputFunctionCall(&part.output, value)});
    }
}

} // namespace

hashed_name render_resource_name(name_template& compiled, Relation table, TupleTableSlot* row,
                                 name_buffer& buffer)
{
    name_writer name{buffer, 0};
    int level = compiled.depends_on_settings ? pin_settings() : 0;
    for (int i = 0; i < compiled.part_count; i++) {
        template_part& part = compiled.parts[i];
        if (part.column == InvalidAttrNumber) {
            name.append(part.literal);
            continue;
        }
        bool is_null;
        Datum value = slot_getattr(row, part.column, &is_null);
        if (is_null)
            raise_guard_null_column(table, part.column);
        append_value(name, part, value);
    }
    if (compiled.depends_on_settings)
        AtEOXact_GUC(true, level);

    if (name.length < 1 || name.length > max_resource_bytes)
        raise_guard_resource_length(table, name.length);
    return std::string_view{buffer.data, name.length};
}

bool same_template_columns(const name_template& compiled, HeapTuple before, TupleTableSlot* after)
{
    TupleDesc row = after->tts_tupleDescriptor;
    for (int i = 0; i < compiled.column_count; i++) {
        const template_column& column = compiled.columns[i];
        bool before_null;
        bool after_null;
        Datum before_value = heap_getattr(before, column.number, row, &before_null);
        Datum after_value = slot_getattr(after, column.number, &after_null);
        if (before_null || after_null)
            return false;
        bool same = column.by_value
                        ? before_value == after_value
                        : datum_image_eq(before_value, after_value, false, column.length);
        if (!same)
            return false;
    }
    return true;
}

} // namespace fencelock
