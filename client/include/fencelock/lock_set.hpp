// Several locks that were acquired together.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <pqxx/pqxx>

#include <fencelock/export.hpp>
#include <fencelock/lock.hpp>
#include <fencelock/transaction.hpp>

namespace fencelock {

/// Holds one lease for each of its resources, in the order of their names, which is also the order
/// in which they were taken and are claimed: whoever takes several in another way may deadlock. As
/// lock: move-only, renews in the background, releases at its end.
class FENCELOCK_EXPORT lock_set {
  public:
    lock_set(lock_set&& other) noexcept;
    lock_set& operator=(lock_set&& other) noexcept; ///< releases what this held before
    ~lock_set();                                    ///< releases, the last one first

    /// The single handles, in the order of their resources' names.
    std::span<lock> locks() noexcept { return locks_; }
    std::span<lock const> locks() const noexcept { return locks_; }

    /// The fencing token of one of the resources. Throws invalid_argument where it is none of them.
    std::int64_t token(std::string_view resource) const;

    /// False once any of the leases is known to be over.
    bool held() const noexcept;

    /// Until when all of them can be relied on, unless they are renewed; the clock's epoch,
    /// which is long ago, where this was moved from.
    std::chrono::steady_clock::time_point valid_until() const;

    /// Stop is requested when the first of the leases is lost.
    std::stop_token stop_token() const { return lost_.get_token(); }

    /// Extends all. False where any is over. Throws as lock::renew().
    bool renew();

    /// Ends all, the last one first. The worst outcome: unknown, else not_held, else released.
    release_outcome release() noexcept;

    /// As lock::confirm(), for all; `limit` is for all of them together.
    void confirm(std::chrono::milliseconds limit = std::chrono::seconds{30});

    /// As lock::claim(), for all.
    void claim(pqxx::transaction_base& tx);

    /// As lock::transaction(), which presents all the tokens first. Where one is refused, that
    /// handle has ended, and nothing was written.
    template <typename Work>
    std::invoke_result_t<Work, pqxx::work&> transaction(Work&& work,
                                                        transaction_options const& options = {})
    {
        detail::fenced_transaction tx{locks_, options};
        return tx.run(std::forward<Work>(work));
    }

    /// The same through a connection of the caller's, which is in no transaction.
    template <typename Work>
    std::invoke_result_t<Work, pqxx::work&> transaction(pqxx::connection& connection, Work&& work,
                                                        transaction_options const& options = {})
    {
        detail::fenced_transaction tx{locks_, connection, options};
        return tx.run(std::forward<Work>(work));
    }

  private:
    friend class client;

    lock_set(std::vector<lock> locks, std::stop_source lost);
    void release_backwards() noexcept;

    std::vector<lock> locks_;
    std::stop_source lost_;
};

} // namespace fencelock
