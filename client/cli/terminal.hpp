// Text for people, where it goes to a terminal: colours, and lines that fit.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace fencelock::cli {

enum class colour { bold, green, yellow, red };

class terminal {
  public:
    /// What a file descriptor leads to. Elsewhere than on a terminal text stays as it is. There are
    /// no colours where the variable NO_COLOR is set (https://no-color.org), or TERM is dumb or not
    /// set.
    explicit terminal(int fd);

    bool is_one() const noexcept { return is_one_; }

    /// Lines can be cleared and written again.
    bool can_redraw() const noexcept { return can_redraw_; }

    /// Of a line, in characters.
    std::size_t width() const noexcept { return width_; }

    std::string painted(std::string_view text, colour in) const;

    /// Breaks `text` at spaces where a line would be longer than the terminal is wide, with
    /// `indent` spaces before every line but the first.
    std::string fitted(std::string_view text, std::size_t indent) const;

  private:
    bool is_one_;
    bool can_redraw_;
    bool has_colours_;
    std::size_t width_;
};

/// Where stdout goes.
terminal const& output();

/// How many characters a terminal shows of `text`, colours aside.
std::size_t shown_length(std::string_view text);

/// The beginning of `text`, which has no colours, of at most so many characters.
std::string_view shortened(std::string_view text, std::size_t length);

/// `text`, which may be anybody's, without what a terminal would obey: control characters as \xNN,
/// but for line feeds and tabs where they are allowed.
std::string printable(std::string_view text, bool may_have_lines = false);

} // namespace fencelock::cli
