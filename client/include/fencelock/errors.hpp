// What can go wrong, one class for each thing that a caller may want to do about it.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

#include <fencelock/export.hpp>

namespace fencelock {

/// Root of every exception that fencelock throws by itself. Exceptions of libpqxx that come out of
/// the caller's own statements and are no business of fencelock's pass through unchanged.
class FENCELOCK_EXPORT error : public std::runtime_error {
  public:
    explicit error(std::string const& what, std::string resource = {}, std::int64_t token = 0);
    ~error() override;

    /// The resource that the error is about; empty where it is about none, or where the server
    /// does not name it to this role.
    std::string const& resource() const noexcept { return resource_; }

    /// The fencing token that the error is about; 0 where it is about none.
    std::int64_t token() const noexcept { return token_; }

  private:
    std::string resource_;
    std::int64_t token_;
};

/// A newer holder's token has been accepted, or a newer reservation exists (LF001).
/// Do: give the work up, read everything again under a new lock. The handle has ended; the next
/// acquire of the resource gets a token above mark(). Never repeat the write with another token.
class FENCELOCK_EXPORT stale_token : public error {
  public:
    stale_token(std::string const& what, std::string resource, std::int64_t token,
                std::int64_t mark);
    ~stale_token() override;

    /// The mark, or the first token of the newest reservation, that the token is below; 0 where the
    /// server does not tell this role.
    std::int64_t mark() const noexcept { return mark_; }

  private:
    std::int64_t mark_;
};

/// A write to a guarded table presented no token for the row's resource (LF002).
/// Do: hold the lock of that resource and write inside its transaction(), or claim() it first.
class FENCELOCK_EXPORT token_required : public error {
  public:
    using error::error;
    ~token_required() override;
};

/// Another owner has presented the same token (LF003): some issuer gave one number twice.
/// Do: as for stale_token; then look for an issuer that lost its memory (a counter restarted at 1).
class FENCELOCK_EXPORT token_conflict : public error {
  public:
    using error::error;
    ~token_conflict() override;
};

/// The token is above everything that the database has handed out for the resource (LF004).
/// Do: as for stale_token; then check that the lock and the write use the same database, and that
/// it was not restored from a backup or failed over without its last commits.
class FENCELOCK_EXPORT token_not_issued : public error {
  public:
    using error::error;
    ~token_not_issued() override;
};

/// The lock was held by others until the wait was over.
/// Do: try later, or wait longer; nothing was taken.
class FENCELOCK_EXPORT lock_timeout : public error {
  public:
    using error::error;
    ~lock_timeout() override;
};

/// The lease has ended: its TTL passed without a renewal, somebody ended it, a refusal ended it, or
/// the handle was released or moved from.
/// Do: acquire again and start the work from its beginning; from an acquire, with a longer TTL.
class FENCELOCK_EXPORT lock_lost : public error {
  public:
    using error::error;
    ~lock_lost() override;
};

/// A request was sent and no answer came, so it may or may not have happened.
/// Do: from an acquire, nothing: a lease that was taken after all ends with its TTL. From a commit,
/// ask client::outcome() by the receipt, or fence_outcome() in SQL, before repeating anything;
/// where that cannot know either, look at the data.
class FENCELOCK_EXPORT outcome_unknown : public error {
  public:
    explicit outcome_unknown(std::string const& what, std::string resource = {},
                             std::int64_t token = 0, std::string receipt = {});
    ~outcome_unknown() override;

    /// Of the transaction whose commit was not answered; empty where it was no commit.
    std::string const& receipt() const noexcept { return receipt_; }

  private:
    std::string receipt_;
};

/// Redis or PostgreSQL cannot be reached, or cannot serve now (loading, a replica, out of memory).
/// Do: try later. Nothing was taken; but where an acquire with `confirm` named its owner, a lease
/// that could not be confirmed stays that owner's to its TTL.
class FENCELOCK_EXPORT issuer_unavailable : public error {
  public:
    using error::error;
    ~issuer_unavailable() override;
};

/// A server answers, but refuses for a reason that trying again does not cure: a wrong password, a
/// missing right, no extension in the database.
/// Do: change the configuration that the message names.
class FENCELOCK_EXPORT configuration_error : public error {
  public:
    using error::error;
    ~configuration_error() override;
};

/// An argument is outside its limits: TTL, wait, resource name, URL. Nothing was sent. Or the
/// function of a transaction() did what it must not: nothing was written.
class FENCELOCK_EXPORT invalid_argument : public error {
  public:
    using error::error;
    ~invalid_argument() override;
};

} // namespace fencelock
