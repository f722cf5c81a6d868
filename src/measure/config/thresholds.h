#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "program/static_facts.h"

namespace etprof {

// A file of limits that a repository keeps for its programs (docs/guides/ci.md). Throws Error (kBadInput)
// with the line for what is no limit, and for keys that nobody knows.
StaticLimits ReadThresholds(const std::filesystem::path& path);
StaticLimits ParseThresholds(const std::string& text, const std::filesystem::path& path);

// For editors. What it takes is read; what is read beyond it is written in an unusual way ("1e1%").
nlohmann::ordered_json ThresholdsSchema();

}  // namespace etprof
