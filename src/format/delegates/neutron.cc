#include "format/delegates/delegate.h"

// The Neutron backend writes events in backends/nxp/runtime/NeutronBackend.cpp, NeutronBackend::execute:
// after the run, one event per kernel, numbered from 0 and without a name. Their times are ticks of the NPU's
// counter of unknown length. The last event of a call is the sum of such ticks and ticks of the host's clock,
// which is meaningless. The metadata is one byte, the code of the kernel's function.
namespace etprof::delegates {
namespace {

EventMeaning InterpretNeutron(const Event& event) {
  if (!event.has_integer_id || event.is_last_of_call) return Interpret(nullptr, event);
  return {ValueKind::kCycles, "ticks", "kernel " + std::string(event.name)};
}

std::string NeutronMetadata(std::string_view bytes) {
  if (bytes.size() != 1) return "";
  return "function " + std::to_string(static_cast<unsigned char>(bytes.front()));
}

}  // namespace

const Delegate kNeutron = {.backend = "NeutronBackend",
                           .writes = nullptr,
                           .one_event_identifies_call = false,
                           .interpret = InterpretNeutron,
                           .metadata = NeutronMetadata};

}  // namespace etprof::delegates
