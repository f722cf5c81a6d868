#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "protocol/counters.h"

namespace etprof::runner {

// A source of event counts of this process, such as the processor's counters.
class CounterSource {
 public:
  virtual ~CounterSource() = default;

  virtual protocol::CounterSourceKind Kind() const = 0;
  virtual std::size_t size() const = 0;
  // The number of threads of this process that are counted.
  virtual int threads() const { return 1; }
  // Reads the totals so far: `values` has size() entries, in the order of AvailableCounters(). Does not
  // allocate, since that would be counted.
  virtual void Read(std::uint64_t* values) = 0;
  // The open counters, and the share of the time up to the last Read in which each counted.
  virtual std::vector<protocol::AvailableCounter> AvailableCounters() const = 0;
  virtual std::vector<protocol::UnavailableCounter> UnavailableCounters() const { return {}; }
};

// Returns Callgrind or QEMU's plugin if this process runs in one of them (instrumented_counters.cc), else the
// processor's counters. Throws Error (kUsage) if Callgrind's counts cannot be read.
std::unique_ptr<CounterSource> MakeCounterSource();

}  // namespace etprof::runner
