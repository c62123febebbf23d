// What a worker does, written down before and after it is done.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace torture {

// One line of the history, a JSON object. The time is the machine's monotonic clock in ns, which
// all processes share.
class event {
  public:
    explicit event(std::string_view kind);

    event& add(std::string_view name, std::string_view value);
    event& add(std::string_view name, char const* value)
    {
        return add(name, std::string_view{value});
    }
    event& add(std::string_view name, std::int64_t value);
    event& add(std::string_view name, bool value);

    std::string line() const { return text_ + "}\n"; }

  private:
    void name(std::string_view name);

    std::string text_;
};

// A file of events. Each is one write to the kernel, so that a process that is killed loses none
// that it has written. Thread-safe.
class history {
  public:
    explicit history(std::string const& path); // appends; throws std::system_error
    ~history();
    history(history const&) = delete;
    history& operator=(history const&) = delete;

    void write(event const& what); // throws std::system_error

  private:
    int file_;
};

} // namespace torture
