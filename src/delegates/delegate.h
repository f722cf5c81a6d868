#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/json/describe.h"

// What the delegates (backends) of ExecuTorch write into an ETDump: one file for each, which says in which
// file and function of ExecuTorch the backend writes it.
namespace etprof {

// What the number of an event is. Only host time is added up, compared, and judged.
enum class ValueKind : std::uint8_t {
  kHostTime,    // read from the clock that Method::execute is read from
  kDeviceTime,  // read from another clock, whose relation to the host's is not known
  kEstimate,    // not measured: a model's share of a time
  kCycles,
  kBytes,
  kCount,
  kUnknown,
};
template <>
inline constexpr NamedValue<ValueKind> kNames<ValueKind>[] = {
    {ValueKind::kHostTime, "host time"}, {ValueKind::kDeviceTime, "device time"},
    {ValueKind::kEstimate, "estimate"},  {ValueKind::kCycles, "cycles"},
    {ValueKind::kBytes, "bytes"},        {ValueKind::kCount, "count"},
    {ValueKind::kUnknown, "unknown"}};

}  // namespace etprof

namespace etprof::delegates {

// An event as a delegate wrote it.
struct Event {
  std::string_view name;           // of an event without a name: its integer id as text
  bool numbered = false;           // it has an integer id
  bool last = false;               // no event of its delegate's call comes after it
  std::string_view metadata = {};  // the bytes that the delegate added to it
};

// An event as it is read.
struct Reading {
  ValueKind kind = ValueKind::kUnknown;
  std::string_view unit;    // of end - start, as the file has it: "ns", "µs", "bytes"; "": not known
  std::string name;         // for people
  bool moves_data = false;  // of host time: it copies, and computes nothing
};

struct Delegate {
  std::string_view backend;  // as programs name it
  // Whether nobody but this delegate writes such an event: how it is recognized without the program. Null:
  // never.
  bool (*writes)(const Event& event);
  // Whether one such event tells whose the whole call is; else every event of the call must be one.
  bool one_is_enough;
  Reading (*read)(const Event& event);
  bool writes_as_framework = false;  // its events have no delegate's id, as those of ExecuTorch itself
  // What its metadata says to people; "": nothing that can be shown. Null: it is text.
  std::string (*metadata)(std::string_view bytes) = nullptr;
  bool names_operators = false;  // the table of categories knows the names of its events
};

extern const Delegate kCoreml, kEthosU, kNeutron, kOpenvino, kQnn, kVgf, kVulkan, kXnnpack;
inline constexpr std::array<const Delegate*, 8> kDelegates = {&kXnnpack, &kQnn,    &kCoreml,  &kVulkan,
                                                              &kVgf,     &kEthosU, &kNeutron, &kOpenvino};

// That of a backend of a program. Null: none that is known.
const Delegate* OfBackend(std::string_view backend);

// Who may have written an event, by their places in kDelegates.
using Writers = std::bitset<kDelegates.size()>;
Writers WritersOf(const Event& event);

// Whose the events of a call are.
class Evidence {
 public:
  void Add(Writers writers);
  // Null: the events do not tell it with certainty, or tell of two.
  const Delegate* Owner() const;
  // Whether `delegate` may have written them: they tell of no other, and one is like its own where all of its
  // own can be told.
  bool MayBeOf(const Delegate& delegate) const;

 private:
  Writers any_;
  Writers all_ = Writers().set();
};

// Whether a delegate that writes_as_framework wrote it.
bool IsDelegatesOwn(std::string_view framework_name);

// `delegate` may be null: what the event counts is unknown then.
Reading Read(const Delegate* delegate, const Event& event);

// "Convolution: aten_convolution_default (brgconv_avx512_f32)", as kOpenvino's events are named; nullopt:
// another name.
struct OpenvinoLayer {
  std::string_view type, node, executed;
};
std::optional<OpenvinoLayer> ParseOpenvinoLayer(std::string_view name);

}  // namespace etprof::delegates
