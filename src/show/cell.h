#pragma once

#include <concepts>
#include <cstddef>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/json/describe.h"
#include "profile/compare/comparison.h"

namespace etprof {

// The format in which a value is printed.
enum class CellKind {
  kNoValue,   // unknown or undefined: "—"
  kText,      // a text
  kDuration,  // a time in the most readable unit
  kTime,      // a time in its table's unit, which the heading of the first column names; in a text, a time in
              // the document's unit, which follows the number
  kSize,      // bytes
  kCount,     // a whole number
  kAmount,    // with prefixes of powers of 1000: "67.1 M"
  kNumber,    // three significant digits, then bounds (if any) and the unit
  kShare,     // a share of a whole, from 0 to 1
  kRatio,     // "1.84x"
  kChange,    // a relative change: +0.02 is 2% more; the bounds are optional
  kSpeedup,   // how many times faster the candidate is than the baseline, by the verdict: "2.46x", "same", or
              // "—" if inconclusive. With an efficiency (speedup divided by the ratio of the threads):
              // "1.86x, 93%", or "≈1.86x, 93%" if there are too few independent runs for an interval
  kInterval   // the interval of a speedup: "[2.41, 2.50]"; with a unit, the interval of a time in its table's
              // unit: "[3.98, 4.06]"
};

template <>
inline constexpr const char* kNames<CellKind>[] = {"nothing", "text",    "duration", "time",  "size",
                                                   "count",   "amount",  "number",   "share", "ratio",
                                                   "change",  "speedup", "interval"};

namespace show {

// Where a part is shown.
// kBrief: everywhere, including the short form of a page (for a pull request).
// kDefault: on every screen and page; the short form folds such tables.
// kPage: on pages, and on screens with --all.
// kFolded: like kPage, but a page shows it only when it is unfolded.
enum class Visibility { kBrief, kDefault, kPage, kFolded };

// The meaning of a value for readers. Renderers choose a color for each tone.
enum class Tone { kPlain, kGood, kBad, kUnsure, kUnknown };

}  // namespace show

template <>
inline constexpr const char* kNames<show::Visibility>[] = {"brief", "usual", "page", "folded"};
template <>
inline constexpr const char* kNames<show::Tone>[] = {"plain", "good", "bad", "unsure", "unknown"};

namespace show {

// Descriptions of members for JSON (core/json/describe.h) that several structs share.
inline constexpr MemberInfo kVisibilityInfo{
    .meaning =
        "where it is shown: everywhere; on every screen and page (`usual`); on "
        "pages; on a page once it is unfolded"};
inline constexpr MemberInfo kOmittedIfEmpty{.omit_if_empty = true};

// Reads a member; absent if it has its default value, which has no key.
template <typename T, typename Member>
auto UnlessDefault(Member T::*member, std::type_identity_t<Member> default_value) {
  return [=](const T& object) {
    return object.*member == default_value ? std::nullopt : std::optional(object.*member);
  };
}

// A value with its kind, not as text, since each format prints it in its own way.
struct Value {
  CellKind kind = CellKind::kNoValue;
  std::optional<double> value = {}, low = {}, high = {};  // absent: not defined
  std::string unit = {};  // unit of `value` and its bounds: "ns", "bytes", a Number's own; "": no unit
  std::string text = {};
  TimeComparison time_comparison = {};    // only for a speedup or its interval
  std::optional<double> efficiency = {};  // efficiency of a speedup; absent: not a scaling comparison
  // For a time in a text whose unit follows with the next time: "0.565 of 1.086 ms".
  bool unit_follows = false;

  // The name of a speedup's verdict; "" for other values.
  std::string Verdict() const { return kind == CellKind::kSpeedup ? GetName(time_comparison.verdict) : ""; }
};

template <typename T>
concept Arithmetic = std::is_arithmetic_v<T>;  // integers of any width can be counted

template <CellKind kKind>
struct PlainValue : Value {
  explicit PlainValue(Arithmetic auto number) : Value{kKind, static_cast<double>(number)} {
    if (kKind == CellKind::kDuration || kKind == CellKind::kTime) unit = "ns";
    if (kKind == CellKind::kSize) unit = "bytes";
  }
};
using Duration = PlainValue<CellKind::kDuration>;
using Time = PlainValue<CellKind::kTime>;
using Size = PlainValue<CellKind::kSize>;
using Count = PlainValue<CellKind::kCount>;
using Amount = PlainValue<CellKind::kAmount>;
using Share = PlainValue<CellKind::kShare>;
using Ratio = PlainValue<CellKind::kRatio>;
struct PartTime : Value {
  explicit PartTime(double ns) : Value(Time(ns)) { unit_follows = true; }
};
struct TimeBounds : Value {
  TimeBounds(double low_ns, double high_ns) : Value{CellKind::kInterval, {}, low_ns, high_ns, "ns"} {}
};
struct Number : Value {
  using Bound = std::optional<double>;
  Number(double number, std::string number_unit, Bound low_bound = {}, Bound high_bound = {})
      : Value{CellKind::kNumber, number, low_bound, high_bound, std::move(number_unit)} {}
};
struct Change : Value {
  explicit Change(double relative, std::optional<double> low_bound = {},
                  std::optional<double> high_bound = {})
      : Value{CellKind::kChange, relative, low_bound, high_bound} {}
};
struct Interval : Value {
  explicit Interval(const TimeComparison& compared_times)
      : Value{.kind = CellKind::kInterval, .time_comparison = compared_times} {
    const std::optional<stats::RatioEstimate> estimate = compared_times.EstimateUnlessEmulated();
    if (!estimate) return;
    low = estimate->low();
    high = estimate->high();
  }
};
struct Speedup : Interval {
  explicit Speedup(const TimeComparison& compared_times, std::optional<double> scaling_efficiency = {})
      : Interval(compared_times) {
    kind = CellKind::kSpeedup;
    efficiency = scaling_efficiency;
    if (low) value = compared_times.estimate->ratio();
  }
};

struct Cell : Value {
  Tone tone = Tone::kPlain;                      // kPlain: a speedup has the tone of its verdict
  Visibility visibility = Visibility::kDefault;  // kPage: screens show it only with --all
  // In a printed table (show/formats/printed_table.h), the length of the bar from 0 to 1; absent: no bar.
  std::optional<double> bar = {};

  Cell() = default;
  // NOLINTBEGIN(google-explicit-constructor): a row is written as a list of values
  Cell(Value content, Tone cell_tone = Tone::kPlain) : Value(std::move(content)), tone(cell_tone) {}
  template <typename T>
    requires std::constructible_from<std::string, T>
  Cell(T&& content, Tone cell_tone = Tone::kPlain)
      : Value{.kind = CellKind::kText, .text = std::string(std::forward<T>(content))}, tone(cell_tone) {}
  // NOLINTEND(google-explicit-constructor)

  // Describes a printed cell (show/document.h).
  static constexpr const char* kSchemaName = "cell";
  static void Describe(auto& v) {
    v("kind", &Cell::kind,
      {.meaning =
           "`time` and `duration` are times; `change` is relative, `share` of 1; `speedup` and "
           "`interval` are of baseline / candidate, an `interval` with a unit is of a value beside it"});
    v("text", &Cell::text, {.meaning = "as it is printed, with the digits that it has in every format"});
    v("value", &Cell::value,
      {.meaning = "what `text` was made of; no key: it is not defined, or a text",
       .min = kNoMinimum,
       .omit_if_empty = true});
    v("unit", &Cell::unit,
      {.meaning = "of `value`, or of the bounds alone: `ns`, `bytes`, ...", .omit_if_empty = true});
    v("low", &Cell::low, {.meaning = "the bounds of `value`", .min = kNoMinimum, .omit_if_empty = true});
    v("high", &Cell::high,
      {.meaning = "null: no bound", .min = kNoMinimum, .or_null = true, .omit_if_empty = true});
    v("verdict", &Cell::Verdict, kOmittedIfEmpty.WithMeaning("of the interval, on the candidate"));
    v("efficiency", &Cell::efficiency,
      {.meaning = "of a `speedup` over fewer threads: over the ratio of the threads", .omit_if_empty = true});
    v("tone", UnlessDefault(&Cell::tone, Tone::kPlain),
      {.meaning = "how to take it; no key: `plain`", .omit_if_empty = true});
    v("bar", &Cell::bar, {.meaning = "the length of its bar", .min = 0, .omit_if_empty = true});
  }
};

// An optional value as a cell of type `T`; if absent, Nothing (OptionalCell) or an empty cell (CellOrBlank).
template <typename T>
Cell OptionalCell(const auto& value) {
  return value ? Cell(T{*value}) : Cell();
}
template <typename T>
Cell CellOrBlank(const auto& value) {
  return value ? Cell(T{*value}) : Cell("");
}
// A number without a unit as a cell; Nothing if absent.
inline Cell OptionalNumberCell(const std::optional<double>& number) {
  return number ? Cell(Number{*number, ""}) : Cell();
}
// A text as a cell; Nothing if it is "" (unknown).
inline Cell KnownTextCell(const std::string& text) { return text.empty() ? Cell() : Cell(text); }
// The share of `part` in `whole`; Nothing if `whole` is 0.
inline Cell ShareCell(Arithmetic auto part, Arithmetic auto whole) {
  return whole > 0 ? Cell(Share{static_cast<double>(part) / static_cast<double>(whole)}) : Cell();
}
inline bool HasNoValue(const Value& value) { return value.kind == CellKind::kNoValue; }

}  // namespace show
}  // namespace etprof
