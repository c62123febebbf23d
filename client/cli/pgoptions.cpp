#include "pgoptions.hpp"

#include <utility>
#include <vector>

#include "json.hpp"

namespace fencelock::cli {

namespace {

constexpr std::string_view white_space = " \t\n\v\f\r";
constexpr std::string_view setting = "fencelock.claims=";

std::vector<std::string> split(std::string_view options)
{
    std::vector<std::string> words;
    bool inside = false;
    for (std::size_t i = 0; i < options.size(); ++i) {
        if (white_space.find(options[i]) != std::string_view::npos) {
            inside = false;
            continue;
        }
        if (!inside)
            words.emplace_back();
        inside = true;
        if (options[i] == '\\' && i + 1 < options.size())
            ++i;
        words.back() += options[i];
    }
    return words;
}

std::string escaped(std::string_view word)
{
    std::string result;
    for (char const c : word) {
        if (c == '\\' || white_space.find(c) != std::string_view::npos)
            result += '\\';
        result += c;
    }
    return result;
}

// The members of the JSON object that the last fencelock.claims among the words sets, without its
// braces.
std::string claims_in(std::vector<std::string> const& words)
{
    std::string found;
    for (std::string_view word : words) {
        for (std::string_view const prefix : {"-c", "--"})
            if (word.starts_with(prefix))
                word.remove_prefix(prefix.size());
        if (!word.starts_with(setting))
            continue;
        word.remove_prefix(setting.size());
        auto const open = word.find('{');
        auto const close = word.rfind('}');
        found = open != std::string_view::npos && close != std::string_view::npos && open < close
                    ? std::string{word.substr(open + 1, close - open - 1)}
                    : std::string{};
    }
    auto const first = found.find_first_not_of(white_space);
    return first == std::string::npos ? std::string{} : found.substr(first);
}

// The members of a JSON object whose values are no objects or arrays.
std::vector<std::string> members_of(std::string_view object)
{
    std::vector<std::string> members;
    std::string member;
    bool in_string = false;
    for (std::size_t i = 0; i < object.size(); ++i) {
        char const c = object[i];
        if (in_string && c == '\\' && i + 1 < object.size())
            member += object[i++];
        else if (c == '"')
            in_string = !in_string;
        if (c == ',' && !in_string)
            members.push_back(std::exchange(member, {}));
        else if (!member.empty() || white_space.find(c) == std::string_view::npos)
            member += object[i];
    }
    if (!member.empty())
        members.push_back(member);
    return members;
}

// A lock that was lost around this one may have left a claim of the same name, with an older token.
bool is_called(std::string_view member, std::string_view name)
{
    if (!member.starts_with(name))
        return false;
    auto const next = member.find_first_not_of(white_space, name.size());
    return next != std::string_view::npos && member[next] == ':';
}

} // namespace

std::string pgoptions_with_claim(std::string_view inherited, std::string_view resource,
                                 std::int64_t token)
{
    auto const name = json_string(resource);
    std::string claims = "{";
    for (auto const& member : members_of(claims_in(split(inherited))))
        if (!is_called(member, name))
            claims += member + ", ";
    claims += name + ": " + std::to_string(token) + '}';
    std::string result{inherited};
    if (!result.empty())
        result += ' ';
    return result + "-c " + escaped(std::string{setting} + claims);
}

} // namespace fencelock::cli
