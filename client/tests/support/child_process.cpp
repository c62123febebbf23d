#include "child_process.hpp"
#include "wait_until.hpp"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <fstream>
#include <grp.h>
#include <iterator>
#include <pwd.h>
#include <sstream>
#include <stdexcept>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

namespace fencelock::test_support {

namespace {

struct identity {
    uid_t uid;
    gid_t gid;
    std::vector<gid_t> groups;
};

// All that the child needs between fork and exec, made before the fork: in a process with several
// threads the child may only make async-signal-safe calls.
struct launch {
    std::vector<char*> argv;
    std::vector<std::string> environment;
    std::vector<char*> envp;
    std::optional<identity> run_as;
    std::string output;
    int death_signal;
    pid_t parent;
};

identity identity_of(std::string const& user)
{
    passwd const* entry = getpwnam(user.c_str());
    if (entry == nullptr)
        throw std::runtime_error{"no user \"" + user + "\" on this machine"};
    identity who{entry->pw_uid, entry->pw_gid, {}};
    int count = 64;
    who.groups.resize(static_cast<std::size_t>(count));
    if (getgrouplist(user.c_str(), who.gid, who.groups.data(), &count) < 0)
        throw std::runtime_error{"user \"" + user + "\" is in too many groups"};
    who.groups.resize(static_cast<std::size_t>(count));
    return who;
}

std::vector<std::string> merged_environment(std::vector<std::string> const& overrides)
{
    auto const name_of = [](std::string const& entry) { return entry.substr(0, entry.find('=')); };
    std::vector<std::string> merged;
    for (auto const& entry : overrides)
        if (entry.find('=') != std::string::npos)
            merged.push_back(entry);
    for (char** entry = environ; *entry != nullptr; ++entry) {
        bool overridden = false;
        for (auto const& other : overrides)
            overridden = overridden || name_of(other) == name_of(*entry);
        if (!overridden)
            merged.emplace_back(*entry);
    }
    return merged;
}

void close_inherited_descriptors()
{
#ifdef SYS_close_range
    if (syscall(SYS_close_range, 3U, ~0U, 0U) == 0)
        return;
#endif
    long const limit = sysconf(_SC_OPEN_MAX);
    for (int fd = 3; fd < (limit > 0 && limit < 65536 ? limit : 65536); ++fd)
        close(fd);
}

[[noreturn]] void run_child(launch const& plan)
{
    constexpr int cannot_start = 127;
    setpgid(0, 0); // a Ctrl-C at the terminal is for the test, which then stops its servers
    if (plan.run_as && (setgroups(plan.run_as->groups.size(), plan.run_as->groups.data()) != 0 ||
                        setgid(plan.run_as->gid) != 0 || setuid(plan.run_as->uid) != 0))
        _exit(cannot_start);
    // After setuid, which clears it; and the parent may have died before.
    prctl(PR_SET_PDEATHSIG, plan.death_signal);
    if (getppid() != plan.parent)
        _exit(cannot_start);

    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    (void)signal(SIGPIPE, SIG_DFL);
    int const input = open("/dev/null", O_RDONLY);
    int const output = open(plan.output.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
    if (input < 0 || output < 0 || dup2(input, 0) < 0 || dup2(output, 1) < 0 ||
        dup2(output, 2) < 0 || chdir("/") != 0)
        _exit(cannot_start);
    close_inherited_descriptors();
    execve(plan.argv[0], plan.argv.data(), plan.envp.data());
    _exit(cannot_start);
}

int status_from(int raw)
{
    return WIFSIGNALED(raw) ? 128 + WTERMSIG(raw) : WEXITSTATUS(raw);
}

} // namespace

child_process::child_process(child_options const& options) : owner_pid_{getpid()}
{
    launch plan{{},
                merged_environment(options.environment),
                {},
                {},
                options.output.empty() ? "/dev/null" : options.output.string(),
                options.signal_on_parent_death,
                owner_pid_};
    for (auto const& argument : options.argv)
        plan.argv.push_back(const_cast<char*>(argument.c_str()));
    plan.argv.push_back(nullptr);
    for (auto& entry : plan.environment)
        plan.envp.push_back(entry.data());
    plan.envp.push_back(nullptr);
    if (options.user)
        plan.run_as = identity_of(*options.user);

    pid_ = fork();
    if (pid_ < 0)
        throw std::system_error{errno, std::generic_category(), "fork"};
    if (pid_ == 0)
        run_child(plan);
}

child_process::~child_process()
{
    // A forked child of a test has a copy of this object; the server is not its own to stop.
    if (owner_pid_ != getpid() || !running())
        return;
    send(SIGKILL);
    wait(generous_limit);
}

bool child_process::running()
{
    if (status_)
        return false;
    int raw = 0;
    pid_t const ended = waitpid(pid_, &raw, WNOHANG);
    if (ended == pid_)
        status_ = status_from(raw);
    else if (ended < 0 && errno == ECHILD)
        status_ = 255; // somebody else collected it
    return !status_;
}

void child_process::send(int signal)
{
    if (running())
        kill(pid_, signal);
}

std::optional<int> child_process::wait(std::chrono::milliseconds limit)
{
    if (!wait_until([this] { return !running(); }, limit))
        return std::nullopt;
    return status_;
}

std::optional<std::filesystem::path> find_program(std::string const& program)
{
    char const* path = std::getenv("PATH");
    std::istringstream directories{std::string{path == nullptr ? "" : path} +
                                   ":/usr/local/bin:/usr/bin:/bin:/usr/sbin"};
    for (std::string directory; std::getline(directories, directory, ':');) {
        auto const candidate = std::filesystem::path{directory} / program;
        if (!directory.empty() && access(candidate.c_str(), X_OK) == 0)
            return candidate;
    }
    return std::nullopt;
}

std::string tail_of(std::filesystem::path const& file, std::size_t bytes)
{
    std::ifstream in{file, std::ios::binary};
    std::string text{std::istreambuf_iterator<char>{in}, {}};
    return text.size() > bytes ? text.substr(text.size() - bytes) : text;
}

} // namespace fencelock::test_support
