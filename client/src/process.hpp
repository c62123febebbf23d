// Which process this is.
#pragma once

#include <sys/types.h>

namespace fencelock::detail {

/// As getpid(), hardly ever by a system call: it is asked for several times in each request, since
/// nothing of a parent's may be used in a forked child.
pid_t process_id() noexcept;

} // namespace fencelock::detail
