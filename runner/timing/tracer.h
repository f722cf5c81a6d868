#pragma once

#include <executorch/devtools/etdump/etdump_flatcc.h>
#include <executorch/runtime/executor/method.h>

#include <cstdint>
#include <filesystem>
#include <functional>

#include "inference/boundary_recorder.h"
#include "protocol/messages.h"

namespace etprof::runner {

namespace et = executorch::runtime;

// An ETDump writer that reverts the operator clock's factor (operator_clock.h) in XNNPACK's events. Events of
// other backends are unchanged.
//
// XNNPACK's delegate places its operators one after the other from the start of the call (ExecuTorch's
// backends/xnnpack/runtime/profiling/XNNProfiler.cpp), so only the first start of a call is a reading of the
// clock, and every later time is that start plus the scaled durations before it.
class OperatorTracer final : public executorch::etdump::ETDumpGen {
 public:
  void create_event_block(const char* name) override;
  et::EventTracerEntry start_profiling(const char* name, et::ChainID chain_id,
                                       et::DebugHandle debug_handle) override;
  void end_profiling(et::EventTracerEntry entry) override;
  void log_profiling_delegate(const char* name, et::DelegateDebugIntId delegate_debug_index,
                              et_timestamp_t start_time, et_timestamp_t end_time, const void* metadata,
                              std::size_t metadata_len) override;
  et::Result<bool> log_evalue(const et::EValue& value, et::LoggedEValueType type) override;

  // Reports later spans and operators to `recorder` only, without tracing them: the cost of tracing differs
  // between runs, and would be counted. nullptr: trace them again.
  void SetRecorder(BoundaryRecorder* recorder) { recorder_ = recorder; }
  // Calls `on_value` with the outputs of kernels, and with all arguments of a delegate after its call.
  // nullptr stops the calls.
  void SetValueCallback(std::function<void(const et::EValue& value)> on_value);
  // MonotonicNow at the start of the last traced load of a method or traced run; 0 if nothing was traced.
  std::int64_t block_began_ns() const { return block_start_; }
  // Drops all traced events.
  void Clear();

  // Writes the events since the last call as an ETDump file (atomically, by rename), and drops them. Throws
  // Error (kUsage) if nothing was traced, Error (kDeviceFailed) if the file cannot be written.
  protocol::EtdumpReply WriteAndClear(const std::filesystem::path& path);

 private:
  BoundaryRecorder* recorder_ = nullptr;
  std::function<void(const et::EValue& value)> on_value_;
  std::int64_t block_start_ = 0;
  bool is_call_start_ = true;      // the next operator is the first of its delegate call
  et_timestamp_t call_start_ = 0;  // start of the current delegate call
};

// Accesses a private member without changing its class: access is not checked in an explicit instantiation
// ([temp.spec.general]/6). The compiler takes the member's offset from the wheel's headers; if a wheel
// renames the member, this does not compile. A tag declares PointerTo and its type, in this namespace.
template <typename Tag, typename Tag::Pointer member>
struct ExposeMember {
  friend typename Tag::Pointer PointerTo(Tag) { return member; }
};

// Attaches `tracer` to a loaded method, or detaches it with nullptr. ExecuTorch takes the tracer when a
// method is loaded and has no call to change it; a tracer that merely ignores events would leave in every run
// the cost of collecting and naming them (XNNProfiler::end does so whenever there is a tracer), and a second
// copy of the method without a tracer would have another memory layout. So this sets the method's pointer.
void AttachTracer(et::Method& method, et::EventTracer* tracer);

}  // namespace etprof::runner
