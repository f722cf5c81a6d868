#include <fmt/format.h>

#include <algorithm>

#include "core/units.h"
#include "show/subjects/run/report_parts.h"

namespace etprof::show {
namespace {

constexpr std::size_t kLetteredRows = 10, kPageRows = 20;
constexpr int kLayerColumns = 16;

// The rate in billions per second, with bounds from the time's interval.
Cell RateCell(double amount, const OperatorTime& time) {
  if (amount == 0) return std::string();
  Number rate{amount / time.ns, ""};
  if (time.low && time.high) {
    rate.low = amount / *time.high;
    rate.high = amount / *time.low;
  }
  return rate;
}

std::string BoundText(const RooflineRow& row) {
  if (row.bound == RooflineRow::Bound::kMemory) return "memory";
  return row.ceiling_dtype == row.dtype ? "compute" : row.ceiling_dtype + " compute";
}

Table MakeRooflineTable(const ReportExperiment& experiment) {
  const Roofline& roofline = *experiment.roofline;
  Table table{
      .id = "roofline",
      .columns = {
          NameColumn("operator"),
          Left("layer").WithDropPriority(4).WithBeginningTruncated().WithMaxWidth(kLayerColumns),
          Right("time"), Right("gflop_per_s", "GFLOP/s").WithDropPriority(2),
          Right("gb_per_s", "GB/s").WithDropPriority(1), Left("bound_by", "bound by").WithDropPriority(3),
          Right("share_of_roofline", "% of roofline"), Right("potential_saving", "potential saving")}};
  table.columns.back().has_hidden_sum = true;
  table.screen_rows = kPageRows;
  table.time_range = {roofline.covered_ns, roofline.covered_ns};
  for (const RooflineRow& row : roofline.rows) {
    table.AddRow(experiment.profile->operators[row.op].name,
                 LayerName(*experiment.profile, row.op).value_or(""), Time{row.time.ns},
                 RateCell(static_cast<double>(row.flops()), row.time),
                 RateCell(static_cast<double>(row.bytes), row.time), BoundText(row), Share{row.share()},
                 Time{std::max(0.0, row.gap_ns())});
    if (table.rows.size() > kLetteredRows) table.rows.back().visibility = Visibility::kPage;
  }
  return table;
}

RooflineChart MakeRooflineChart(const Roofline& roofline) {
  RooflineChart chart{"FLOP/B", "FLOP/s", {}, {}, kLetteredRows};
  for (const RooflineCeiling& ceiling : roofline.ceilings) {
    if (ceiling.per_second <= 0) continue;
    if (ceiling.kind == RooflineCeiling::Kind::kMemory) {
      chart.lines.push_back({.is_horizontal = false, .y = ceiling.per_second, .name = ceiling.name});
      continue;
    }
    const double flops = 2 * ceiling.per_second;
    const bool use_tera = flops >= 999.5e9;
    chart.lines.push_back({.is_horizontal = true,
                           .y = flops,
                           .name = fmt::format("{} {:.3g} {}", ceiling.name, flops / (use_tera ? 1e12 : 1e9),
                                               use_tera ? "T" : "G")});
  }
  for (const RooflineRow& row : roofline.rows) {
    auto& point = chart.points.emplace_back();
    if (row.flops() > 0 && row.bytes > 0 && row.time.ns > 0) point = {row.intensity(), 2 * row.macs_per_s()};
  }
  const auto missing_points = std::ranges::count_if(chart.points, [](const auto& point) { return !point; });
  if (missing_points > 0) {
    chart.note = CountedText(missing_points, "operator without MACs is", "operators without MACs are") +
                 " not in the plot";
  }
  return chart;
}

Text RooflineText(const Roofline& roofline) {
  Text text = FormatText("{} {}. At {} would take {} ({}).",
                         CountedText(roofline.rows.size(), "operator takes", "operators take"),
                         Time{roofline.covered_ns},
                         roofline.rows.size() == 1 ? "its roofline it" : "their rooflines they",
                         Time{roofline.ceiling_ns}, Share{roofline.ceiling_ns / roofline.covered_ns});
  if (roofline.not_covered_ns >= 0.005 * roofline.covered_ns) {
    text += FormatText(" Not modeled: {} (operators with unknown work, or without a roof).",
                       Time{roofline.not_covered_ns});
  }
  return text;
}

}  // namespace

std::vector<Section> MakeRooflineSections(const Report& report) {
  const std::vector<std::size_t> subjects = FindSubjects(report);
  const bool has_subject = std::ranges::any_of(
      subjects, [&](std::size_t subject) { return report.experiments[subject].roofline.has_value(); });
  std::vector<Section> sections;
  for (std::size_t i = 0; i < report.experiments.size(); ++i) {
    const ReportExperiment& experiment = report.experiments[i];
    const bool is_highlighted = !has_subject || std::ranges::find(subjects, i) != subjects.end();
    if (!experiment.roofline || (!is_highlighted && report.ladder)) continue;
    const Roofline& roofline = *experiment.roofline;
    sections.push_back(
        {report.experiments.size() > 1 ? "Roofline: " + experiment.label : "Roofline",
         is_highlighted ? Visibility::kPage : Visibility::kFolded,
         {Paragraph{RooflineText(roofline)}, MakeRooflineChart(roofline), MakeRooflineTable(experiment),
          Paragraph{"Sorted by the potential saving: what an operator would save at its roofline, the lower "
                    "of compute (the fastest instructions that the mask allows) and memory (where its "
                    "tensors fit). A multiply-add is 2 FLOPs.",
                    Visibility::kPage}}});
  }
  return sections;
}

}  // namespace etprof::show
