#include "json.hpp"

#include <array>
#include <cstdio>

#include "limits.hpp"

namespace fencelock::cli {

std::string json_string(std::string_view text)
{
    bool const valid = detail::is_utf8(text);
    std::string quoted{'"'};
    for (char const c : text) {
        if (c == '"' || c == '\\') {
            quoted += '\\';
            quoted += c;
        } else if (static_cast<unsigned char>(c) < 0x20) {
            std::array<char, 8> escape;
            static_cast<void>(std::snprintf(escape.data(), escape.size(), "\\u%04x", c));
            quoted += escape.data();
        } else if (!valid && static_cast<unsigned char>(c) >= 0x80) {
            quoted += "\\ufffd";
        } else {
            quoted += c;
        }
    }
    return quoted + '"';
}

json_object& json_object::add(std::string_view name, std::vector<json_object> const& values)
{
    std::string list;
    for (auto const& value : values)
        list += (list.empty() ? "" : ", ") + value.text();
    return add_json(name, '[' + list + ']');
}

json_object& json_object::add_json(std::string_view name, std::string_view value)
{
    if (!members_.empty())
        members_ += ", ";
    members_ += json_string(name) + ": ";
    members_ += value;
    return *this;
}

} // namespace fencelock::cli
