#include "keys.hpp"

#include <array>
#include <charconv>
#include <stdexcept>

#include <openssl/evp.h>

namespace fencelock::detail {

namespace {

constexpr std::size_t longest_encoding = 180;
constexpr std::string_view plain_bytes =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._:/@+=,~-";
constexpr auto is_plain = [] {
    std::array<bool, 256> plain{};
    for (char const c : plain_bytes)
        plain[static_cast<unsigned char>(c)] = true;
    return plain;
}();

void append_hex(std::string& to, unsigned char byte, std::string_view digits)
{
    to += digits[byte >> 4];
    to += digits[byte & 15];
}

std::string sha256_hex(std::string_view bytes)
{
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
    unsigned int size = 0;
    if (EVP_Digest(bytes.data(), bytes.size(), digest.data(), &size, EVP_sha256(), nullptr) != 1)
        throw std::runtime_error{"libcrypto cannot compute a SHA-256"};
    std::string hex;
    for (unsigned int i = 0; i < size; ++i)
        append_hex(hex, digest[i], "0123456789abcdef");
    return hex;
}

} // namespace

redis_keys keys_of(std::string_view resource, key_preset preset)
{
    if (preset == key_preset::plain) {
        std::string const name{resource};
        return {"lock:" + name, "fence:" + name, "wake:" + name};
    }
    auto const stem = "fencelock:v1:{" + encode_resource(resource) + "}:";
    return {stem + "lock", stem + "state", stem + "wake"};
}

std::optional<std::string> resource_of_lock(std::string_view key, key_preset preset)
{
    auto const eat = [&key](std::string_view begin, std::string_view end) {
        if (!key.starts_with(begin) || !key.ends_with(end))
            return false;
        key = key.substr(begin.size(), key.size() - begin.size() - end.size());
        return true;
    };
    if (preset == key_preset::plain)
        return eat("lock:", "") ? std::optional{std::string{key}} : std::nullopt;
    if (!eat("fencelock:v1:{", "}:lock"))
        return std::nullopt;
    std::string resource;
    for (std::size_t i = 0; i < key.size(); ++i) {
        if (key[i] != '%') {
            resource += key[i];
            continue;
        }
        unsigned byte = 0;
        auto const* const digits = key.data() + i + 1;
        if (i + 2 >= key.size() || std::from_chars(digits, digits + 2, byte, 16).ptr != digits + 2)
            return std::nullopt;
        resource += static_cast<char>(byte);
        i += 2;
    }
    return resource;
}

std::string lock_pattern(key_preset preset)
{
    return preset == key_preset::plain ? "lock:*" : "fencelock:v1:{*}:lock";
}

std::string encode_resource(std::string_view resource)
{
    std::string encoded;
    encoded.reserve(resource.size());
    for (char const c : resource) {
        if (is_plain[static_cast<unsigned char>(c)]) {
            encoded += c;
        } else {
            encoded += '%';
            append_hex(encoded, static_cast<unsigned char>(c), "0123456789ABCDEF");
        }
    }
    return encoded.size() <= longest_encoding ? encoded : "%#" + sha256_hex(resource);
}

} // namespace fencelock::detail
