#include "history.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <system_error>

namespace torture {

namespace {

std::int64_t monotonic_ns()
{
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

void append_escaped(std::string& text, std::string_view value)
{
    constexpr std::string_view digits = "0123456789abcdef";
    for (unsigned char const c : value) {
        if (c == '"' || c == '\\') {
            text += '\\';
            text += static_cast<char>(c);
        } else if (c < 0x20 || c > 0x7e) { // other bytes as Latin-1: nothing is read from them
            text += "\\u00";
            text += digits[c >> 4];
            text += digits[c & 15];
        } else {
            text += static_cast<char>(c);
        }
    }
}

} // namespace

event::event(std::string_view kind) : text_{"{\"t\":" + std::to_string(monotonic_ns())}
{
    add("e", kind);
}

event& event::add(std::string_view name, std::string_view value)
{
    this->name(name);
    text_ += '"';
    append_escaped(text_, value);
    text_ += '"';
    return *this;
}

event& event::add(std::string_view name, std::int64_t value)
{
    this->name(name);
    text_ += std::to_string(value);
    return *this;
}

event& event::add(std::string_view name, bool value)
{
    this->name(name);
    text_ += value ? "true" : "false";
    return *this;
}

void event::name(std::string_view name)
{
    text_ += ",\"";
    text_ += name;
    text_ += "\":";
}

history::history(std::string const& path)
    : file_{::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644)}
{
    if (file_ < 0)
        throw std::system_error{errno, std::generic_category(), path};
}

history::~history()
{
    ::close(file_);
}

void history::write(event const& what)
{
    auto const line = what.line();
    if (::write(file_, line.data(), line.size()) != static_cast<ssize_t>(line.size()))
        throw std::system_error{errno, std::generic_category(), "history"};
}

} // namespace torture
