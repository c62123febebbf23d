#include "options.hpp"

#include <sstream>
#include <stdexcept>

namespace torture {

namespace {

std::vector<std::string> split(std::string const& joined)
{
    std::vector<std::string> parts;
    std::istringstream text{joined};
    for (std::string part; std::getline(text, part, ',');)
        parts.push_back(part);
    return parts;
}

} // namespace

options read_options(std::vector<std::string> const& arguments)
{
    options chosen;
    for (auto const& argument : arguments) {
        auto const equals = argument.find('=');
        if (equals == std::string::npos)
            throw std::invalid_argument{"not NAME=VALUE: " + argument};
        auto const name = argument.substr(0, equals);
        auto const value = argument.substr(equals + 1);
        if (name == "name")
            chosen.name = value;
        else if (name == "seed")
            chosen.seed = std::stoull(value);
        else if (name == "threads")
            chosen.threads = std::stoi(value);
        else if (name == "history")
            chosen.history = value;
        else if (name == "database")
            chosen.database = value;
        else if (name.starts_with("redis."))
            chosen.redis[name.substr(6)] = value;
        else if (name.starts_with("redlock."))
            chosen.redlock[name.substr(8)] = split(value);
        else if (name == "resources")
            chosen.resources = std::stoi(value);
        else if (name == "two_phase")
            chosen.two_phase = value == "yes";
        else
            throw std::invalid_argument{"unknown option: " + argument};
    }
    if (chosen.name.empty() || chosen.history.empty() || chosen.database.empty() ||
        chosen.threads < 1 || chosen.resources < 2)
        throw std::invalid_argument{"name, history and database are needed, a thread, 2 resources"};
    return chosen;
}

} // namespace torture
