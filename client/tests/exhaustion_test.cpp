// No memory, no thread: the process lives on, and nothing is lost without a word. A program of its
// own, since it decides about all allocations and threads of its process.
#include <gtest/gtest.h>

#include <dlfcn.h>
#include <pthread.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <new>

#include <fencelock/fencelock.hpp>

#include "memory_issuer.hpp"
#include "support/wait_until.hpp"

namespace {

std::atomic<bool> no_memory{false}; // for other threads than the test's
std::atomic<int> without_memory{0}; // how often it was asked for in vain
std::atomic<bool> no_threads{false};
thread_local bool is_of_test = false;

} // namespace

void* operator new(std::size_t size)
{
    if (no_memory && !is_of_test) {
        ++without_memory;
        throw std::bad_alloc{};
    }
    if (void* const memory = std::malloc(size))
        return memory;
    throw std::bad_alloc{};
}

void operator delete(void* memory) noexcept
{
    std::free(memory);
}

void operator delete(void* memory, std::size_t) noexcept
{
    std::free(memory);
}

extern "C" int pthread_create(pthread_t* thread, pthread_attr_t const* attributes,
                              void* (*run)(void*), void* argument)
{
    static auto* const original =
        reinterpret_cast<decltype(&pthread_create)>(::dlsym(RTLD_NEXT, "pthread_create"));
    return no_threads ? EAGAIN : original(thread, attributes, run, argument);
}

namespace fencelock::test {
namespace {

using namespace std::chrono_literals;
using test_support::wait_until;

// Where this machine is too slow for a lease to be renewed in time, a longer one has to be.
constexpr std::array ttls{3s, 30s, 180s};

class exhaustion : public ::testing::Test {
  protected:
    void SetUp() override
    {
        is_of_test = true;
        without_memory = 0;
    }
    void TearDown() override
    {
        no_memory = false;
        no_threads = false;
    }

    std::shared_ptr<memory_issuer> const issuer = std::make_shared<memory_issuer>();
    client locks{issuer, "dbname=unused"};
};

TEST_F(exhaustion, a_loss_is_told_once_there_is_memory_for_it)
{
    std::atomic<bool> told{false};
    no_memory = true;
    auto lock = locks.acquire(
        "r", {.ttl = 200ms, .renew = false, .on_lost = [&](lock_lost const&) { told = true; }});
    EXPECT_TRUE(wait_until([&] { return without_memory > 0; }));
    EXPECT_FALSE(told);
    no_memory = false;
    EXPECT_TRUE(wait_until([&] { return told.load(); }));
    EXPECT_TRUE(lock.stop_token().stop_requested());
}

TEST_F(exhaustion, renewals_go_on_once_there_is_memory_for_them)
{
    for (auto const ttl : ttls) {
        no_memory = true;
        without_memory = 0;
        auto lock = locks.acquire("r", {.ttl = ttl});
        auto const first_end = lock.valid_until();
        EXPECT_TRUE(wait_until([&] { return without_memory > 0; })); // it was due
        no_memory = false;
        EXPECT_TRUE(wait_until([&] { return lock.valid_until() > first_end || !lock.held(); }));
        if (lock.held())
            return;
    }
    FAIL() << "no lease was renewed in time";
}

TEST_F(exhaustion, an_acquire_without_a_thread_to_renew_the_lease_leaves_none)
{
    no_threads = true;
    EXPECT_THROW(locks.try_acquire("r"), issuer_unavailable);
    EXPECT_TRUE(issuer->is_released(1));
    no_threads = false;
    EXPECT_TRUE(locks.try_acquire("r", {.wait = 120s}));
}

} // namespace
} // namespace fencelock::test
