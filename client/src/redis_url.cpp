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

[[noreturn]] void refuse_scheme()
{
    refuse(
        "it must start with redis://, redis+sentinel://, redis+cluster://, with rediss instead of "
        "redis for TLS, or with unix://");
}

[[noreturn]] void refuse_nul()
{
    refuse("it contains a NUL byte");
}

// A name out of the URL, where it cannot be a secret that slipped into its place.
std::string shown(std::string_view name)
{
    bool const harmless =
        name.size() <= 20 && name.find_first_not_of("abcdefghijklmnopqrstuvwxyz_") == name.npos;
    return harmless ? std::string{name} : "...";
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
    if (decoded.find('\0') != std::string::npos)
        refuse_nul();
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

// Takes `?name=value&name=value` off the end, and gives each to `use`, which says whether it is
// one.
template <typename Use>
void take_parameters(std::string_view& rest, Use use)
{
    auto const query = rest.find('?');
    if (query == std::string_view::npos)
        return;
    auto parameters = rest.substr(query + 1);
    rest = rest.substr(0, query);
    for (bool more = true; more;) {
        auto const end = parameters.find('&');
        auto const parameter = parameters.substr(0, end);
        auto const equals = parameter.find('=');
        auto const name = parameter.substr(0, equals);
        if (equals == std::string_view::npos ||
            !use(name, percent_decoded(parameter.substr(equals + 1))))
            refuse("there is no parameter \"" + shown(name) + "\" here");
        more = end != std::string_view::npos;
        parameters.remove_prefix(more ? end + 1 : parameters.size());
    }
}

bool use_for_tls(tls_options& tls, std::string_view name, std::string const& value)
{
    if (name == "ca_file")
        tls.ca_file = value;
    else if (name == "certificate_file")
        tls.certificate_file = value;
    else if (name == "key_file")
        tls.key_file = value;
    else if (name == "server_name")
        tls.server_name = value;
    else if (name == "verify" && (value == "yes" || value == "no"))
        tls.verify = value == "yes";
    else
        return false;
    return true;
}

void take_socket(std::string_view rest, redis_address& address)
{
    take_parameters(rest, [&](std::string_view name, std::string const& value) {
        if (name != "db")
            return false;
        address.database = number(value, 0, 1'000'000, "the database");
        return true;
    });
    address.socket_path = percent_decoded(rest);
    if (!address.socket_path.starts_with('/'))
        refuse("the path of a socket must be absolute");
}

// host[:port] or [address][:port].
void take_place(std::string_view place, std::string const& default_port, redis_address& address)
{
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
    address.port = port ? std::to_string(number(*port, 1, 65535, "the port")) : default_port;
}

// host[:port],host[:port]: all with the user, password and database of `login`.
std::vector<redis_address> places(std::string_view rest, std::string const& default_port,
                                  redis_address const& login)
{
    std::vector<redis_address> all;
    for (;;) {
        auto const comma = rest.find(',');
        all.push_back(login);
        take_place(rest.substr(0, comma), default_port, all.back());
        if (comma == std::string_view::npos)
            return all;
        rest.remove_prefix(comma + 1);
    }
}

// What is behind the next slash, which is cut off with it.
std::string_view after_slash(std::string_view& rest)
{
    auto const slash = rest.find('/');
    auto const after = slash == rest.npos ? std::string_view{} : rest.substr(slash + 1);
    rest = rest.substr(0, slash);
    return after;
}

int database_number(std::string_view text)
{
    return text.empty() ? 0 : number(text, 0, 1'000'000, "the database");
}

// host[:port][/db]
void take_server(std::string_view rest, redis_target& target)
{
    target.login.database = database_number(after_slash(rest));
    target.servers.push_back(target.login);
    take_place(rest, "6379", target.servers.back());
}

// host[:port],.../primary-name[/db]; the sentinels have a login of their own.
void take_sentinels(std::string_view rest, redis_target& target,
                    redis_address const& sentinel_login)
{
    target.what = redis_target::kind::sentinels;
    auto name = after_slash(rest);
    target.login.database = database_number(after_slash(name));
    target.primary_name = percent_decoded(name);
    if (target.primary_name.empty())
        refuse("the name of the primary is missing behind the sentinels");
    if (!sentinel_login.user.empty() && sentinel_login.password.empty())
        refuse("a sentinel_user without a sentinel_password");
    target.servers = places(rest, "26379", sentinel_login);
}

// host[:port],...
void take_nodes(std::string_view rest, redis_target& target)
{
    target.what = redis_target::kind::cluster;
    if (database_number(after_slash(rest)) != 0)
        refuse("a cluster has only database 0");
    target.servers = places(rest, "6379", target.login);
}

bool use_for_sentinels(redis_address& login, std::string_view name, std::string const& value)
{
    if (name == "sentinel_user")
        login.user = value;
    else if (name == "sentinel_password")
        login.password = value;
    else
        return false;
    return true;
}

void take_tcp(std::string_view url, redis_target& target, redis_options const& options)
{
    bool const with_tls = eat(url, "rediss");
    if (!with_tls && !eat(url, "redis"))
        refuse_scheme();
    bool const has_sentinels = eat(url, "+sentinel");
    bool const is_cluster = !has_sentinels && eat(url, "+cluster");
    if (!eat(url, "://"))
        refuse_scheme();
    if (with_tls)
        target.tls = options.tls;
    take_credentials(url, target.login);
    redis_address sentinel_login;
    sentinel_login.user = options.sentinel_user;
    sentinel_login.password = options.sentinel_password;
    take_parameters(url, [&](std::string_view name, std::string const& value) {
        return (target.tls && use_for_tls(*target.tls, name, value)) ||
               (has_sentinels && use_for_sentinels(sentinel_login, name, value));
    });
    if (has_sentinels)
        take_sentinels(url, target, sentinel_login);
    else if (is_cluster)
        take_nodes(url, target);
    else
        take_server(url, target);
}

} // namespace

std::string redis_address::display() const
{
    if (!socket_path.empty())
        return "Redis at " + socket_path;
    auto const bracketed = host.find(':') != std::string::npos ? "[" + host + "]" : host;
    return "Redis at " + bracketed + ":" + port;
}

redis_target parse_redis_url(std::string_view url, redis_options const& options)
{
    redis_target target;
    if (url.find('\0') != std::string_view::npos)
        refuse_nul();
    if (eat(url, "unix://") || eat(url, "redis+unix://")) {
        take_credentials(url, target.login);
        take_socket(url, target.login);
        target.servers.push_back(target.login);
    } else {
        take_tcp(url, target, options);
    }
    if (!target.tls && options.tls != tls_options{})
        refuse("there are options for TLS, but TLS needs rediss");
    return target;
}

} // namespace fencelock::detail
