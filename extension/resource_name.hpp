// Names of resources: their limits, and the templates from which a guard makes them out of a row.
#pragma once

#include "hashed_name.hpp"
#include "pg.hpp"

namespace fencelock {

inline constexpr size_t max_resource_bytes = 1024;

// 22023 unless the name has 1 to max_resource_bytes bytes.
void require_resource_name(std::string_view name);

// One piece of a template: literal text, or (where column is valid) the value of a column.
struct template_part {
    std::string_view literal;
    AttrNumber column;
    Oid type; // domains resolved
    FmgrInfo output;
    bool depends_on_settings; // its text differs with DateStyle and the like unless they are pinned
};

// A column that the name depends on.
struct template_column {
    AttrNumber number;
    int16 length; // as in pg_attribute
    bool by_value;
};

struct name_template {
    template_part* parts;
    int part_count;
    template_column* columns;
    int column_count;
    bool depends_on_settings; // of any part
};

// Compiles "order:{id}" against the table's current columns; memory comes from the current context.
// Errors: 22023 for the template's form, 42703 unknown column, 0A000 generated column.
name_template compile_name_template(Relation table, const char* source);

// Where a name is rendered: long enough for all that are allowed.
struct name_buffer {
    char data[max_resource_bytes];
};

// The resource that a row belongs to, in the buffer. Renders alike whatever the session's settings
// are. Errors: 22004 for a NULL column, 22023 for the length.
hashed_name render_resource_name(name_template& compiled, Relation table, TupleTableSlot* row,
                                 name_buffer& buffer);

// True where both rows have the same values in all of the template's columns, bit by bit. The older
// one is read as a tuple: whoever updates has no other use for its columns.
bool same_template_columns(const name_template& compiled, HeapTuple before, TupleTableSlot* after);

} // namespace fencelock
