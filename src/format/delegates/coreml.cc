#include "format/delegates/delegate.h"

// Core ML writes events in backends/apple/coreml/runtime/sdk/model_event_logger_impl.mm,
// ModelEventLoggerImpl::log_profiling_infos, with the times of ETCoreMLModelProfiler.mm,
// get_profiling_infos_for_paths: the host time of the whole model, multiplied by the estimated cost of each
// operator in the compute plan. So no operator is measured, and a wrong estimate looks as certain as any
// other. Names are those of the model's symbols, or "output:operator". Only the metadata
// (ETCoreMLOperationProfilingInfo.mm, get_metadata: JSON) is specific to Core ML.
namespace etprof::delegates {
namespace {

bool IsCoremlEvent(const Event& event) {
  return event.metadata.find("\"preferredComputeUnit\"") != std::string_view::npos &&
         event.metadata.find("\"estimatedCost\"") != std::string_view::npos;
}

EventMeaning InterpretCoreml(const Event& event) {
  return {ValueKind::kEstimate, "ns", std::string(event.name)};
}

}  // namespace

const Delegate kCoreml = {.backend = "CoreMLBackend",
                          .writes = IsCoremlEvent,
                          .one_event_identifies_call = true,
                          .interpret = InterpretCoreml};

}  // namespace etprof::delegates
