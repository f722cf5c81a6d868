#include "delegates/delegate.h"

// backends/apple/coreml/runtime/sdk/model_event_logger_impl.mm, ModelEventLoggerImpl::log_profiling_infos,
// with the times of ETCoreMLModelProfiler.mm, get_profiling_infos_for_paths: the time of the whole model, by
// the host's clock, times the compute plan's estimated cost of each operator. So no operator is measured, and
// one that Core ML estimates badly looks as certain as any other. Names are those of the model's symbols, or
// "output:operator"; only the metadata (ETCoreMLOperationProfilingInfo.mm, get_metadata: JSON) is Core ML's
// alone.
namespace etprof::delegates {
namespace {

bool WrittenByCoreml(const Event& event) {
  return event.metadata.find("\"preferredComputeUnit\"") != std::string_view::npos &&
         event.metadata.find("\"estimatedCost\"") != std::string_view::npos;
}

Reading ReadCoreml(const Event& event) { return {ValueKind::kEstimate, "ns", std::string(event.name)}; }

}  // namespace

const Delegate kCoreml = {"CoreMLBackend", WrittenByCoreml, true, ReadCoreml};

}  // namespace etprof::delegates
