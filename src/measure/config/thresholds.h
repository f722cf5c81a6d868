#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "format/program/static_facts.h"

namespace etprof {

// Reads a file of limits that a repository keeps for its programs (docs/guides/ci.md). Throws Error
// (kBadInput) with the line for invalid limits and unknown keys.
StaticLimits ReadThresholds(const std::filesystem::path& path);
StaticLimits ParseThresholds(const std::string& text, const std::filesystem::path& path);

// The JSON Schema of the file, for editors. The reader accepts everything that the schema allows, and a few
// unusual notations beyond it ("1e1%").
nlohmann::ordered_json ThresholdsSchema();

}  // namespace etprof
