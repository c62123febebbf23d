// JSON text, one object a line.
#pragma once

#include <concepts>
#include <string>
#include <string_view>
#include <vector>

namespace fencelock::cli {

/// `text` as a JSON string with its quotes. In what is not UTF-8, as the id of a plain client may
/// be, U+FFFD stands for each byte outside ASCII.
std::string json_string(std::string_view text);

/// An object, member after member.
class json_object {
  public:
    json_object& add(std::string_view name, std::string_view text)
    {
        return add_json(name, json_string(text));
    }
    json_object& add(std::string_view name, char const* text)
    {
        return add(name, std::string_view{text});
    }
    json_object& add(std::string_view name, bool value)
    {
        return add_json(name, value ? "true" : "false");
    }
    json_object& add(std::string_view name, std::integral auto value)
    {
        return add_json(name, std::to_string(value));
    }
    json_object& add(std::string_view name, json_object const& value)
    {
        return add_json(name, value.text());
    }
    json_object& add(std::string_view name, std::vector<json_object> const& values);

    /// A number that is decimal text already; null where there is none.
    json_object& add_number(std::string_view name, std::string_view decimal)
    {
        return decimal.empty() ? add_null(name) : add_json(name, decimal);
    }
    json_object& add_null(std::string_view name) { return add_json(name, "null"); }

    std::string text() const { return '{' + members_ + '}'; }

  private:
    json_object& add_json(std::string_view name, std::string_view value);

    std::string members_;
};

} // namespace fencelock::cli
