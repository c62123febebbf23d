#include "arguments.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <sstream>
#include <utility>

#include "limits.hpp"

namespace fencelock::cli {

namespace {

using std::chrono::milliseconds;

constexpr command_set named = ~only(command::doctor);
constexpr command_set with_ttl = that_take | only(command::renew);
constexpr command_set with_owner = of_a_held_lock | only(command::acquire);

struct option {
    std::string_view name;
    char letter; ///< 0: none
    bool takes_value;
    command_set commands;
    void (*set)(arguments&, std::string const& value);
    bool may_be_repeated = false;
};

key_preset parse_keys(std::string_view text, std::string_view where)
{
    if (text == "tagged")
        return key_preset::tagged;
    if (text == "plain")
        return key_preset::plain;
    throw usage_error{std::string{where} + " is tagged or plain, not \"" + std::string{text} +
                      "\""};
}

std::int64_t parse_token(std::string_view text)
{
    std::int64_t token = 0;
    auto const* const end = text.data() + text.size();
    auto const [stopped, failure] = std::from_chars(text.data(), end, token);
    if (failure != std::errc{} || stopped != end || token < 1)
        throw usage_error{"--token is a whole number above 0, not \"" + std::string{text} + "\""};
    return token;
}

std::string required(std::string const& value, std::string const& name)
{
    if (value.empty())
        throw usage_error{name + " is empty"};
    return value;
}

std::array<option, 12> const options{{
    {"redis", 0, true, every_command,
     [](arguments& a, std::string const& v) { a.redis.push_back(required(v, "--redis")); }, true},
    {"db", 0, true, every_command,
     [](arguments& a, std::string const& v) { a.db = required(v, "--db"); }},
    {"keys", 0, true, every_command,
     [](arguments& a, std::string const& v) { a.keys = parse_keys(v, "--keys"); }},
    {"json", 0, false, every_command, [](arguments& a, std::string const&) { a.json = true; }},
    {"help", 'h', false, every_command, [](arguments& a, std::string const&) { a.help = true; }},
    {"version", 'V', false, every_command,
     [](arguments& a, std::string const&) { a.version = true; }},
    {"resource", 'r', true, named,
     [](arguments& a, std::string const& v) { a.resource = required(v, "--resource"); }},
    {"ttl", 0, true, with_ttl,
     [](arguments& a, std::string const& v) { a.ttl = parse_duration(v, "--ttl"); }},
    {"wait", 0, true, that_take,
     [](arguments& a, std::string const& v) { a.wait = parse_duration(v, "--wait"); }},
    {"no-confirm", 0, false, that_take,
     [](arguments& a, std::string const&) { a.confirm = false; }},
    {"owner", 0, true, with_owner,
     [](arguments& a, std::string const& v) { a.owner = required(v, "--owner"); }},
    {"token", 0, true, of_a_held_lock,
     [](arguments& a, std::string const& v) { a.token = parse_token(v); }},
}};

option const* option_named(std::string_view name)
{
    auto const* const found = std::find_if(options.begin(), options.end(),
                                           [&](option const& one) { return one.name == name; });
    return found == options.end() ? nullptr : found;
}

// Of --name or --name=value.
std::string_view name_in(std::string_view word)
{
    word.remove_prefix(2);
    return word.substr(0, word.find('='));
}

// Goes through the words from left to right.
class parser {
  public:
    explicit parser(std::vector<std::string> const& words) : words_{words} {}

    arguments run()
    {
        while (next_ < words_.size()) {
            auto const& word = words_[next_++];
            if (word == "--")
                break;
            if (word.starts_with("--"))
                take_long(word);
            else if (word.starts_with('-') && word.size() > 1)
                take_short(word);
            else if (!take_word(word))
                break;
        }
        take_program();
        if (!result_.help && !result_.version) {
            read_environment();
            check();
        }
        return std::move(result_);
    }

  private:
    // What the options do not say.
    void read_environment()
    {
        auto const variable = [](char const* name) -> std::optional<std::string> {
            auto const* const value = std::getenv(name);
            return value && *value ? std::optional<std::string>{value} : std::nullopt;
        };
        if (auto const urls = variable("FENCELOCK_REDIS"); urls && result_.redis.empty()) {
            std::istringstream words{*urls};
            result_.redis.assign(std::istream_iterator<std::string>{words}, {});
        }
        if (!result_.db)
            result_.db = variable("FENCELOCK_DB");
        if (auto const keys = variable("FENCELOCK_KEYS"); keys && !is_used("keys"))
            result_.keys = parse_keys(*keys, "FENCELOCK_KEYS");
    }

    bool is_used(std::string_view name) const
    {
        return std::any_of(used_.begin(), used_.end(),
                           [&](option const* one) { return one->name == name; });
    }

    void take_long(std::string const& word)
    {
        auto const name = std::string{name_in(word)};
        auto const* const one = option_named(name);
        if (!one)
            throw usage_error{"unknown option --" + name};
        auto const equals = word.find('=');
        bool const has_value = equals != std::string::npos;
        if (!one->takes_value && has_value)
            throw usage_error{"--" + name + " takes no value"};
        if (has_value)
            set(*one, word.substr(equals + 1));
        else
            set(*one, one->takes_value ? value_of(*one, word) : std::string{});
    }

    void take_short(std::string const& word)
    {
        for (auto const& one : options) {
            if (!one.letter || one.letter != word[1])
                continue;
            if (one.takes_value)
                set(one, word.size() > 2 ? word.substr(2) : value_of(one, word));
            else if (word.size() == 2)
                set(one, {});
            else
                break;
            return;
        }
        throw usage_error{"unknown option " + word};
    }

    // False where the word begins the program to run.
    bool take_word(std::string const& word)
    {
        if (result_.command == command::run) {
            --next_;
            return false;
        }
        if (result_.command)
            throw usage_error{std::string{name_of(*result_.command)} + " takes no argument \"" +
                              word + "\""};
        result_.command = command_named(word);
        if (!result_.command)
            throw usage_error{"unknown command \"" + word + "\""};
        return true;
    }

    void take_program()
    {
        result_.program.assign(words_.begin() + static_cast<std::ptrdiff_t>(next_), words_.end());
        if (!result_.program.empty() && result_.command != command::run)
            throw usage_error{"only run takes a program: \"" + result_.program.front() + "\""};
    }

    // Of two values one would be lost without a word; but several URLs are a Redlock.
    void set(option const& one, std::string const& value)
    {
        if (one.takes_value && !one.may_be_repeated && is_used(one.name))
            throw usage_error{"--" + std::string{one.name} + " is given twice"};
        used_.push_back(&one);
        one.set(result_, value);
    }

    // Where the value was forgotten, the option behind it must not be taken for one.
    std::string value_of(option const& one, std::string const& written)
    {
        if (next_ == words_.size())
            throw usage_error{written + " needs a value"};
        auto const& value = words_[next_];
        if (value == "--" || (value.starts_with("--") && option_named(name_in(value))))
            throw usage_error{written + " needs a value, and \"" + value +
                              "\" follows: if that is the value, write --" + std::string{one.name} +
                              '=' + value};
        ++next_;
        return value;
    }

    void check() const
    {
        if (!result_.command)
            throw usage_error{"no command"};
        auto const one = *result_.command;
        for (auto const* const used : used_)
            if (!contains(used->commands, one))
                throw usage_error{"--" + std::string{used->name} + " is not for " +
                                  std::string{name_of(one)}};
        if (!result_.resource && one != command::show && one != command::doctor)
            throw usage_error{"no resource: -r RESOURCE"};
        if (contains(of_a_held_lock, one) && result_.owner.empty())
            throw usage_error{"no owner: --owner ID, as acquire printed it"};
        if (contains(of_a_held_lock, one) && result_.token == 0)
            throw usage_error{"no token: --token N, as acquire printed it"};
        if (one == command::run && result_.program.empty())
            throw usage_error{"no program to run: -- CMD [ARG...]"};
        if (result_.redis.empty() && !result_.db)
            throw usage_error{"neither --redis URL (FENCELOCK_REDIS) nor --db CONNINFO "
                              "(FENCELOCK_DB)"};
        if (result_.redis.empty() && result_.keys == key_preset::plain)
            throw usage_error{"plain keys are kept in Redis: --redis URL"};
        auto urls = result_.redis;
        std::sort(urls.begin(), urls.end());
        if (std::adjacent_find(urls.begin(), urls.end()) != urls.end())
            throw usage_error{"one URL of --redis (FENCELOCK_REDIS) is given twice: each server of "
                              "a Redlock has one vote"};
        if (result_.redis.size() > 1 && result_.keys == key_preset::plain)
            throw usage_error{"plain keys are kept in one Redis, and --redis names " +
                              std::to_string(result_.redis.size())};
    }

    std::vector<std::string> const& words_;
    std::size_t next_ = 0;
    arguments result_;
    std::vector<option const*> used_;
};

} // namespace

arguments parse_arguments(std::vector<std::string> const& words)
{
    return parser{words}.run();
}

milliseconds parse_duration(std::string_view text, std::string_view option)
{
    static constexpr std::array<std::pair<std::string_view, std::int64_t>, 5> units{
        {{"ms", 1}, {"s", 1000}, {"m", 60'000}, {"h", 3'600'000}, {"d", 86'400'000}}};
    std::int64_t number = 0;
    auto const* const end = text.data() + text.size();
    auto const [stopped, failure] = std::from_chars(text.data(), end, number);
    std::string_view const unit{stopped, static_cast<std::size_t>(end - stopped)};
    if (failure == std::errc::result_out_of_range)
        number = std::numeric_limits<std::int64_t>::max();
    bool const is_number = stopped != text.data() && !text.starts_with('-');
    if (is_number && number == 0 && unit.empty())
        return milliseconds{0};
    for (auto const& [name, factor] : units) {
        if (!is_number || unit != name)
            continue;
        if (number > detail::longest_ttl.count() / factor)
            throw usage_error{std::string{option} + " is at most " + detail::longest_ttl_text +
                              ", not \"" + std::string{text} + "\""};
        return milliseconds{number * factor};
    }
    throw usage_error{std::string{option} + " is a duration like 500ms, 30s or 5m, not \"" +
                      std::string{text} + "\""};
}

} // namespace fencelock::cli
