#include "render/cell_value.h"

namespace etprof {
namespace {

struct IntoValue {
  CellValue& into;

  void operator()(const say::Nothing&) {}
  void operator()(const std::string&) { into.kind = CellKind::kText; }
  void operator()(const say::Duration& duration) { Measured(CellKind::kDuration, duration.ns, "ns"); }
  void operator()(const say::Time& time) { Measured(CellKind::kTime, time.ns, "ns"); }
  void operator()(const say::PartTime& part) { Measured(CellKind::kTime, part.ns(), "ns"); }
  void operator()(const say::TimeBounds& bounds) {
    into.kind = CellKind::kInterval;
    into.low = bounds.low_ns;
    into.high = bounds.high_ns;
    into.unit = "ns";
  }
  void operator()(const say::Size& size) { Measured(CellKind::kSize, size.bytes, "bytes"); }
  void operator()(const say::Count& count) { Measured(CellKind::kCount, static_cast<double>(count.count)); }
  void operator()(const say::Amount& amount) { Measured(CellKind::kAmount, amount.amount); }
  void operator()(const say::Number& number) {
    Measured(CellKind::kNumber, number.value, number.unit);
    into.low = number.low;
    into.high = number.high;
  }
  void operator()(const say::Share& share) { Measured(CellKind::kShare, share.share); }
  void operator()(const say::Ratio& ratio) { Measured(CellKind::kRatio, ratio.ratio); }
  void operator()(const say::Change& change) {
    Measured(CellKind::kChange, change.change);
    into.low = change.low;
    into.high = change.high;
  }
  void operator()(const say::Speedup& speedup) {
    into.kind = CellKind::kSpeedup;
    into.verdict = NameOf(speedup.quantity.verdict);
    into.efficiency = speedup.efficiency;
    const std::optional<stats::RatioEstimate> estimate = speedup.quantity.Told();
    if (!estimate) return;
    into.value = estimate->ratio();
    Within(*estimate);
  }
  void operator()(const say::Interval& interval) {
    into.kind = CellKind::kInterval;
    if (const auto estimate = interval.quantity.Told()) Within(*estimate);
  }

  void Measured(CellKind kind, double value, const std::string& unit = "") {
    into.kind = kind;
    into.value = value;
    into.unit = unit;
  }
  void Within(const stats::RatioEstimate& estimate) {
    into.low = estimate.low();
    into.high = estimate.high();
  }
};

}  // namespace

CellValue ValueOf(const say::Cell& cell) {
  CellValue value;
  std::visit(IntoValue{value}, cell.value);
  return value;
}

}  // namespace etprof
