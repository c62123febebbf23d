#include "redis_url.hpp"

#include <charconv>
#include <optional>

#include <fencelock/errors.hpp>

namespace fencelock::detail {

namespace {

[[noreturn]] void refuse(std::string const& why)
{
    throw invalid_argument{"not a usable Redis URL: " + why};
}

int number(std::string_view text, int low, int high, std::string const& what)
{
    int value = 0;
    auto const [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (failed != std::errc{} || end != text.data() + text.size() || value < low || value > high)
        refuse(what + " must be a number from " + std::to_string(low) + " to " +
               std::to_string(high));
    return value;
}

int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    refuse("a percent sign must be followed by two hex digits");
}

std::string percent_decoded(std::string_view text)
{
    std::string decoded;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '%') {
            decoded += text[i];
            continue;
        }
        if (i + 2 >= text.size())
            refuse("a percent sign must be followed by two hex digits");
        decoded += static_cast<char>(hex_value(text[i + 1]) * 16 + hex_value(text[i + 2]));
        i += 2;
    }
    return decoded;
}

// Cuts `prefix` off, if it is there.
bool eat(std::string_view& text, std::string_view prefix)
{
    if (!text.starts_with(prefix))
        return false;
    text.remove_prefix(prefix.size());
    return true;
}

// Takes `user:password@` off the front. The last @ before the path ends it, so that a password with
// a raw @ is read as its writer meant it.
void take_credentials(std::string_view& rest, redis_address& address)
{
    auto const at = rest.substr(0, rest.find('/')).rfind('@');
    if (at == std::string_view::npos)
        return;
    auto const credentials = rest.substr(0, at);
    rest.remove_prefix(at + 1);
    auto const colon = credentials.find(':');
    address.user = percent_decoded(credentials.substr(0, colon));
    if (colon != std::string_view::npos)
        address.password = percent_decoded(credentials.substr(colon + 1));
    if (address.password.empty())
        refuse("a user without a password");
}

void take_socket(std::string_view rest, redis_address& address)
{
    auto const query = rest.find('?');
    if (query != std::string_view::npos) {
        auto option = rest.substr(query + 1);
        if (!eat(option, "db="))
            refuse("the only option of a socket is ?db=n");
        address.database = number(option, 0, 1'000'000, "the database");
    }
    address.socket_path = percent_decoded(rest.substr(0, query));
    if (!address.socket_path.starts_with('/'))
        refuse("the path of a socket must be absolute");
}

void take_host(std::string_view rest, redis_address& address)
{
    auto const slash = rest.find('/');
    if (slash != std::string_view::npos && slash + 1 < rest.size())
        address.database = number(rest.substr(slash + 1), 0, 1'000'000, "the database");
    auto place = rest.substr(0, slash);
    std::optional<std::string_view> port;
    if (eat(place, "[")) {
        auto const end = place.find(']');
        if (end == std::string_view::npos)
            refuse("an IPv6 address lacks its closing bracket");
        address.host = place.substr(0, end);
        auto after = place.substr(end + 1);
        if (eat(after, ":"))
            port = after;
        else if (!after.empty())
            refuse("only a port may follow an IPv6 address");
    } else {
        auto const colon = place.find(':');
        address.host = place.substr(0, colon);
        if (colon != std::string_view::npos)
            port = place.substr(colon + 1);
    }
    if (address.host.empty())
        refuse("no host");
    address.port = std::to_string(port ? number(*port, 1, 65535, "the port") : 6379);
}

} // namespace

std::string redis_address::display() const
{
    if (!socket_path.empty())
        return "Redis at " + socket_path;
    auto const bracketed = host.find(':') != std::string::npos ? "[" + host + "]" : host;
    return "Redis at " + bracketed + ":" + port;
}

redis_address parse_redis_url(std::string_view url)
{
    redis_address address;
    if (url.find('\0') != std::string_view::npos)
        refuse("it contains a NUL byte");
    if (eat(url, "redis://")) {
        take_credentials(url, address);
        take_host(url, address);
    } else if (eat(url, "unix://") || eat(url, "redis+unix://")) {
        take_credentials(url, address);
        take_socket(url, address);
    } else {
        refuse("it must start with redis://, unix:// or redis+unix://");
    }
    return address;
}

} // namespace fencelock::detail
