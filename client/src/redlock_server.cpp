#include "redlock_server.hpp"

#include <thread>
#include <utility>

#include <fencelock/errors.hpp>

#include "damaged_key.hpp"
#include "redis_fault.hpp"

namespace fencelock::detail {

namespace {

// How many requests to one server are on their way at once. A frozen server occupies so many
// threads, and no more of them: what waits behind them expires unsent.
constexpr std::size_t most_at_once = 8;

// How long a late answer is waited for, or a server that has to forget something is tried.
constexpr milliseconds late_limit{250};
constexpr milliseconds pause_before_repeat{20};

// At a server that does not answer, no more than so many wait for it to. Others would keep every
// thread busy for as long as it is away, and more and more would be left to do.
constexpr int most_patient = 4;

class turn {
  public:
    explicit turn(std::atomic<int>& count) : count_{count}, before_{count++} {}
    ~turn() { --count_; }
    turn(turn const&) = delete;
    turn& operator=(turn const&) = delete;

    bool is_among_first(int most) const noexcept { return before_ < most; }

  private:
    std::atomic<int>& count_;
    int const before_;
};

} // namespace

redlock_server::redlock_server(std::shared_ptr<redis_pool> pool, std::shared_ptr<observer> watch)
    : pool_{std::move(pool)}, observer_{std::move(watch)},
      address_{pool_->topology().server_for({}, {})}, workers_{most_at_once}
{
}

server_answer redlock_server::ask(server_request const& request, steady::time_point deadline,
                                  std::unique_ptr<redis_link>& link)
{
    auto answer = run(request, deadline, link);
    note(answer);
    return answer;
}

server_answer redlock_server::run(server_request const& request, steady::time_point deadline,
                                  std::unique_ptr<redis_link>& link)
try {
    server_answer answer;
    if (steady::now() >= deadline) {
        answer.trouble = "too many requests wait for it";
        return answer;
    }
    link = pool_->take(address_, deadline);
    auto arguments = request.arguments;
    if (request.expires)
        arguments.push_back(std::to_string(link->server_time(deadline, deadline)));
    answer.words =
        words_of(run_script(*link, *request.what, request.keys, arguments, deadline), *link);
    return answer;
} catch (link_failure const& failure) {
    pool_->doubt(address_);
    server_answer answer;
    answer.unresolved = failure.sent();
    answer.lost = failure.sent() && steady::now() < deadline;
    answer.trouble = failure.what();
    return answer;
} catch (redis_error const& e) {
    server_answer answer;
    answer.misconfigured = is_configuration(e.what());
    answer.trouble =
        is_about_a_value(e.what()) ? told_of_lock(request.keys.front()) : told_by_reply(e.what());
    return answer;
} catch (configuration_error const& e) {
    server_answer answer;
    answer.misconfigured = true;
    answer.trouble = e.what();
    return answer;
}

void redlock_server::undo(server_request const& request, std::unique_ptr<redis_link> link,
                          steady::time_point expired) noexcept
try {
    turn const mine{undoing_};
    bool const is_patient = takes_part() || mine.is_among_first(most_patient);
    auto const limit = is_patient ? late_limit : milliseconds{0};
    if (link && undo_over(request, std::move(link), limit))
        return;
    // What a broken connection carried may still be executed: so at once, and again when not.
    bool const is_certain = steady::now() >= expired;
    if ((try_undo(request, limit) && is_certain) || !is_patient)
        return;
    std::this_thread::sleep_until(expired);
    auto const end = steady::now() + late_limit;
    while (!try_undo(request, limit) && steady::now() < end)
        std::this_thread::sleep_for(pause_before_repeat);
} catch (std::exception const&) { // it refuses, or there is no memory: the TTL ends what is there
}

// False where the connection is broken. Where it is silent, the server has the request all the
// same, behind the one that it undoes: with the script's body, for nobody would hear that its
// digest is not known.
bool redlock_server::undo_over(server_request const& request, std::unique_ptr<redis_link> link,
                               milliseconds limit)
{
    auto const end = steady::now() + limit;
    try {
        run_script_body(*link, *request.what, request.keys, request.arguments, end);
        pool_->give_back(std::move(link));
        return true;
    } catch (link_failure const& failure) {
        return failure.sent() && steady::now() >= end;
    }
}

bool redlock_server::try_undo(server_request const& request, milliseconds limit)
try {
    auto link = pool_->take(address_, steady::now() + limit);
    return undo_over(request, std::move(link), limit);
} catch (link_failure const&) {
    return false;
}

// Told once, not with every request.
void redlock_server::note(server_answer const& answer)
{
    bool const answers = !answer.words.empty();
    if (takes_part_.exchange(answers) == answers)
        return;
    if (answers)
        observer_->tell(log_level::info, pool_->place() + " takes part in Redlock again", {});
    else
        observer_->tell(log_level::warning,
                        pool_->place() + " does not take part in Redlock: " + answer.trouble, {});
}

} // namespace fencelock::detail
