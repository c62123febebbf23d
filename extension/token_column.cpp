#include "token_column.hpp"

#include "errors.hpp"

namespace fencelock {

namespace {

// Where the column's value lies in the tuple; null where it has none there.
char* value_in(HeapTuple tuple, TupleDesc row, AttrNumber column)
{
    HeapTupleHeader header = tuple->t_data;
    bits8* nulls = HeapTupleHasNulls(tuple) ? header->t_bits : nullptr;
    int index = AttrNumberGetAttrOffset(column);
    if (index >= HeapTupleHeaderGetNatts(header) || (nulls != nullptr && att_isnull(index, nulls)))
        return nullptr;

    char* data = reinterpret_cast<char*>(header) + header->t_hoff;
    Size offset = 0;
    for (int i = 0; i < index; i++) {
        if (nulls != nullptr && att_isnull(i, nulls))
            continue;
        Form_pg_attribute attribute = TupleDescAttr(row, i);
        offset = att_align_pointer(offset, attribute->attalign, attribute->attlen, data + offset);
        offset = att_addlength_pointer(offset, attribute->attlen, data + offset);
    }
    return data + att_align_nominal(offset, TYPALIGN_DOUBLE);
}

// NULL or 0, perhaps with the server's own cast around it. Nothing is evaluated: a function in a
// default is the table owner's, and would run with the rights of whoever asks.
bool is_written_as_no_token(const Node* expression)
{
    if (IsA(expression, FuncExpr)) {
        const auto* call = reinterpret_cast<const FuncExpr*>(expression);
        bool is_cast =
            call->funcformat == COERCE_IMPLICIT_CAST || call->funcformat == COERCE_EXPLICIT_CAST;
        if (!is_cast || call->funcid >= FirstNormalObjectId || list_length(call->args) != 1)
            return false;
        expression = static_cast<const Node*>(linitial(call->args));
    }
    if (!IsA(expression, Const))
        return false;
    const auto* constant = reinterpret_cast<const Const*>(expression);
    if (constant->constisnull)
        return true;
    switch (constant->consttype) {
    case INT2OID:
        return DatumGetInt16(constant->constvalue) == no_token;
    case INT4OID:
        return DatumGetInt32(constant->constvalue) == no_token;
    case INT8OID:
        return DatumGetInt64(constant->constvalue) == no_token;
    default:
        return false;
    }
}

} // namespace

HeapTuple write_token_column(HeapTuple tuple, Relation table, AttrNumber column, token value)
{
    TupleDesc row = RelationGetDescr(table);
    // One number over another changes nothing else in a tuple; forming it anew costs five times as
    // much.
    if (value != no_token && value_in(tuple, row, column) != nullptr) {
        HeapTuple copy = heap_copytuple(tuple);
        memcpy(value_in(copy, row, column), &value, sizeof(value));
        return copy;
    }
    int number = column;
    Datum datum = Int64GetDatum(value);
    bool is_null = value == no_token;
    return heap_modify_tuple_by_cols(tuple, row, 1, &number, &datum, &is_null);
}

void require_no_default_token(Relation table, AttrNumber column)
{
    const Node* expression = build_column_default(table, column);
    if (expression != nullptr && !is_written_as_no_token(expression))
        raise_guard_default_token(table, column);
}

} // namespace fencelock
