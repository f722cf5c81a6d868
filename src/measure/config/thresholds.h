#pragma once

#include <filesystem>
#include <string>

#include "program/static_facts.h"

namespace etprof {

// A file of limits that a repository keeps for its programs (docs/guides/ci.md). Throws Error (kBadInput)
// with the line for what is no limit, and for keys that nobody knows.
StaticLimits ReadThresholds(const std::filesystem::path& path);
StaticLimits ParseThresholds(const std::string& text, const std::filesystem::path& path);

}  // namespace etprof
