#pragma once

#include "analysis/profile.h"

namespace etprof {

// Fills `statistics`, `groups`, `categories` and `whole` of a profile whose other members are there, on up to
// `threads` threads (0: as many as the machine has cores).
void DescribeProfile(Profile& profile, std::size_t threads);

}  // namespace etprof
