#include "timing/tracer.h"

#include <cstdlib>
#include <memory>
#include <string_view>
#include <utility>

#include "core/error.h"
#include "core/file/file.h"
#include "timing/operator_clock.h"

namespace etprof::runner {

struct EventTracerTag {
  using Pointer = et::EventTracer* et::Method::*;
  friend Pointer PointerTo(EventTracerTag);
};
template struct ExposeMember<EventTracerTag, &et::Method::event_tracer_>;

void AttachTracer(et::Method& method, et::EventTracer* tracer) {
  method.*PointerTo(EventTracerTag{}) = tracer;
  if (method.get_event_tracer() != tracer) {
    throw Error(ExitCode::kDeviceFailed,
                "ExecuTorch's Method is not as in the headers that etprof-runner was built with")
        .Remedy("build etprof with the wheel that it runs with");
  }
}

void OperatorTracer::create_event_block(const char* name) {
  is_call_start_ = true;
  block_start_ = MonotonicNow();
  if (recorder_ == nullptr) ETDumpGen::create_event_block(name);
}

et::EventTracerEntry OperatorTracer::start_profiling(const char* name, et::ChainID chain_id,
                                                     et::DebugHandle debug_handle) {
  is_call_start_ = true;  // there is a framework span between any two delegate calls
  if (recorder_ == nullptr) return ETDumpGen::start_profiling(name, chain_id, debug_handle);
  et::EventTracerEntry entry;
  entry.chain_id = chain_id;
  entry.debug_handle = debug_handle;
  if (chain_id == et::kUnsetChainId) {  // as ETDumpGen does
    entry.chain_id = current_chain_id();
    entry.debug_handle = current_debug_handle();
  }
  recorder_->BeginSpan(name, static_cast<std::int64_t>(entry.chain_id),
                       static_cast<std::int64_t>(entry.debug_handle));
  return entry;
}

void OperatorTracer::end_profiling(et::EventTracerEntry entry) {
  is_call_start_ = true;
  if (recorder_ != nullptr) return recorder_->EndSpan();
  ETDumpGen::end_profiling(entry);
}

void OperatorTracer::log_profiling_delegate(const char* name, et::DelegateDebugIntId delegate_debug_index,
                                            et_timestamp_t start_time, et_timestamp_t end_time,
                                            const void* metadata, std::size_t metadata_len) {
  if (HasFastClock(__builtin_return_address(0))) {
    if (is_call_start_) {
      call_start_ = start_time;
      is_call_start_ = false;
    }
    if (recorder_ != nullptr) recorder_->RecordDelegateOperator(name);
    start_time = call_start_ + (start_time - call_start_) / kClockFactor;
    end_time = call_start_ + (end_time - call_start_) / kClockFactor;
  }
  if (recorder_ != nullptr) return;
  // `name` is the operator's. XNNPACK sets no integer id (`delegate_debug_index` is -1, which its header
  // defines as unset).
  ETDumpGen::log_profiling_delegate(name, delegate_debug_index, start_time, end_time, metadata, metadata_len);
}

et::Result<bool> OperatorTracer::log_evalue(const et::EValue& value, et::LoggedEValueType type) {
  if (on_value_ && type == et::LoggedEValueType::kIntermediateOutput) on_value_(value);
  return true;
}

void OperatorTracer::SetValueCallback(std::function<void(const et::EValue& value)> on_value) {
  using Level = et::EventTracerDebugLogLevel;
  on_value_ = std::move(on_value);
  set_event_tracer_debug_level(on_value_ ? Level::kIntermediateOutputs : Level::kNoLogging);
}

void OperatorTracer::Clear() {
  if (get_num_blocks() > 0) std::free(get_etdump_data().buf);
  reset();
  is_call_start_ = true;
}

protocol::EtdumpReply OperatorTracer::WriteAndClear(const std::filesystem::path& path) {
  protocol::EtdumpReply written;
  written.blocks = static_cast<std::int64_t>(get_num_blocks());
  if (written.blocks == 0 && block_start_ == 0) {
    throw Error(ExitCode::kDeviceFailed,
                "this ExecuTorch was built without event tracing: it writes no ETDump")
        .Remedy("use ExecuTorch 1.5 or later");
  }
  if (written.blocks == 0) {
    throw Error(ExitCode::kUsage, "nothing was traced since the last ETDump")
        .Remedy("ask for traced runs first");
  }
  const executorch::etdump::ETDumpResult dump = get_etdump_data();
  const std::unique_ptr<void, decltype(&std::free)> owner(dump.buf, &std::free);
  reset();
  is_call_start_ = true;
  if (dump.buf == nullptr || dump.size == 0) {
    throw Error(ExitCode::kDeviceFailed, "ExecuTorch could not finish the ETDump")
        .Remedy("ask for fewer traced runs");
  }
  written.bytes = static_cast<std::int64_t>(dump.size);
  WriteFileAtomically(path, std::string_view(static_cast<const char*>(dump.buf), dump.size));
  return written;
}

}  // namespace etprof::runner
