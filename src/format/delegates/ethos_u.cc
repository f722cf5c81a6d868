#include "format/delegates/delegate.h"

// The Ethos-U backend writes host spans in backends/arm/runtime/EthosUBackend.cpp, EthosUBackend::execute
// (EXECUTORCH_PROF_SCOPE of EthosUBackend_Internal.h). They have no delegate id, like those of the framework.
// The NPU's cycles go to the log, not into the ETDump.
namespace etprof::delegates {
namespace {

bool IsEthosUEvent(const Event& event) {
  std::string_view name = event.name;
  if (name.starts_with('+')) name.remove_prefix(1);
  return !event.has_integer_id && name.starts_with("EthosUBackend::");
}

EventMeaning InterpretEthosU(const Event& event) {
  if (!IsEthosUEvent(event)) return Interpret(nullptr, event);
  return HostTime(event, event.name.find("memcpy") != std::string_view::npos);
}

}  // namespace

const Delegate kEthosU = {.backend = "EthosUBackend",
                          .writes = IsEthosUEvent,
                          .one_event_identifies_call = true,
                          .interpret = InterpretEthosU,
                          .writes_as_framework = true};

}  // namespace etprof::delegates
