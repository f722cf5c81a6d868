#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "inference/model.h"
#include "protocol/watch.h"

namespace etprof::runner {

// While an object lives, XNNPACK's calls of the allocator, and of its own functions that create, reshape, and
// run operators, go through this program, so that each block that XNNPACK allocates has an owner. Create the
// object before the model is loaded. The destructor restores all calls; allocated blocks stay. Only one
// object may exist at a time, and not together with a Watch, with which it shares the trampolines.
class MemoryWatch {
 public:
  // Throws Error (kDeviceFailed) with the reason if the owners of memory cannot be determined here.
  MemoryWatch();
  ~MemoryWatch();
  MemoryWatch(MemoryWatch&&) = delete;

  // The memory that the process holds now. Throws Error (kDeviceFailed) if the system does not report it.
  protocol::MemorySnapshot TakeSnapshot(std::string at, const Model& model) const;
  // The created operators, with the memory that they have allocated so far.
  std::vector<protocol::CreatedOperator> CreatedOperators() const;
  // The created delegates, in order, with their current workspaces. Empty if XNNPACK creates them in another
  // way.
  std::vector<protocol::DelegateMemory> Delegates() const;
  // The parts of the load time of `model`, which was loaded after this object was created. Absent if the
  // parts add up to more than the load time.
  std::optional<protocol::LoadTimes> ReadLoadTimes(const Model& model) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace etprof::runner
