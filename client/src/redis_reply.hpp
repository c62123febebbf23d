// Requests and replies as bytes. The only place that knows hiredis.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace fencelock::detail {

struct redis_reply {
    enum class kind { nil, text, integer, error, array };

    kind type = kind::nil;
    std::string text; ///< of text and error
    std::int64_t integer = 0;
    std::vector<redis_reply> elements;
};

/// The server answered with an error; the connection goes on.
class redis_error : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

/// What a server sends is not the Redis protocol.
class protocol_error : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

/// A command as it is sent.
std::string redis_request(std::span<std::string const> arguments);

/// Takes replies out of what a server sends, in whatever pieces it arrives.
class redis_reply_reader {
  public:
    redis_reply_reader();
    ~redis_reply_reader();
    redis_reply_reader(redis_reply_reader const&) = delete;
    redis_reply_reader& operator=(redis_reply_reader const&) = delete;

    void feed(std::string_view bytes);

    /// The next whole reply, if there is one. Throws protocol_error, from then on always.
    std::optional<redis_reply> next();

  private:
    struct parser;
    std::unique_ptr<parser> parser_;
};

} // namespace fencelock::detail
