#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "protocol/memory_owners.h"

namespace etprof {

// Bytes that an operator allocated when it was created, in two experiments.
struct AllocationChange {
  std::string name;
  std::int64_t baseline = 0, candidate = 0;
};

// Those that differ, the largest difference first. Absent where both did not create the same operators, one
// by one.
std::optional<std::vector<AllocationChange>> ChangedAllocations(const protocol::MemoryReport& baseline,
                                                                const protocol::MemoryReport& candidate);

}  // namespace etprof
