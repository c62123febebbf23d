#include "pgoptions.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <system_error>
#include <utility>
#include <vector>

#include "json.hpp"

namespace fencelock::cli {

namespace {

constexpr std::string_view white_space = " \t\n\v\f\r";
constexpr std::string_view setting = "fencelock.claims=";

bool is_blank(char c)
{
    return white_space.find(c) != std::string_view::npos;
}

// An argument of the server: the bytes that it stands in, and what the server reads there.
struct word {
    std::size_t begin;
    std::size_t end;
    std::string text;
};

// As PostgreSQL's pg_split_opts() does: of a last backslash, without a byte behind it, nothing is
// read.
std::vector<word> split(std::string_view options)
{
    std::vector<word> words;
    bool inside = false;
    for (std::size_t i = 0; i < options.size(); ++i) {
        if (is_blank(options[i])) {
            inside = false;
            continue;
        }
        if (!inside)
            words.push_back({i, i, {}});
        inside = true;
        auto& current = words.back();
        if (options[i] == '\\')
            ++i;
        if (i < options.size())
            current.text += options[i];
        current.end = std::min(i + 1, options.size());
    }
    return words;
}

std::string escaped(std::string_view word)
{
    std::string result;
    for (char const c : word) {
        if (c == '\\' || is_blank(c))
            result += '\\';
        result += c;
    }
    return result;
}

struct claim {
    std::string name; // a JSON string, with its quotes
    std::int64_t token;
};

using claims = std::vector<claim>;

bool contains(claims const& all, std::string_view name)
{
    return std::any_of(all.begin(), all.end(), [&](claim const& one) { return one.name == name; });
}

std::string setting_of(claims const& all)
{
    std::string object;
    for (auto const& [name, token] : all)
        object.append(object.empty() ? "" : ", ")
            .append(name)
            .append(": ")
            .append(std::to_string(token));
    return escaped(std::string{setting} + '{' + object + '}');
}

void skip_blanks(std::string_view& rest)
{
    rest.remove_prefix(std::min(rest.find_first_not_of(white_space), rest.size()));
}

bool take(std::string_view& rest, char c)
{
    skip_blanks(rest);
    if (!rest.starts_with(c))
        return false;
    rest.remove_prefix(1);
    return true;
}

// Empty where there is none.
std::string take_name(std::string_view& rest)
{
    skip_blanks(rest);
    if (!rest.starts_with('"'))
        return {};
    std::size_t end = 1;
    while (end < rest.size() && rest[end] != '"')
        end += rest[end] == '\\' ? 2 : 1;
    if (end >= rest.size())
        return {};
    std::string name{rest.substr(0, end + 1)};
    rest.remove_prefix(name.size());
    return name;
}

// A number, or a string of digits; 0 where there is neither, or it is no token.
std::int64_t take_token(std::string_view& rest)
{
    bool const is_string = take(rest, '"');
    std::int64_t token = 0;
    auto const [end, problem] = std::from_chars(rest.data(), rest.data() + rest.size(), token);
    if (problem != std::errc{} || token < 1 || (!is_string && rest.starts_with('0')))
        return 0;
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
    if (is_string && !rest.starts_with('"'))
        return 0;
    rest.remove_prefix(is_string ? 1 : 0);
    return token;
}

// None where the server would not take it for the value of the setting.
claims claims_of(std::string_view object)
{
    claims all;
    if (!take(object, '{'))
        return {};
    do {
        auto name = take_name(object);
        if (name.empty() || !take(object, ':'))
            return {};
        auto const token = take_token(object);
        if (token == 0 || contains(all, name))
            return {};
        all.push_back({std::move(name), token});
    } while (take(object, ','));
    auto const is_whole = take(object, '}');
    skip_blanks(object);
    return is_whole && object.empty() ? all : claims{};
}

// As in the server, in whatever case.
bool names_setting(std::string_view text)
{
    return text.size() >= setting.size() &&
           std::equal(setting.begin(), setting.end(), text.begin(),
                      [](unsigned char a, unsigned char b) { return a == std::tolower(b); });
}

// Of several settings the last one counts.
claims presented_by(std::vector<word> const& words)
{
    claims all;
    for (auto const& word : words) {
        std::string_view text = word.text;
        for (std::string_view const prefix : {"-c", "--"})
            if (text.starts_with(prefix))
                text.remove_prefix(prefix.size());
        if (names_setting(text))
            all = claims_of(text.substr(setting.size()));
    }
    return all;
}

// Whether `-c` and its value, from words[i] on, are byte for byte as they are written here.
bool is_own(std::string_view options, std::vector<word> const& words, std::size_t i)
{
    if (i + 1 >= words.size() || words[i + 1].begin != words[i].end + 1 ||
        !words[i + 1].text.starts_with(setting))
        return false;
    auto const value = claims_of(std::string_view{words[i + 1].text}.substr(setting.size()));
    auto const begin = words[i].begin;
    return !value.empty() &&
           options.substr(begin, words[i + 1].end - begin) == "-c " + setting_of(value);
}

// Each with one of the blanks around it.
std::string without_own(std::string_view options, std::vector<word> const& words)
{
    std::string kept;
    std::size_t next = 0;
    for (std::size_t i = 0; i < words.size(); ++i) {
        if (!is_own(options, words, i))
            continue;
        kept += options.substr(next, words[i].begin - next);
        next = words[i + 1].end;
        if (!kept.empty())
            kept.pop_back();
        else if (next < options.size())
            ++next;
    }
    return kept.append(options.substr(next));
}

// A last backslash would take the blank that follows for its own: nothing is read of it now.
void end_last_word(std::string& options)
{
    auto const backslashes = options.size() - (options.find_last_not_of('\\') + 1); // npos + 1 is 0
    if (backslashes % 2 == 1)
        options.pop_back();
}

} // namespace

std::string pgoptions_with_claim(std::string_view inherited, std::string_view resource,
                                 std::int64_t token)
{
    auto const words = split(inherited);
    auto all = presented_by(words);
    // A lock that was lost around this one may have left a claim of the same name, with an older
    // token.
    auto const name = json_string(resource);
    std::erase_if(all, [&](claim const& one) { return one.name == name; });
    all.push_back({name, token});
    auto result = without_own(inherited, words);
    end_last_word(result);
    if (!result.empty())
        result += ' ';
    return result + "-c " + setting_of(all);
}

} // namespace fencelock::cli
