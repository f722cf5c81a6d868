#include "report/kernels/memory_change.h"

#include <algorithm>
#include <cstdlib>
#include <tuple>

namespace etprof {

std::optional<std::vector<AllocationChange>> ChangedAllocations(const protocol::MemoryReport& baseline,
                                                                const protocol::MemoryReport& candidate) {
  // Do not compare names: XNNPACK's names contain data types, which may depend on the instruction set.
  const auto place = [](const protocol::CreatedOperator& op) {
    return std::tuple(op.delegate, op.instruction, op.ordinal);
  };
  if (!std::ranges::equal(baseline.operators, candidate.operators, {}, place, place)) return std::nullopt;
  std::vector<AllocationChange> changes;
  for (std::size_t i = 0; i < baseline.operators.size(); ++i) {
    const protocol::CreatedOperator &before = baseline.operators[i], &after = candidate.operators[i];
    if (before.bytes != after.bytes) changes.push_back({after.NameOrFunction(), before.bytes, after.bytes});
  }
  std::ranges::stable_sort(changes, std::ranges::greater(), [](const AllocationChange& change) {
    return std::abs(change.candidate - change.baseline);
  });
  return changes;
}

}  // namespace etprof
