// Templates of names: refused, or they render as a plain reading of them says. On the code of the
// backend, over a table with two columns of text.
#include <string>

#include "backend.hpp"
#include "require.hpp"
#include "resource_name.hpp"

namespace {

// "x{{{id}" is "x{" and the column; nothing where the template is bad.
bool read_plainly(std::string const& source, std::string& rendered)
{
    for (std::size_t i = 0; i < source.size(); ++i) {
        char const c = source[i];
        if (c != '{' && c != '}') {
            rendered += c;
        } else if (i + 1 < source.size() && source[i + 1] == c) {
            rendered += c;
            ++i;
        } else {
            auto const end = source.find('}', i + 1);
            if (c == '}' || end == std::string::npos)
                return false;
            auto const* const value = fuzz::column_value(source.substr(i + 1, end - i - 1));
            if (value == nullptr)
                return false;
            rendered += value;
            i = end;
        }
    }
    return !source.empty();
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(unsigned char const* data, std::size_t size)
{
    fuzz::memory_of_one_input const memory;
    std::string source{reinterpret_cast<char const*>(data), size};
    source.resize(std::min(source.find('\0'), size));
    std::string expected;
    bool const good = read_plainly(source, expected);
    bool const fits = !expected.empty() && expected.size() <= fencelock::max_resource_bytes;
    try {
        auto compiled = fencelock::compile_name_template(fuzz::table(), source.c_str());
        REQUIRE(good);
        fencelock::name_buffer buffer;
        auto const name =
            fencelock::render_resource_name(compiled, fuzz::table(), fuzz::row(), buffer);
        REQUIRE(fits && name.text == expected);
        REQUIRE(fencelock::same_template_columns(compiled, fuzz::tuple(), fuzz::row()));
    } catch (fuzz::raised const&) {
        REQUIRE(!good || !fits);
    }
    return 0;
}
