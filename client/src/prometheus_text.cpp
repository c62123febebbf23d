#include <array>

#include <fencelock/observation.hpp>

namespace fencelock {

namespace {

struct described_counter {
    std::uint64_t client_counters::*value;
    char const* name;
    char const* help;
};

constexpr auto all_counters = std::to_array<described_counter>({
    {&client_counters::acquired, "acquired", "Locks handed to callers"},
    {&client_counters::contended, "contended", "Attempts that met another owner's lease"},
    {&client_counters::waits, "waits", "Acquires that waited for another owner"},
    {&client_counters::released, "released", "Leases ended by their holders"},
    {&client_counters::lost, "lost", "Leases that ended otherwise while they were held"},
    {&client_counters::refused, "refused", "Lost leases whose token the database refused"},
    {&client_counters::renewals, "renewals", "Leases extended"},
    {&client_counters::failed_renewals, "failed_renewals",
     "Renewals in the background that were not answered"},
    {&client_counters::seeds, "seeds", "Blocks of tokens reserved in PostgreSQL for Redis"},
    {&client_counters::fallbacks, "fallbacks", "Leases taken in PostgreSQL because Redis was away"},
});
static_assert(all_counters.size() * sizeof(std::uint64_t) == sizeof(client_counters),
              "each counter is in the list");

} // namespace

client_counters operator+(client_counters const& one, client_counters const& other) noexcept
{
    client_counters sums;
    for (auto const& counter : all_counters)
        sums.*counter.value = one.*counter.value + other.*counter.value;
    return sums;
}

std::string prometheus_text(client_counters const& counters)
{
    std::string text;
    for (auto const& counter : all_counters) {
        auto const name = std::string{"fencelock_client_"} + counter.name + "_total";
        text += "# HELP " + name + ' ' + counter.help + "\n# TYPE " + name + " counter\n" + name +
                ' ' + std::to_string(counters.*counter.value) + '\n';
    }
    return text;
}

} // namespace fencelock
