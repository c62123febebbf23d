#include "refusal.hpp"

#include <gtest/gtest.h>

#include <fencelock/errors.hpp>

namespace fencelock::detail {
namespace {

TEST(refusal, of_a_stale_token_names_the_mark_it_is_below)
{
    auto const r = parse_refusal(
        "LF001", "ERROR:  fencing token 33 is stale, below the mark 34 of resource \"order:1001\"\n"
                 "DETAIL:  something about 99 \"x\"\nHINT:  more\n");
    ASSERT_TRUE(r);
    EXPECT_EQ(r->kind, refusal_kind::stale);
    EXPECT_EQ(r->token, 33);
    EXPECT_EQ(r->mark, 34);
    EXPECT_EQ(r->resource, "order:1001");
    EXPECT_EQ(r->message,
              "fencing token 33 is stale, below the mark 34 of resource \"order:1001\"");
    EXPECT_TRUE(r->ends_lease());
}

TEST(refusal, of_a_stale_token_names_the_reservation_it_is_below)
{
    auto const r = parse_refusal(
        "LF001",
        "ERROR:  fencing token 33 is stale, below the newest reservation 1001 of resource \"r\"\n");
    ASSERT_TRUE(r);
    EXPECT_EQ(r->mark, 1001);
}

TEST(refusal, of_a_stale_token_names_the_mark_it_is_not_above)
{
    auto const r = parse_refusal(
        "LF001",
        "ERROR:  fencing token 34 is stale, not above the mark 34 of resource \"order:1001\"\n");
    ASSERT_TRUE(r);
    EXPECT_EQ(r->kind, refusal_kind::stale);
    EXPECT_EQ(r->token, 34);
    EXPECT_EQ(r->mark, 34);
    EXPECT_EQ(r->resource, "order:1001");
}

TEST(refusal, of_a_stale_token_may_hide_mark_and_resource)
{
    auto const r = parse_refusal(
        "LF001", "ERROR:  fencing token 33 is stale for this row of table \"orders\"\n");
    ASSERT_TRUE(r);
    EXPECT_EQ(r->token, 33);
    EXPECT_EQ(r->mark, 0);
    EXPECT_EQ(r->resource, "");
}

TEST(refusal, each_of_the_others_names_what_it_is_about)
{
    auto const required =
        parse_refusal("LF002", "ERROR:  no fencing token presented for resource \"order:1001\"\n");
    ASSERT_TRUE(required);
    EXPECT_EQ(required->kind, refusal_kind::required);
    EXPECT_EQ(required->resource, "order:1001");
    EXPECT_EQ(required->message, "no fencing token presented for resource \"order:1001\"");
    EXPECT_EQ(required->token, 0);
    EXPECT_FALSE(required->ends_lease());

    auto const conflict = parse_refusal(
        "LF003", "ERROR:  fencing token 34 of resource \"order:1001\" belongs to another owner\n");
    ASSERT_TRUE(conflict);
    EXPECT_EQ(conflict->kind, refusal_kind::conflict);
    EXPECT_EQ(conflict->token, 34);
    EXPECT_EQ(conflict->resource, "order:1001");

    auto const not_issued =
        parse_refusal("LF004", "ERROR:  fencing token 99 of resource \"order:1001\" was never "
                               "issued, the highest issued is 34\n");
    ASSERT_TRUE(not_issued);
    EXPECT_EQ(not_issued->kind, refusal_kind::not_issued);
    EXPECT_EQ(not_issued->token, 99);
    EXPECT_EQ(not_issued->resource, "order:1001");
}

TEST(refusal, numbers_are_exact_to_2_to_the_63)
{
    auto const r =
        parse_refusal("LF001", "ERROR:  fencing token 9223372036854775806 is stale, below "
                               "the mark 9223372036854775807 of resource \"r\"\n");
    ASSERT_TRUE(r);
    EXPECT_EQ(r->token, 9223372036854775806);
    EXPECT_EQ(r->mark, 9223372036854775807);
}

TEST(refusal, whatever_the_resource_is_called_the_numbers_are_right)
{
    for (std::string const name : {"fencing token 7 below the mark 8 of resource \"x\"", "a\"b",
                                   "a\nb", "\"", "34", "a\" b", "line\nbelow the mark 5"}) {
        auto const r = parse_refusal(
            "LF001", "ERROR:  fencing token 33 is stale, below the mark 34 of resource \"" + name +
                         "\"\nDETAIL:  x\n");
        ASSERT_TRUE(r);
        EXPECT_EQ(r->token, 33);
        EXPECT_EQ(r->mark, 34);
        EXPECT_EQ(r->resource, name);
    }
}

TEST(refusal, other_codes_are_not_refusals)
{
    EXPECT_FALSE(parse_refusal("23505", "ERROR:  duplicate key"));
    EXPECT_FALSE(parse_refusal("", "fencing token 33 is stale, below the mark 34"));
    EXPECT_FALSE(parse_refusal("LF005", "ERROR:  x"));
}

TEST(refusal, each_code_has_its_exception)
{
    EXPECT_THROW(throw_refusal({refusal_kind::stale, "m", "r", 1, 2}), stale_token);
    EXPECT_THROW(throw_refusal({refusal_kind::required, "m", "r", 0, 0}), token_required);
    EXPECT_THROW(throw_refusal({refusal_kind::conflict, "m", "r", 1, 0}), token_conflict);
    EXPECT_THROW(throw_refusal({refusal_kind::not_issued, "m", "r", 1, 0}), token_not_issued);
    try {
        throw_refusal({refusal_kind::stale, "message", "r", 33, 34});
    } catch (error const& e) {
        EXPECT_STREQ(e.what(), "message");
        EXPECT_EQ(e.resource(), "r");
        EXPECT_EQ(e.token(), 33);
        EXPECT_EQ(dynamic_cast<stale_token const&>(e).mark(), 34);
    }
}

TEST(refusal, who_forgot_the_token_is_told_what_to_do)
{
    try {
        throw_refusal(
            {refusal_kind::required, "no fencing token presented for resource \"r\"", "r", 0, 0});
    } catch (token_required const& e) {
        EXPECT_STREQ(e.what(), "no fencing token presented for resource \"r\": hold its lock and "
                               "write inside transaction(), or claim() it first");
    }
}

TEST(refusal, passing_troubles_are_told_from_lasting_ones)
{
    for (auto const* code : {"40001", "40P01"})
        EXPECT_EQ(fault_of(code), database_fault::again) << code;
    for (auto const* code :
         {"25006", "55P03", "57014", "57P01", "57P03", "53300", "53100", "08006"})
        EXPECT_EQ(fault_of(code), database_fault::unavailable) << code;
    EXPECT_EQ(fault_of("22023"), database_fault::bad_argument);
    for (auto const* code : {"42501", "42883", "3F000", "", "XX000"})
        EXPECT_EQ(fault_of(code), database_fault::configuration) << code;
}

TEST(refusal, of_a_connection_is_lasting_only_where_somebody_has_to_change_something)
{
    for (auto const* code :
         {"28000", "28P01", "3D000", "22023", "22P02", "42501", "42704", "55000", "0A000"})
        EXPECT_TRUE(refuses_for_good(code)) << code;
    for (auto const* code : {"57P03", "53300", "58P01", "58030", "XX000", "08P01", "55P03", ""})
        EXPECT_FALSE(refuses_for_good(code)) << code;
}

} // namespace
} // namespace fencelock::detail
