// What a worker is told on its command line.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace torture {

struct options {
    std::string name;       // of this process, unique in the run
    std::uint64_t seed = 0; // all that it chooses follows from this
    int threads = 1;        // each with a connection of its own
    std::string history;    // the file
    std::string database;   // conninfo
    std::map<std::string, std::string>
        redis; // group of resources -> URL of the Redis that has them
    std::map<std::string, std::vector<std::string>> redlock; // group -> URLs of its servers
    int resources = 2;                                       // of each family in each group
    bool two_phase = false; // the server has max_prepared_transactions
};

// NAME=VALUE each: name, seed, threads, history, database, redis.GROUP, redlock.GROUP
// (URLs joined by commas), resources, two_phase.
// Throws std::invalid_argument.
options read_options(std::vector<std::string> const& arguments);

} // namespace torture
