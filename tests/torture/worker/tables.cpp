#include "tables.hpp"

namespace torture {

namespace {

// Rows of `note` are kept to about this many for each resource.
constexpr std::int64_t most_notes = 3;

std::string value_column(std::string const& table)
{
    return table == "purse" ? "amount" : "counter";
}

// A resource is named FAMILY:ID.
std::string id_of(std::string const& resource)
{
    return resource.substr(resource.find(':') + 1);
}

std::size_t add_note(pqxx::transaction_base& tx, writer const& by)
{
    return static_cast<std::size_t>(tx.exec("INSERT INTO note (id, by_tx, by_token) VALUES (" +
                                            tx.quote(id_of(by.resource)) + "," + tx.quote(by.tx) +
                                            "," + std::to_string(by.token) + ")")
                                        .affected_rows());
}

// A deleted row does not say who deleted it: the settings do.
std::size_t delete_note(pqxx::transaction_base& tx, writer const& by)
{
    tx.exec("SELECT set_config('torture.by_tx', " + tx.quote(by.tx) +
            ", true), set_config('torture.by_token', '" + std::to_string(by.token) + "', true)");
    return static_cast<std::size_t>(
        tx.exec("DELETE FROM note WHERE number = (SELECT min(number) FROM note WHERE " +
                where_row(tx, by.resource) + ")")
            .affected_rows());
}

} // namespace

std::int64_t read_value(pqxx::transaction_base& tx, std::string const& table,
                        std::string const& resource)
{
    auto const sql = table == "note" ? "SELECT count(*) FROM note WHERE " + where_row(tx, resource)
                                     : "SELECT " + value_column(table) + " FROM " + table +
                                           " WHERE " + where_row(tx, resource);
    return tx.exec(sql)[0][0].as<std::int64_t>();
}

std::string assignments(pqxx::transaction_base& tx, writer const& by, std::string const& table,
                        std::int64_t value)
{
    return value_column(table) + " = " + std::to_string(value) + ", by_tx = " + tx.quote(by.tx) +
           ", by_token = " + std::to_string(by.token);
}

std::size_t write_value(pqxx::transaction_base& tx, writer const& by, std::string const& table,
                        std::int64_t value)
{
    if (table == "note")
        return value > most_notes ? delete_note(tx, by) : add_note(tx, by);
    return static_cast<std::size_t>(tx.exec("UPDATE " + table + " SET " +
                                            assignments(tx, by, table, value) + " WHERE " +
                                            where_row(tx, by.resource))
                                        .affected_rows());
}

std::size_t write_stamped(pqxx::transaction_base& tx, writer const& by, std::string const& table,
                          std::int64_t value)
{
    return static_cast<std::size_t>(tx.exec("UPDATE " + table + " SET " +
                                            assignments(tx, by, table, value) +
                                            ", fence_token = " + std::to_string(by.token) +
                                            " WHERE " + where_row(tx, by.resource))
                                        .affected_rows());
}

std::string where_row(pqxx::transaction_base& tx, std::string const& resource)
{
    return "id = " + tx.quote(id_of(resource));
}

} // namespace torture
