// Counts what a client asks a Redis for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace fencelock::test_support {

// Counts the commands in a stream of Redis requests (arrays of bulk strings), in whatever pieces it
// arrives. A stream that is something else counts nothing.
class request_counter {
  public:
    // Returns how many commands were completed by these bytes.
    std::uint64_t feed(std::string_view bytes);

  private:
    void take_line();

    enum class expecting { array, bulk, data, nothing };
    expecting state_ = expecting::array;
    std::string line_;
    std::size_t bulks_left_ = 0;
    std::size_t bytes_left_ = 0;
};

} // namespace fencelock::test_support
