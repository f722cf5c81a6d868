#include "format/delegates/delegate.h"

// The VGF backend writes host spans in backends/arm/runtime/VGFBackend.cpp, VGFBackend::execute, and
// VGFSetup.cpp: "VGF_..." and "VGF::...", some of which only carry JSON as metadata. The GPU times go to the
// log (read_timestamp_queries), not into the ETDump.
namespace etprof::delegates {
namespace {

bool IsVgfEvent(const Event& event) {
  return !event.has_integer_id && (event.name.starts_with("VGF_") || event.name.starts_with("VGF::"));
}

EventMeaning InterpretVgf(const Event& event) {
  if (!IsVgfEvent(event)) return Interpret(nullptr, event);
  return HostTime(event, event.name.starts_with("VGF_COPY_") || event.name.ends_with("_copy"));
}

}  // namespace

const Delegate kVgf = {.backend = "VgfBackend",
                       .writes = IsVgfEvent,
                       .one_event_identifies_call = true,
                       .interpret = InterpretVgf};

}  // namespace etprof::delegates
