#pragma once

#include <optional>
#include <string>

#include "core/json/describe.h"
#include "say/document.h"

namespace etprof {

enum class CellKind {
  kNothing,
  kText,
  kDuration,
  kTime,
  kSize,
  kCount,
  kAmount,
  kNumber,
  kShare,
  kRatio,
  kChange,
  kSpeedup,
  kInterval
};
template <>
inline constexpr NamedValue<CellKind> kNames<CellKind>[] = {
    {CellKind::kNothing, "nothing"},  {CellKind::kText, "text"},     {CellKind::kDuration, "duration"},
    {CellKind::kTime, "time"},        {CellKind::kSize, "size"},     {CellKind::kCount, "count"},
    {CellKind::kAmount, "amount"},    {CellKind::kNumber, "number"}, {CellKind::kShare, "share"},
    {CellKind::kRatio, "ratio"},      {CellKind::kChange, "change"}, {CellKind::kSpeedup, "speedup"},
    {CellKind::kInterval, "interval"}};

// A cell of a document as data, for formats that other programs read.
struct CellValue {
  CellKind kind = CellKind::kNothing;
  std::optional<double> value, low, high;  // absent: not defined
  std::string unit;     // unit of `value` and its bounds: "ns", "bytes", a Number's own; "": none
  std::string verdict;  // of a speedup; "": not a speedup
  std::optional<double> efficiency;  // of a speedup: divided by the ratio of the thread counts; absent: not a
                                     // scaling comparison
};

CellValue ValueOf(const say::Cell& cell);

}  // namespace etprof
