#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "protocol/watch.h"

namespace etprof {

// Bytes that an operator allocated during its creation, in two experiments.
struct AllocationChange {
  std::string name;
  std::int64_t baseline = 0, candidate = 0;
};

// Returns the operators whose allocations differ, the largest difference first. Absent if the experiments did
// not create the same sequence of operators.
std::optional<std::vector<AllocationChange>> ChangedAllocations(const protocol::MemoryReport& baseline,
                                                                const protocol::MemoryReport& candidate);

}  // namespace etprof
