#include "delegates/delegate.h"

// backends/nxp/runtime/NeutronBackend.cpp, NeutronBackend::execute: after the run, one event for each kernel,
// numbered from 0 and without a name, whose times are ticks of the NPU's counter; how long a tick is, the
// file does not say. The last event of a call adds ticks of the host's clock to them: a sum without a meaning
// that could be shown. Their metadata is one byte, the code of the kernel's function.
namespace etprof::delegates {
namespace {

Reading ReadNeutron(const Event& event) {
  if (!event.numbered || event.last) return Read(nullptr, event);
  return {ValueKind::kCycles, "ticks", "kernel " + std::string(event.name)};
}

std::string NeutronMetadata(std::string_view bytes) {
  if (bytes.size() != 1) return "";
  return "function " + std::to_string(static_cast<unsigned char>(bytes.front()));
}

}  // namespace

const Delegate kNeutron = {"NeutronBackend", nullptr, false, ReadNeutron, false, NeutronMetadata};

}  // namespace etprof::delegates
