#include "process.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <new>

namespace fencelock::detail {

namespace {

using known_id = std::atomic<pid_t>;

// In memory that the kernel clears in a forked child, by whatever call it was forked. Nothing where
// there is no such memory.
known_id* make_known_id() noexcept
{
    auto* const page = ::mmap(nullptr, sizeof(known_id), PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        return nullptr;
    if (::madvise(page, sizeof(known_id), MADV_WIPEONFORK) == 0)
        return new (page) known_id{0};
    ::munmap(page, sizeof(known_id));
    return nullptr;
}

known_id* const known = make_known_id(); // before main(), where no other thread can fork meanwhile

} // namespace

pid_t process_id() noexcept
{
    if (!known)
        return ::getpid();
    if (auto const id = known->load(std::memory_order_relaxed); id != 0)
        return id;
    auto const id = ::getpid();
    known->store(id, std::memory_order_relaxed);
    return id;
}

} // namespace fencelock::detail
