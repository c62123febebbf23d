// The resource of a row that is met outside of a trigger.
#pragma once

#include "pg.hpp"
#include "resource_name.hpp"

namespace fencelock {

// The name of the resource that a guard with these arguments would find for the row of the table.
// What it compiles is kept in called_by for the next row of the same query.
// Errors: those of compile_guard_config and render_resource_name; 42804 where it is no such row.
std::string_view resource_of_row(FmgrInfo* called_by, Oid table, ArrayType* arguments,
                                 HeapTupleHeader row, name_buffer& buffer);

} // namespace fencelock
