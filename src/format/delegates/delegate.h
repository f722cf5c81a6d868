#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/json/describe.h"

// Knowledge about the events that ExecuTorch's delegates (backends) write into an ETDump. There is one file
// per delegate, which names the file and function of ExecuTorch in which the backend writes them.
namespace etprof {

// The meaning of an event's value. Only host time is summed and compared.
enum class ValueKind : std::uint8_t {
  kHostTime,    // from the clock that also measures Method::execute
  kDeviceTime,  // from another clock with an unknown relation to the host's
  kEstimate,    // not measured: a share of a time, assigned by a model
  kCycles,
  kBytes,
  kCount,
  kUnknown,
};
template <>
inline constexpr const char* kNames<ValueKind>[] = {"host time", "device time", "estimate", "cycles",
                                                    "bytes",     "count",       "unknown"};

}  // namespace etprof

namespace etprof::delegates {

// An event as a delegate writes it.
struct Event {
  std::string_view name;           // name, or the integer id as text
  bool has_integer_id = false;     // the event has an id instead of a name
  bool is_last_of_call = false;    // last event of its delegate call
  std::string_view metadata = {};  // bytes that the delegate attached to the event
};

// The unit and meaning of an event's value, and the name to show for the event.
struct EventMeaning {
  ValueKind kind = ValueKind::kUnknown;
  std::string_view unit;    // unit of end - start in the file: "ns", "µs", "bytes"; "": unknown
  std::string name;         // name to show in reports
  bool moves_data = false;  // host time of copies without computation
};

struct Delegate {
  std::string_view backend;  // the backend's name in programs
  // True if only this delegate writes such an event, so that the event identifies the delegate. Null: the
  // delegate's events cannot be recognized.
  bool (*writes)(const Event& event);
  // True if one recognized event identifies the delegate of the whole call; otherwise all events of the call
  // must be recognized.
  bool one_event_identifies_call;
  EventMeaning (*interpret)(const Event& event);
  bool writes_as_framework = false;  // its events have no delegate id, like ExecuTorch's own events
  // Formats the metadata for reports; "": nothing can be shown. Null: the metadata is text.
  std::string (*metadata)(std::string_view bytes) = nullptr;
  bool names_operators = false;  // its events are named like operators (categories.cc)
};

extern const Delegate kCoreml, kEthosU, kNeutron, kOpenvino, kQnn, kVgf, kVulkan, kXnnpack;
inline constexpr std::array<const Delegate*, 8> kDelegates = {&kXnnpack, &kQnn,    &kCoreml,  &kVulkan,
                                                              &kVgf,     &kEthosU, &kNeutron, &kOpenvino};

// The delegate with this backend name. Null: unknown.
const Delegate* FindDelegate(std::string_view backend);

// The delegates that may have written an event, by their index in kDelegates.
using Writers = std::bitset<kDelegates.size()>;
Writers PossibleWriters(const Event& event);

// Collects the possible writers of a call's events to find its delegate.
class Evidence {
 public:
  void Add(Writers writers);
  // The delegate that wrote the events. Null: they do not identify one with certainty, or identify two.
  const Delegate* Owner() const;
  // Returns whether `delegate` may have written the events: they do not identify another delegate, and if all
  // events of `delegate` can be recognized, at least one of the events was recognized.
  bool MayBeWrittenBy(const Delegate& delegate) const;

 private:
  Writers writers_of_any_;
  Writers writers_of_all_ = Writers().set();
};

// Returns whether a delegate with writes_as_framework writes events of this name.
bool IsDelegateEventName(std::string_view framework_name);

// Interprets an event. `delegate` may be null: then the meaning of its value is unknown.
EventMeaning Interpret(const Delegate* delegate, const Event& event);

// The interpretation of an event whose value is host time.
inline EventMeaning HostTime(const Event& event, bool moves_data = false) {
  return {ValueKind::kHostTime, "ns", std::string(event.name), moves_data};
}

// The parts of the name of a kOpenvino event, "Convolution: aten_convolution_default (brgconv_avx512_f32)".
// Absent if the name has another form.
struct OpenvinoLayer {
  std::string_view type, node, executed;
};
std::optional<OpenvinoLayer> ParseOpenvinoLayer(std::string_view name);

}  // namespace etprof::delegates
