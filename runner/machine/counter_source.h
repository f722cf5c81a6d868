#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "protocol/counters.h"

namespace etprof::runner {

// What counts while this process runs.
class CounterSource {
 public:
  virtual ~CounterSource() = default;

  virtual protocol::CounterSourceKind Kind() const = 0;
  virtual std::size_t size() const = 0;
  // Of this process that are counted.
  virtual int threads() const { return 1; }
  // The totals so far: `values` has size() entries, in the order of Open(). Allocates nothing that would be
  // counted.
  virtual void Read(std::uint64_t* values) = 0;
  // Those that are open, and how large a share of the time up to the last Read they counted.
  virtual std::vector<protocol::OpenCounter> Open() const = 0;
  virtual std::vector<protocol::ClosedCounter> Closed() const { return {}; }
};

// Callgrind or QEMU's plugin where this process runs in one (instrumented_counters.h), else the processor's
// counters. Throws Error (kUsage) where Callgrind's counts cannot be read.
std::unique_ptr<CounterSource> MakeCounterSource();

}  // namespace etprof::runner
