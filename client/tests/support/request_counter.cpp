#include "request_counter.hpp"

#include <algorithm>
#include <cstdlib>

namespace fencelock::test_support {

std::uint64_t request_counter::feed(std::string_view bytes)
{
    std::uint64_t completed = 0;
    while (!bytes.empty() && state_ != expecting::nothing) {
        if (state_ == expecting::data) {
            auto const taken = std::min(bytes_left_, bytes.size());
            bytes.remove_prefix(taken);
            bytes_left_ -= taken;
            if (bytes_left_ > 0)
                break;
            state_ = --bulks_left_ > 0 ? expecting::bulk : expecting::array;
            completed += state_ == expecting::array ? 1 : 0;
            continue;
        }
        line_ += bytes.front();
        bytes.remove_prefix(1);
        if (line_.back() == '\n')
            take_line();
    }
    return completed;
}

void request_counter::take_line()
{
    constexpr std::size_t line_end = 2;
    char const kind = line_.front();
    auto const number = static_cast<std::size_t>(std::strtoull(line_.c_str() + 1, nullptr, 10));
    line_.clear();
    if (state_ == expecting::array && kind == '*' && number > 0) {
        bulks_left_ = number;
        state_ = expecting::bulk;
    } else if (state_ == expecting::bulk && kind == '$') {
        bytes_left_ = number + line_end;
        state_ = expecting::data;
    } else {
        state_ = expecting::nothing;
    }
}

} // namespace fencelock::test_support
