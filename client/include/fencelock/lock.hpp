// The handle of a held lock.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <pqxx/pqxx>

#include <fencelock/errors.hpp>
#include <fencelock/export.hpp>
#include <fencelock/issuer.hpp>
#include <fencelock/stamp.hpp>
#include <fencelock/transaction.hpp>

namespace fencelock {

namespace detail {
class lease;
}

enum class release_outcome {
    released, ///< the lease was ours and has been ended by this
    not_held, ///< it was not ours any more: it had run out, or was ended by something else
              ///< (an earlier release included whose answer was lost), or this is a forked child
    unknown,  ///< no answer came, or only to a repeated request, which cannot tell who ended it:
              ///< release() may be called again, else the TTL ends the lease
};

/// Holds a lease, renews it in the background, and releases it at the end of its life. Any thread
/// may use it, several at once too, except for moving and destroying. In a forked child it does
/// nothing.
///
/// That the lease is held is a good guess, never a certainty: what is written is protected by the
/// token, through transaction() or claim().
class FENCELOCK_EXPORT lock {
  public:
    lock(lock&& other) noexcept;
    lock& operator=(lock&& other) noexcept; ///< releases what this held before

    /// Releases. Never throws; an answer that does not come is waited for until the attempt
    /// timeout, that of a renewal under way first.
    ~lock();

    std::string const& resource() const;

    /// The fencing token: higher than that of every earlier holder.
    std::int64_t token() const;

    /// The id of this grant, unique to it.
    std::string const& owner() const;

    /// Who granted it: `redis`, `redlock`, `database`, or the name of an issuer of the user's.
    std::string_view issuer_name() const;

    /// Until when the lease can be relied on, unless it is renewed: counted from before the request
    /// was sent, less 1 % of the TTL and 2 ms. In a forked child the clock's epoch, which is long
    /// ago.
    std::chrono::steady_clock::time_point valid_until() const;

    /// False once the lease is known to be over.
    bool held() const noexcept;

    /// Stop is requested when the lease is lost (not by release()).
    std::stop_token stop_token() const;

    /// Extends the lease by its TTL from now. False where it is over, which is final. Throws
    /// issuer_unavailable or outcome_unknown where there is no answer: the lease goes on as it was.
    bool renew();

    /// Ends the lease. No renewal begins after this has, and it waits for one that is under way.
    /// Throws nothing; see release_outcome.
    release_outcome release() noexcept;

    /// Gives the lease away: from here on this handle neither renews nor releases it, and holds
    /// nothing. Whoever gets the result renews or releases the lease through a client, or leaves
    /// it to its TTL. Throws lock_lost where it is over.
    held_lease detach();

    /// Presents the token in a transaction of its own, which fences all earlier holders from then
    /// on. Needed before a claim() in a REPEATABLE READ or SERIALIZABLE transaction of the caller's
    /// own; transaction() does it by itself. Waits up to `limit` for an earlier holder's
    /// transaction. Throws stale_token, token_conflict, token_not_issued (each ends the handle),
    /// lock_lost, issuer_unavailable, outcome_unknown, configuration_error, and invalid_argument
    /// inside the function of a transaction() of the same resource.
    void confirm(std::chrono::milliseconds limit = std::chrono::seconds{30});

    /// Presents the token in a transaction of the caller's: do it before the first read. Throws
    /// lock_lost, stale_token, token_conflict, token_not_issued (the last three end the handle),
    /// configuration_error where the extension is missing, and what libpqxx throws. The caller
    /// commits, and has to deal with pqxx::in_doubt_error. A name outside ASCII needs the
    /// connection's client_encoding to be UTF8.
    ///
    /// While `tx` is open, whatever presents this token through another connection waits for it:
    /// transaction() without end, confirm() to its limit. A thread must not do that with a `tx` of
    /// its own; nor claim through another connection inside the function of a transaction() of the
    /// same lock.
    void claim(pqxx::transaction_base& tx);

    /// Runs `work` in a transaction that has presented the token first, then commits. The result of
    /// `work` is passed through. Uses a connection of the client's, in which nothing is left of
    /// what ran there before: what `work` SETs, prepares, creates as temporary or locks for its
    /// session is discarded behind it, in the background.
    ///
    /// Throws lock_lost before anything is run; stale_token, token_conflict, token_not_issued where
    /// the token is refused (the handle has ended, nothing was written); token_required where
    /// `work` writes to a guarded resource without a lock of it; configuration_error where the
    /// extension is missing, or older than this client; issuer_unavailable where the
    /// database cannot be reached, and nothing was written; outcome_unknown where the connection
    /// broke during the commit and, within the attempt timeout, another could not tell what became
    /// of it.
    /// What `work` throws, and what libpqxx throws for its statements, comes out unchanged; nothing
    /// was written then.
    ///
    /// `work` must not end the transaction: neither by commit() or abort(), nor in SQL. Where it
    /// does, or swallows an error that has aborted the transaction, that is invalid_argument if
    /// nothing was written, else outcome_unknown, whatever `work` throws. Nor may it present the
    /// token of this lock, or of a newer one of the same resource, in another transaction, which
    /// would wait for this one: transaction() and confirm() throw invalid_argument for that in the
    /// thread that `work` runs in, at once; it must return in that thread. In other threads they
    /// wait.
    template <typename Work>
    std::invoke_result_t<Work, pqxx::work&> transaction(Work&& work,
                                                        transaction_options const& options = {})
    {
        detail::fenced_transaction tx{{this, 1}, options};
        return tx.run(std::forward<Work>(work));
    }

    /// The same through a connection of the caller's, which is in no transaction. Where it breaks
    /// before the commit, that is pqxx::broken_connection.
    template <typename Work>
    std::invoke_result_t<Work, pqxx::work&> transaction(pqxx::connection& connection, Work&& work,
                                                        transaction_options const& options = {})
    {
        detail::fenced_transaction tx{{this, 1}, connection, options};
        return tx.run(std::forward<Work>(work));
    }

    /// For writes that name the token column themselves, on tables with or without a guard.
    fencelock::stamp stamp(std::string_view column = "fence_token") const;

  private:
    friend class client;
    friend class detail::fenced_transaction;

    explicit lock(std::shared_ptr<detail::lease> lease) noexcept;
    detail::lease& lease() const;  // throws where this was moved from
    detail::lease& usable() const; // and in a forked child

    std::shared_ptr<detail::lease> lease_;
};

} // namespace fencelock
