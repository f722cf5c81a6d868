#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "protocol/memory_owners.h"

namespace etprof {

// What one experiment holds more or less in memory than another, bytes.
struct MemoryChange {
  struct Owner {
    protocol::MemoryOwner owner;
    std::int64_t baseline = 0, candidate = 0;  // resident
  };
  struct Operator {
    std::string name;
    std::int64_t baseline = 0, candidate = 0;  // allocated when it was created
  };
  std::vector<Owner> owners;        // all, in the order of the enumeration; of the last moment
  std::vector<Operator> operators;  // that differ, the largest difference first
  // Both created the same operators, one by one; else `operators` is empty.
  bool same_operators = false;

  std::int64_t Baseline() const;
  std::int64_t Candidate() const;
};

MemoryChange ChangeOfMemory(const protocol::MemoryReport& baseline, const protocol::MemoryReport& candidate);

}  // namespace etprof
