#pragma once

#include "profile/analysis/profile.h"

namespace etprof {

// Fills `statistics`, `groups`, `categories`, and `whole` from the other members of a profile, on up to
// `threads` threads (0: one per core).
void DescribeProfile(Profile& profile, std::size_t threads);

}  // namespace etprof
