#include "format/delegates/delegate.h"

// The OpenVINO backend (backends/openvino/runtime/OpenvinoBackend.cpp, OpenvinoBackend::execute) writes no
// events, so its call is a single span. But if etprof-runner ran it (runner/openvino/openvino.cc, Named),
// there is one event for each layer that OpenVINO's CPU plugin executed, in order, measured by the host's
// clock. The name "Convolution: aten_convolution_default (brgconv_avx512_f32)" contains the layer's type, the
// node's name, and the implementation. The metadata begins with "OpenVINO" and contains the node's full name.
namespace etprof::delegates {
namespace {

constexpr std::string_view kMetadataPrefix = "OpenVINO ";

bool IsOpenvinoEvent(const Event& event) {
  return !event.has_integer_id && event.metadata.starts_with(kMetadataPrefix);
}

EventMeaning InterpretOpenvino(const Event& event) {
  return IsOpenvinoEvent(event) ? HostTime(event) : Interpret(nullptr, event);
}

std::string OpenvinoMetadata(std::string_view bytes) {
  return std::string(bytes.substr(bytes.starts_with(kMetadataPrefix) ? kMetadataPrefix.size() : 0));
}

}  // namespace

std::optional<OpenvinoLayer> ParseOpenvinoLayer(std::string_view name) {
  const std::size_t colon = name.find(": "), open = name.rfind(" (");
  if (colon == std::string_view::npos || open == std::string_view::npos || open < colon + 2 ||
      !name.ends_with(')'))
    return std::nullopt;
  return OpenvinoLayer{name.substr(0, colon), name.substr(colon + 2, open - colon - 2),
                       name.substr(open + 2, name.size() - open - 3)};
}

const Delegate kOpenvino = {.backend = "OpenvinoBackend",
                            .writes = IsOpenvinoEvent,
                            .one_event_identifies_call = false,
                            .interpret = InterpretOpenvino,
                            .metadata = OpenvinoMetadata,
                            .names_operators = true};

}  // namespace etprof::delegates
