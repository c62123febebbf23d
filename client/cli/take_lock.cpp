#include "take_lock.hpp"

#include <atomic>
#include <exception>
#include <optional>
#include <thread>
#include <utility>

#include "messages.hpp"

namespace fencelock::cli {

lock take_lock(session& with, arguments const& given, acquire_options options, signal_inbox& inbox)
{
    std::stop_source cancel;
    std::optional<lock> taken;
    std::exception_ptr trouble;
    std::atomic<bool> done{false};
    options.stop = cancel.get_token();
    std::thread worker{[&] {
        try {
            taken.emplace(with.client().acquire(*given.resource, options));
        } catch (...) {
            trouble = std::current_exception();
        }
        done = true;
        signal_inbox::wake();
    }};
    int received = 0;
    {
        progress const busy{"waiting for the lock of \"" + *given.resource + '"'};
        while (!done) {
            auto const signal = *inbox.next();
            if (signal == SIGINT || signal == SIGTERM || signal == SIGHUP || signal == SIGQUIT) {
                received = signal;
                cancel.request_stop();
            }
        }
    }
    worker.join();
    if (received != 0)
        throw interrupted{received}; // what was taken is released
    if (trouble)
        std::rethrow_exception(trouble);
    return std::move(*taken);
}

} // namespace fencelock::cli
