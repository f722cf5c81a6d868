#pragma once

#include <string>

namespace etprof {

// This moment in UTC, ISO 8601: "2026-11-22T17:06:05Z".
std::string UtcNow();
// Likewise without what some file systems refuse in a name: "2026-11-22T170605Z".
std::string UtcNowForFileName();

}  // namespace etprof
