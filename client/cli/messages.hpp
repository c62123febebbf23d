// What the program says on stderr: messages, and what it is busy with.
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

namespace fencelock::cli {

/// `fencelock: ` and the message, in lines of its own. Control characters in it are shown, not
/// obeyed.
void say(std::string_view message);

/// Tells people, from two seconds on, what is waited for and for how long, in one line that is
/// cleared at the end. Only where stderr is a terminal that this program has in the foreground. One
/// at a time.
class progress {
  public:
    explicit progress(std::string what);
    ~progress();
    progress(progress const&) = delete;
    progress& operator=(progress const&) = delete;

    /// What it is busy with from here on.
    void now(std::string what);

  private:
    void run();
    void draw(long seconds);

    std::mutex mutex_;
    std::condition_variable changed_;
    std::string what_;
    bool over_ = false;
    std::thread thread_;
};

} // namespace fencelock::cli
