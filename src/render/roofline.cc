#include "render/roofline.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/table.h"
#include "render/markdown_text.h"
#include "render/terminal_text.h"
#include "render/wording.h"

namespace etprof {
namespace {

using Align = Table::Align;

constexpr std::size_t kMarkdownRows = 20;

// Three significant digits.
std::string Rate(double per_second, const char* unit) {
  const double giga = per_second / 1e9;
  const int decimals = giga >= 100 ? 0 : giga >= 10 ? 1 : giga >= 1 ? 2 : 3;
  return fmt::format("{:.{}f} {}", giga, decimals, unit);
}

// "13.2 [13.0, 13.4]": the rate at the time's interval.
std::string RateWithInterval(double amount, const OperatorTime& time) {
  if (amount == 0) return "";
  std::string text = Rate(amount / time.ns * 1e9, "");
  text.pop_back();
  if (!time.low || !time.high) return text;
  std::string low = Rate(amount / *time.high * 1e9, "");
  std::string high = Rate(amount / *time.low * 1e9, "");
  low.pop_back();
  high.pop_back();
  return fmt::format("{} [{}, {}]", text, low, high);
}

std::string BoundText(const RooflineRow& row) {
  return row.bound == RooflineRow::Bound::kMemory ? "memory" : row.roof_dtype + " compute";
}

Table TableOf(const ReportExperiment& experiment, std::size_t rows, int name_width) {
  Table table;
  const bool narrow = name_width > 0;
  table.columns = {{"operator", Align::kLeft}, {"layer", Align::kLeft}, {"time", Align::kRight}};
  if (!narrow) {
    table.columns.push_back({"GMAC/s", Align::kRight});
    table.columns.push_back({"GB/s", Align::kRight});
  }
  table.columns.insert(
      table.columns.end(),
      {{"bound by", Align::kLeft}, {"of the roof", Align::kRight}, {"would save", Align::kRight}});
  const Roofline& roofline = *experiment.roofline;
  const TimeScale scale = ScaleFor(experiment.latency.p50.value_or(roofline.covered_ns),
                                   experiment.latency.p50.value_or(roofline.covered_ns));
  for (std::size_t i = 0; i < std::min(rows, roofline.rows.size()); ++i) {
    const RooflineRow& row = roofline.rows[i];
    const std::string name = experiment.profile->operators[row.op].name;
    const std::string layer = LayerOf(*experiment.profile, row.op).value_or("");
    std::vector<std::string> cells = {narrow ? Fitted(Printable(name), name_width) : name,
                                      narrow ? FittedTail(Printable(layer), 16) : layer,
                                      scale.Text(row.time.ns)};
    if (!narrow) {
      cells.push_back(RateWithInterval(static_cast<double>(row.macs), row.time));
      cells.push_back(RateWithInterval(static_cast<double>(row.bytes), row.time));
    }
    cells.insert(cells.end(), {BoundText(row), PercentText(row.share()), scale.Text(row.gap_ns())});
    table.AddRow(std::move(cells));
  }
  return table;
}

std::string SummaryText(const ReportExperiment& experiment) {
  const Roofline& roofline = *experiment.roofline;
  const TimeScale scale = ScaleFor(roofline.covered_ns, roofline.covered_ns);
  std::string text =
      fmt::format("{} operators take {}; at the machine's roofs {}: {} of it.", roofline.rows.size(),
                  scale.Text(roofline.covered_ns), scale.Text(roofline.roof_ns),
                  PercentText(roofline.roof_ns / roofline.covered_ns));
  if (roofline.not_covered_ns >= 0.005 * roofline.covered_ns)
    text += fmt::format(" {} more is in operators whose work is not known or that no roof limits.",
                        scale.Text(roofline.not_covered_ns));
  return text;
}

}  // namespace

void RenderRooflineTerminal(const Report& report, const TerminalOptions& options, std::ostream& out) {
  out << HeaderText(report) << '\n';
  bool any = false;
  for (const ReportExperiment& experiment : report.experiments) {
    if (!experiment.roofline) continue;
    any = true;
    out << "\n  " << Printable(experiment.label) << ": " << SummaryText(experiment) << "\n\n"
        << TableOf(experiment, experiment.roofline->rows.size(), std::max(20, options.width - 76)).ToText(2);
  }
  if (!any) {
    out << "\n  Nothing to show: it takes the machine's roofs (a run without --no-peaks) and the .pte that "
           "ran.\n";
  }
}

void RenderRooflineMarkdown(const Report& report, std::ostream& out) {
  using namespace markdown;
  for (const ReportExperiment& experiment : report.experiments) {
    if (!experiment.roofline) continue;
    out << "## How far from the machine's limits"
        << (report.experiments.size() > 1 ? ": " + E(experiment.label) : "") << "\n\n"
        << E(SummaryText(experiment)) << "\n\n"
        << TableOf(experiment, kMarkdownRows, 0).ToMarkdown() << '\n';
    out << "By what an operator would save at its roof: the lower of compute (the fastest instructions that "
           "the mask allows) and memory "
           "(where its tensors fit). 1 GMAC/s is 2 GFLOP/s.";
    if (experiment.roofline->rows.size() > kMarkdownRows)
      out << fmt::format(" The first {} of {} operators.", kMarkdownRows, experiment.roofline->rows.size());
    out << "\n\n";
  }
}

}  // namespace etprof
