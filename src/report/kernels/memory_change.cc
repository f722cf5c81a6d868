#include "report/kernels/memory_change.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <tuple>

namespace etprof {
namespace {

using protocol::CreatedOperator;
using protocol::MemoryReport;

// XNNPACK names an operator by its data types, which another instruction set may change.
bool AreTheSame(const CreatedOperator& one, const CreatedOperator& other) {
  const auto place = [](const CreatedOperator& op) {
    return std::tuple(op.delegate, op.instruction, op.ordinal);
  };
  return place(one) == place(other);
}

}  // namespace

std::int64_t MemoryChange::Baseline() const {
  return std::accumulate(owners.begin(), owners.end(), std::int64_t{0},
                         [](std::int64_t sum, const Owner& of) { return sum + of.baseline; });
}

std::int64_t MemoryChange::Candidate() const {
  return std::accumulate(owners.begin(), owners.end(), std::int64_t{0},
                         [](std::int64_t sum, const Owner& of) { return sum + of.candidate; });
}

MemoryChange ChangeOfMemory(const MemoryReport& baseline, const MemoryReport& candidate) {
  MemoryChange change;
  for (const auto& [owner, name] : kNames<protocol::MemoryOwner>)
    change.owners.push_back(
        {owner, baseline.moments.back().Resident(owner), candidate.moments.back().Resident(owner)});
  change.same_operators = std::ranges::equal(baseline.operators, candidate.operators, AreTheSame);
  if (!change.same_operators) return change;
  for (std::size_t i = 0; i < baseline.operators.size(); ++i) {
    const CreatedOperator &before = baseline.operators[i], &after = candidate.operators[i];
    if (before.bytes == after.bytes) continue;
    change.operators.push_back({after.NameOrFunction(), before.bytes, after.bytes});
  }
  std::ranges::stable_sort(change.operators, std::ranges::greater(), [](const MemoryChange::Operator& op) {
    return std::abs(op.candidate - op.baseline);
  });
  return change;
}

}  // namespace etprof
