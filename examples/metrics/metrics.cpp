#include "metrics.hpp"

#include <fstream>
#include <iomanip>
#include <memory>
#include <mutex>
#include <sstream>

void write_metrics(const std::filesystem::path& file, const fencelock::client_counters& counters)
{
    const std::filesystem::path next = file.string() + ".new";
    std::ofstream out;
    out.exceptions(std::ios::failbit | std::ios::badbit);
    out.open(next);
    out << fencelock::prometheus_text(counters);
    out.close();
    std::filesystem::rename(next, file);
}

std::function<void(const fencelock::log_entry&)> log_to(std::ostream& to)
{
    // The hook is called by several threads; each line is written as one.
    return [&to, writing = std::make_shared<std::mutex>()](const fencelock::log_entry& entry) {
        std::ostringstream line;
        line << "level=" << (entry.level == fencelock::log_level::warning ? "warning" : "info");
        if (!entry.resource.empty())
            line << " resource=" << std::quoted(entry.resource);
        if (entry.token != 0)
            line << " token=" << entry.token;
        line << " message=" << std::quoted(entry.message) << '\n';
        const std::lock_guard guard{*writing};
        to << line.str() << std::flush;
    };
}
