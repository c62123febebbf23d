#include "terminal.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

namespace fencelock::cli {

namespace {

constexpr std::size_t usual_width = 80;
constexpr std::string_view end_of_colour = "\x1b[0m";

std::string_view variable(char const* name)
{
    auto const* const value = std::getenv(name);
    return value ? value : "";
}

std::size_t width_of(int fd)
{
    winsize size{};
    if (::ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return size.ws_col;
    return usual_width;
}

std::string_view begin_of(colour one)
{
    switch (one) {
    case colour::bold:
        return "\x1b[1m";
    case colour::green:
        return "\x1b[32m";
    case colour::yellow:
        return "\x1b[33m";
    case colour::red:
        break;
    }
    return "\x1b[31m";
}

bool continues(char c)
{
    return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U;
}

// A control character's length in UTF-8; 0 where `text` begins with none.
std::size_t control_length(std::string_view text, bool may_have_lines)
{
    auto const first = static_cast<unsigned char>(text[0]);
    if (may_have_lines && (first == '\n' || first == '\t'))
        return 0;
    if (first < 0x20 || first == 0x7F)
        return 1;
    bool const is_c1 =
        first == 0xC2 && text.size() > 1 && static_cast<unsigned char>(text[1]) < 0xA0;
    return is_c1 ? 2 : 0;
}

} // namespace

terminal::terminal(int fd)
    : is_one_{::isatty(fd) == 1}, can_redraw_{is_one_ && variable("TERM") != "dumb" &&
                                              !variable("TERM").empty()},
      has_colours_{can_redraw_ && variable("NO_COLOR").empty()}, width_{width_of(fd)}
{
}

std::string terminal::painted(std::string_view text, colour in) const
{
    if (!has_colours_ || text.empty())
        return std::string{text};
    return std::string{begin_of(in)}.append(text).append(end_of_colour);
}

std::string terminal::fitted(std::string_view text, std::size_t indent) const
{
    if (!is_one_)
        return std::string{text};
    std::string lines;
    std::size_t used = 0; // of the last line
    while (!text.empty()) {
        auto const at = text.find_first_not_of(' ');
        auto const end = std::min(text.find(' ', at), text.size());
        auto const word = text.substr(0, end); // with the spaces before it
        auto const length = shown_length(word);
        auto const spaces = std::min(at, text.size());
        if (used > indent && used + length > width_) {
            lines.append(1, '\n').append(indent, ' ').append(word.substr(spaces));
            used = indent + length - spaces;
        } else {
            lines.append(word);
            used += length;
        }
        text.remove_prefix(end);
    }
    return lines;
}

terminal const& output()
{
    static terminal const one{STDOUT_FILENO};
    return one;
}

std::size_t shown_length(std::string_view text)
{
    std::size_t length = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '\x1b')
            i = std::min(text.find('m', i), text.size());
        else if (!continues(text[i]))
            ++length;
    }
    return length;
}

std::string_view shortened(std::string_view text, std::size_t length)
{
    std::size_t i = 0;
    for (; i < text.size(); ++i)
        if (!continues(text[i]) && length-- == 0)
            break;
    return text.substr(0, i);
}

std::string printable(std::string_view text, bool may_have_lines)
{
    static constexpr std::string_view digits = "0123456789abcdef";
    std::string shown;
    while (!text.empty()) {
        auto const control = control_length(text, may_have_lines);
        for (char const c : text.substr(0, control)) {
            auto const byte = static_cast<unsigned char>(c);
            shown.append("\\x").append(1, digits[byte / 16]).append(1, digits[byte % 16]);
        }
        if (control == 0)
            shown += text[0];
        text.remove_prefix(control == 0 ? 1 : control);
    }
    return shown;
}

} // namespace fencelock::cli
