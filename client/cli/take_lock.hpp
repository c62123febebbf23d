// Waiting for a lock in a way that signals can end.
#pragma once

#include <fencelock/fencelock.hpp>

#include "arguments.hpp"
#include "session.hpp"
#include "signals.hpp"

namespace fencelock::cli {

/// A signal ended the wait, and nothing was taken.
struct interrupted {
    int signal;
};

/// Takes the lock in a thread of its own, while this one takes signals. Throws interrupted, and
/// what client::acquire() throws.
lock take_lock(session& with, arguments const& given, acquire_options options, signal_inbox& inbox);

} // namespace fencelock::cli
