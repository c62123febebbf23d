// fencelock show: what Redis and the database know of a resource.
#include <iostream>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include <fencelock/errors.hpp>

#include "commands.hpp"
#include "database_view.hpp"
#include "exit_code.hpp"
#include "json.hpp"
#include "limits.hpp"
#include "messages.hpp"
#include "redis_view.hpp"
#include "terminal.hpp"

namespace fencelock::cli {

namespace {

// Where lines go on that are broken: behind the server's name.
constexpr std::size_t first_column = 12;

// Where one server cannot be asked, what the other knows is shown all the same.
class both_views {
  public:
    explicit both_views(arguments const& given)
    {
        if (!given.redis.empty())
            try_with([&] { redis_ = std::make_unique<redis_view>(given, code_); });
        if (given.db)
            try_with([&] { database_ = std::make_unique<database_view>(*given.db); });
    }

    int code() const { return code_; }

    /// After held(): whether that is all that is held.
    bool list_all() const
    {
        return code_ == success && (!redis_ || redis_->lists_all()) &&
               (!database_ || database_->lists_all());
    }

    std::set<std::string> held()
    {
        std::set<std::string> names;
        if (redis_)
            names = redis_->held();
        if (database_ && !try_with([&] { names.merge(database_->leased()); }))
            database_.reset();
        return names;
    }

    std::string json_of(std::string const& resource)
    {
        json_object object;
        object.add("resource", resource);
        if (redis_)
            redis_->add_json(object, resource);
        if (auto const state = in_database(resource))
            object.add("database", as_json(*state));
        return object.text() + '\n';
    }

    std::string text_of(std::string const& resource)
    {
        auto text = output().painted(printable(resource), colour::bold) + '\n';
        if (redis_)
            for (auto const& line : redis_->lines_of(resource))
                text += output().fitted(line, first_column) + '\n';
        if (auto const state = in_database(resource))
            text +=
                output().fitted("  database  " + printable(as_text(*state)), first_column) + '\n';
        return text;
    }

  private:
    template <typename Ask>
    bool try_with(Ask ask)
    try {
        ask();
        return true;
    } catch (invalid_argument const&) {
        throw;
    } catch (std::exception const& e) {
        code_ = report(e);
        return false;
    }

    std::optional<database_state> in_database(std::string const& resource)
    {
        std::optional<database_state> state;
        if (database_ && !try_with([&] { state = database_->look(resource); }))
            database_.reset();
        return state;
    }

    int code_ = success;
    std::unique_ptr<redis_view> redis_;
    std::unique_ptr<database_view> database_;
};

} // namespace

int show(arguments const& given)
{
    if (given.resource)
        detail::check_resource(*given.resource);
    std::optional<progress> busy{std::in_place, "looking for what is held"};
    both_views views{given};
    auto const names = given.resource ? std::set<std::string>{*given.resource} : views.held();
    std::size_t done = 0;
    for (auto const& name : names) {
        auto const text = given.json ? views.json_of(name) : views.text_of(name);
        if (output().is_one())
            busy.reset(); // what follows is seen to go on
        else
            busy->now("shown " + std::to_string(++done) + " of " + std::to_string(names.size()));
        std::cout << text;
    }
    busy.reset();
    if (names.empty() && views.list_all() && output().is_one() && !given.json)
        std::cout << "nothing is held\n";
    return views.code();
}

} // namespace fencelock::cli
