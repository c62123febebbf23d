// What a program that locks lets others see: its counters in a file, what happens in its log.
#pragma once

#include <filesystem>
#include <functional>
#include <ostream>

#include <fencelock/fencelock.hpp>

// Replaces the file as a whole: whoever reads it meanwhile gets the old one or the new one.
void write_metrics(const std::filesystem::path& file, const fencelock::client_counters& counters);

// For client_options::log: a line for each entry, in logfmt. `to` must outlive the client.
std::function<void(const fencelock::log_entry&)> log_to(std::ostream& to);
