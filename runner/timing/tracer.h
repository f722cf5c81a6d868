#pragma once

#include <executorch/devtools/etdump/etdump_flatcc.h>
#include <executorch/runtime/executor/method.h>

#include <cstdint>
#include <filesystem>

#include "inference/boundary_recorder.h"

namespace etprof::runner {

// An ETDump writer that undoes the operator clock's factor (operator_clock.h) in what XNNPACK reports. What
// other backends report passes unchanged.
//
// XNNPACK's delegate strings its operators together from the moment at which the call began (ExecuTorch's
// backends/xnnpack/runtime/profiling/XNNProfiler.cpp), so only the first start of a call is a reading of the
// clock, and every later time is that start plus the scaled durations before it.
class OperatorTracer final : public executorch::etdump::ETDumpGen {
 public:
  void create_event_block(const char* name) override;
  executorch::runtime::EventTracerEntry start_profiling(
      const char* name, executorch::runtime::ChainID chain_id,
      executorch::runtime::DebugHandle debug_handle) override;
  void end_profiling(executorch::runtime::EventTracerEntry entry) override;
  void log_profiling_delegate(const char* name, executorch::runtime::DelegateDebugIntId delegate_debug_index,
                              et_timestamp_t start_time, et_timestamp_t end_time, const void* metadata,
                              std::size_t metadata_len) override;

  // From now on `recorder` alone is told of the spans and operators of the runs, and nothing is traced: what
  // that takes differs from run to run, which would be counted. nullptr: they are traced.
  void Tell(BoundaryRecorder* recorder) { recorder_ = recorder; }
  // MonotonicNow when the last load of a method or run began to be traced; 0: none has.
  std::int64_t block_began_ns() const { return block_began_; }
  // Drops what was traced.
  void Forget();

  struct Written {
    std::int64_t blocks = 0;
    std::int64_t bytes = 0;
  };
  // Writes everything traced since the last call, as an ETDump file (by rename), and forgets it.
  // Throws Error (kUsage) when nothing was traced, (kDeviceFailed) when the file cannot be written.
  Written WriteAndForget(const std::filesystem::path& path);

 private:
  BoundaryRecorder* recorder_ = nullptr;
  std::int64_t block_began_ = 0;
  bool call_began_ = true;         // the next operator is the first of its delegate call
  et_timestamp_t call_start_ = 0;  // of the current delegate call
};

// Attaches `tracer` to a loaded method, or detaches it with nullptr. ExecuTorch takes the tracer when a
// method is loaded and has no call to change it; a tracer that merely ignores events would leave in every run
// the cost of collecting and naming them (XNNProfiler::end does so whenever there is a tracer), and a second
// copy of the method without one would have another memory layout. So the method's own pointer is set.
void AttachTracer(executorch::runtime::Method& method, executorch::runtime::EventTracer* tracer);

}  // namespace etprof::runner
