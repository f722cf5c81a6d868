#include "render/cell_value.h"

namespace etprof {
namespace {

struct CellValueVisitor {
  CellValue& value_;

  void operator()(const say::Nothing&) {}
  void operator()(const std::string&) { value_.kind = CellKind::kText; }
  void operator()(const say::Duration& duration) { SetValue(CellKind::kDuration, duration.ns, "ns"); }
  void operator()(const say::Time& time) { SetValue(CellKind::kTime, time.ns, "ns"); }
  void operator()(const say::PartTime& part) { SetValue(CellKind::kTime, part.ns(), "ns"); }
  void operator()(const say::TimeBounds& bounds) {
    value_.kind = CellKind::kInterval;
    value_.low = bounds.low_ns;
    value_.high = bounds.high_ns;
    value_.unit = "ns";
  }
  void operator()(const say::Size& size) { SetValue(CellKind::kSize, size.bytes, "bytes"); }
  void operator()(const say::Count& count) { SetValue(CellKind::kCount, static_cast<double>(count.count)); }
  void operator()(const say::Amount& amount) { SetValue(CellKind::kAmount, amount.amount); }
  void operator()(const say::Number& number) {
    SetValue(CellKind::kNumber, number.value, number.unit);
    value_.low = number.low;
    value_.high = number.high;
  }
  void operator()(const say::Share& share) { SetValue(CellKind::kShare, share.share); }
  void operator()(const say::Ratio& ratio) { SetValue(CellKind::kRatio, ratio.ratio); }
  void operator()(const say::Change& change) {
    SetValue(CellKind::kChange, change.change);
    value_.low = change.low;
    value_.high = change.high;
  }
  void operator()(const say::Speedup& speedup) {
    value_.kind = CellKind::kSpeedup;
    value_.verdict = NameOf(speedup.quantity.verdict);
    value_.efficiency = speedup.efficiency;
    const std::optional<stats::RatioEstimate> estimate = speedup.quantity.Told();
    if (!estimate) return;
    value_.value = estimate->ratio();
    SetBounds(*estimate);
  }
  void operator()(const say::Interval& interval) {
    value_.kind = CellKind::kInterval;
    if (const auto estimate = interval.quantity.Told()) SetBounds(*estimate);
  }

  void SetValue(CellKind kind, double value, const std::string& unit = "") {
    value_.kind = kind;
    value_.value = value;
    value_.unit = unit;
  }
  void SetBounds(const stats::RatioEstimate& estimate) {
    value_.low = estimate.low();
    value_.high = estimate.high();
  }
};

}  // namespace

CellValue ValueOf(const say::Cell& cell) {
  CellValue value;
  std::visit(CellValueVisitor{value}, cell.value);
  return value;
}

}  // namespace etprof
