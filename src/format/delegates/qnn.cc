#include <array>

#include "format/delegates/delegate.h"

// The QNN backend writes events in backends/qualcomm/runtime/backends/QnnProfiler.cpp,
// QnnProfile::ProfileData: the start is 0, and the end is a value. The unit follows the identifier:
// get_event_unit appends " (us)", " (bytes)", or " (count)". It appends nothing for cycles, but HTP's own
// identifiers end with "(cycles)". Events of nodes have no unit from get_event_unit, whether they are µs or
// cycles. The documentation does not say which clock counts the microseconds.
namespace etprof::delegates {
namespace {

struct QnnUnit {
  std::string_view suffix;
  ValueKind kind;
  std::string_view unit;
};
constexpr std::array<QnnUnit, 4> kQnnUnits = {{{" (us)", ValueKind::kDeviceTime, "µs"},
                                               {" (cycles)", ValueKind::kCycles, "cycles"},
                                               {" (bytes)", ValueKind::kBytes, "bytes"},
                                               {" (count)", ValueKind::kCount, "count"}}};

EventMeaning InterpretQnn(const Event& event) {
  for (const QnnUnit& unit : kQnnUnits) {
    if (!event.name.ends_with(unit.suffix)) continue;
    return {unit.kind, unit.unit, std::string(event.name.substr(0, event.name.size() - unit.suffix.size()))};
  }
  return Interpret(nullptr, event);
}

bool IsQnnEvent(const Event& event) {
  return !event.has_integer_id && InterpretQnn(event).kind != ValueKind::kUnknown;
}

}  // namespace

const Delegate kQnn = {.backend = "QnnBackend",
                       .writes = IsQnnEvent,
                       .one_event_identifies_call = true,
                       .interpret = InterpretQnn};

}  // namespace etprof::delegates
