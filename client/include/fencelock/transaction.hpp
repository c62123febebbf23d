// Transactions that present a token before they do anything else.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include <pqxx/pqxx>

#include <fencelock/export.hpp>

namespace fencelock {

class lock;

/// REPEATABLE READ and SERIALIZABLE take one more round trip: the token is presented in a
/// transaction of its own first, so that the snapshot is newer than what the earlier holders wrote.
enum class isolation { read_committed, repeatable_read, serializable };

/// How transaction() runs.
struct transaction_options {
    fencelock::isolation isolation = fencelock::isolation::read_committed;
};

/// What became of a transaction.
enum class commit_outcome {
    committed,
    aborted,     ///< nothing was written
    in_progress, ///< the server has not ended it yet: ask again
    unknown, ///< the server has crashed, restarted or been replaced since, or it is too long ago
};

namespace detail {

class lease;

/// What transaction() of one lock, or of several, does around the caller's function.
class FENCELOCK_EXPORT fenced_transaction {
  public:
    fenced_transaction(std::span<lock> held, transaction_options const& options);
    fenced_transaction(std::span<lock> held, pqxx::connection& connection,
                       transaction_options const& options);
    ~fenced_transaction();
    fenced_transaction(fenced_transaction const&) = delete;
    fenced_transaction& operator=(fenced_transaction const&) = delete;

    template <typename Work>
    std::invoke_result_t<Work, pqxx::work&> run(Work&& work)
    {
        using result_type = std::invoke_result_t<Work, pqxx::work&>;
        try {
            if constexpr (std::is_void_v<result_type>) {
                std::invoke(std::forward<Work>(work), this->work());
                commit();
            } else {
                decltype(auto) result = std::invoke(std::forward<Work>(work), this->work());
                commit();
                return static_cast<result_type&&>(result);
            }
        } catch (...) {
            rethrow();
        }
    }

  private:
    struct state;

    static std::vector<lease*> usable(std::span<lock> held);

    pqxx::work& work();

    // Where the connection breaks on the way, the outcome is asked for through another one. Throws
    // issuer_unavailable where nothing was written, outcome_unknown where that stays unknown.
    void commit();

    // The exception being handled; as fencelock's own where the server refused a token.
    [[noreturn]] void rethrow();

    std::unique_ptr<state> state_;
};

} // namespace detail

} // namespace fencelock
