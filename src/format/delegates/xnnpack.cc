#include "format/delegates/delegate.h"
#include "format/xnnpack/operator_name.h"

// The XNNPACK backend writes events in backends/xnnpack/runtime/profiling/XNNProfiler.cpp, submit_trace: one
// event per operator, with XNNPACK's name followed by its number. Durations are measured by XNNPACK with the
// host's clock; the starts are computed by adding the durations to the start of the call. Newer versions add
// metadata: the microkernel's name, a NUL, and its microseconds as text.
namespace etprof::delegates {
namespace {

bool IsXnnpackEvent(const Event& event) {
  const auto name = xnnpack::ParseOperatorName(event.name);
  if (!name || event.has_integer_id) return false;
  // Only XNNPACK numbers its operators. Older versions write no number, but a layout or data types in
  // parentheses.
  return name->number || !name->data_types.empty() ||
         (!name->layout.empty() && name->layout.find_first_not_of("NCDHW") == std::string::npos);
}

EventMeaning InterpretXnnpack(const Event& event) { return HostTime(event); }

std::string XnnpackMetadata(std::string_view bytes) {
  const std::size_t end = bytes.find('\0');
  if (end == std::string_view::npos) return std::string(bytes);
  std::string text(bytes.substr(0, end));
  if (end + 1 < bytes.size()) text += (text.empty() ? "" : ", ") + std::string(bytes.substr(end + 1)) + " µs";
  return text;
}

}  // namespace

const Delegate kXnnpack = {.backend = "XnnpackBackend",
                           .writes = IsXnnpackEvent,
                           .one_event_identifies_call = false,
                           .interpret = InterpretXnnpack,
                           .metadata = XnnpackMetadata,
                           .names_operators = true};

}  // namespace etprof::delegates
