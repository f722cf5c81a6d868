#include "render/cell_value.h"

namespace etprof {
namespace {

struct CellValueVisitor {
  CellValue& result;

  void operator()(const say::Nothing&) {}
  void operator()(const std::string&) { result.kind = CellKind::kText; }
  void operator()(const say::Duration& duration) { SetValue(CellKind::kDuration, duration.ns, "ns"); }
  void operator()(const say::Time& time) { SetValue(CellKind::kTime, time.ns, "ns"); }
  void operator()(const say::PartTime& part) { SetValue(CellKind::kTime, part.ns(), "ns"); }
  void operator()(const say::TimeBounds& bounds) {
    result.kind = CellKind::kInterval;
    result.low = bounds.low_ns;
    result.high = bounds.high_ns;
    result.unit = "ns";
  }
  void operator()(const say::Size& size) { SetValue(CellKind::kSize, size.bytes, "bytes"); }
  void operator()(const say::Count& count) { SetValue(CellKind::kCount, static_cast<double>(count.count)); }
  void operator()(const say::Amount& amount) { SetValue(CellKind::kAmount, amount.amount); }
  void operator()(const say::Number& number) {
    SetValue(CellKind::kNumber, number.value, number.unit);
    result.low = number.low;
    result.high = number.high;
  }
  void operator()(const say::Share& share) { SetValue(CellKind::kShare, share.share); }
  void operator()(const say::Ratio& ratio) { SetValue(CellKind::kRatio, ratio.ratio); }
  void operator()(const say::Change& change) {
    SetValue(CellKind::kChange, change.change);
    result.low = change.low;
    result.high = change.high;
  }
  void operator()(const say::Speedup& speedup) {
    result.kind = CellKind::kSpeedup;
    result.verdict = GetName(speedup.quantity.verdict);
    result.efficiency = speedup.efficiency;
    const std::optional<stats::RatioEstimate> estimate = speedup.quantity.EstimateUnlessEmulated();
    if (!estimate) return;
    result.value = estimate->ratio();
    SetBounds(*estimate);
  }
  void operator()(const say::Interval& interval) {
    result.kind = CellKind::kInterval;
    if (const auto estimate = interval.quantity.EstimateUnlessEmulated()) SetBounds(*estimate);
  }

  void SetValue(CellKind kind, double value, const std::string& unit = "") {
    result.kind = kind;
    result.value = value;
    result.unit = unit;
  }
  void SetBounds(const stats::RatioEstimate& estimate) {
    result.low = estimate.low();
    result.high = estimate.high();
  }
};

}  // namespace

CellValue ValueOf(const say::Cell& cell) {
  CellValue value;
  std::visit(CellValueVisitor{value}, cell.value);
  return value;
}

}  // namespace etprof
