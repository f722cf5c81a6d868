#include <array>

#include "delegates/delegate.h"

// backends/qualcomm/runtime/backends/QnnProfiler.cpp, QnnProfile::ProfileData: start 0 and, instead of the
// end, a value. What it counts stands behind the identifier: get_event_unit puts " (us)", " (bytes)", or
// " (count)" there; of cycles nothing, but HTP's own identifiers end with "(cycles)". The events of nodes
// have no unit of get_event_unit at all, be it µs or cycles. Whose clock counts the microseconds is not said.
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

Reading ReadQnn(const Event& event) {
  for (const QnnUnit& unit : kQnnUnits) {
    if (!event.name.ends_with(unit.suffix)) continue;
    return {unit.kind, unit.unit, std::string(event.name.substr(0, event.name.size() - unit.suffix.size()))};
  }
  return Read(nullptr, event);
}

bool WrittenByQnn(const Event& event) {
  return !event.numbered && ReadQnn(event).kind != ValueKind::kUnknown;
}

}  // namespace

const Delegate kQnn = {"QnnBackend", WrittenByQnn, true, ReadQnn};

}  // namespace etprof::delegates
