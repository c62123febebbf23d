// One operation: takes a lock, works under it, and gives it back or does not.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include <fencelock/fencelock.hpp>

#include "history.hpp"
#include "options.hpp"
#include "plan.hpp"
#include "ways.hpp"

namespace torture {

// The clients of a process, one for each group of resources; shared by its threads.
class clients {
  public:
    explicit clients(options const& chosen);

    fencelock::client& of(std::string const& group) { return *clients_.at(group); }

  private:
    std::map<std::string, std::unique_ptr<fencelock::redis_locks>> redis_;
    std::map<std::string, std::unique_ptr<fencelock::redlock_locks>> redlock_;
    std::map<std::string, std::unique_ptr<fencelock::client>> clients_;
};

class operation {
  public:
    operation(history& log, clients& from, session& own, operation_plan const& plan,
              std::string name)
        : log_{log}, clients_{from}, own_{own}, plan_{plan}, name_{std::move(name)}
    {
    }

    void run();

  private:
    fencelock::acquire_options acquiring() const;
    template <typename Take>
    auto told(Take take) -> decltype(take());
    void with_one();
    void with_two();
    void ask(transaction_run const& run, std::string const& tx);
    void granted(fencelock::lock const& lock);
    void finish(fencelock::lock& lock);
    event about(std::string_view kind) const { return event{kind}.add("op", name_); }

    history& log_;
    clients& clients_;
    session& own_;
    operation_plan const& plan_;
    std::string name_;
};

} // namespace torture
