#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "inference/model.h"
#include "protocol/memory_owners.h"

namespace etprof::runner {

// While one is alive, XNNPACK's calls of the allocator, and of its own functions that create, reshape, and
// run operators, go through this program: so that each block that it allocates has an owner. It must be there
// before the model is loaded. At its end every call leads where it led before, and what is allocated stays.
// One at a time, and none beside a Watch, with which it shares the trampolines.
class MemoryWatch {
 public:
  // Throws Error (kDeviceFailed) that says why memory cannot be told apart here.
  MemoryWatch();
  ~MemoryWatch();
  MemoryWatch(MemoryWatch&&) = delete;

  // What the process holds now. Throws Error (kDeviceFailed) where the system does not tell.
  protocol::MemoryMoment Now(std::string at, const Model& model) const;
  // The operators that were created, with what they have allocated so far.
  std::vector<protocol::CreatedOperator> Created() const;
  // The delegates that were created, in their order, with the workspaces that they use now. Empty where
  // XNNPACK makes them in another way.
  std::vector<protocol::DelegateMemory> Delegates() const;
  // What the load of `model`, which began after this, took its time for. Absent where the parts would be
  // more than the whole.
  std::optional<protocol::LoadTimes> Load(const Model& model) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace etprof::runner
