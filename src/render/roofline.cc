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
// Rows that the screen shows: those that would save at least this share of the time, but so many at least.
constexpr double kWorthShowing = 0.002;
constexpr std::size_t kTerminalRows = 10;

// Three significant digits, in billions.
std::string Giga(double value) {
  const double giga = value / 1e9;
  return fmt::format("{:.{}f}", giga, giga >= 100 ? 0 : giga >= 10 ? 1 : giga >= 1 ? 2 : 3);
}

// "13.2 [13.0, 13.4]": an amount over the time, billions a second, at the time's interval.
std::string Rate(double amount, const OperatorTime& time) {
  if (amount == 0) return "";
  const auto over = [&](double ns) { return Giga(amount / ns * 1e9); };
  if (!time.low || !time.high) return over(time.ns);
  return fmt::format("{} [{}, {}]", over(time.ns), over(*time.high), over(*time.low));
}

std::string BoundText(const RooflineRow& row) {
  if (row.bound == RooflineRow::Bound::kMemory) return "memory";
  return row.roof_dtype == row.dtype ? "compute" : row.roof_dtype + " compute";
}

// `columns` of a terminal; 0: as wide as it is.
Table TableOf(const ReportExperiment& experiment, std::size_t rows, int columns) {
  constexpr int kRates = 38, kOthers = 44, kLayer = 16, kLeastName = 16;
  const bool rates = columns == 0 || columns >= kOthers + kRates + kLayer + kLeastName;
  const int name_width = std::max(kLeastName, columns - kOthers - kLayer - (rates ? kRates : 0));
  Table table;
  table.columns = {{"operator", Align::kLeft}, {"layer", Align::kLeft}, {"time", Align::kRight}};
  if (rates) {
    table.columns.push_back({"GFLOP/s", Align::kRight});
    table.columns.push_back({"GB/s", Align::kRight});
  }
  table.columns.insert(
      table.columns.end(),
      {{"bound by", Align::kLeft}, {"of roof", Align::kRight}, {"would save", Align::kRight}});
  const Roofline& roofline = *experiment.roofline;
  const TimeScale scale = ScaleFor(roofline.covered_ns, roofline.covered_ns);
  for (std::size_t i = 0; i < std::min(rows, roofline.rows.size()); ++i) {
    const RooflineRow& row = roofline.rows[i];
    const std::string name = experiment.profile->operators[row.op].name;
    const std::string layer = LayerOf(*experiment.profile, row.op).value_or("");
    std::vector<std::string> cells = {columns > 0 ? FittedName(Printable(name), name_width) : name,
                                      columns > 0 ? FittedTail(Printable(layer), kLayer) : layer,
                                      scale.Text(row.time.ns)};
    if (rates) {
      cells.push_back(Rate(static_cast<double>(row.flops()), row.time));
      cells.push_back(Rate(static_cast<double>(row.bytes), row.time));
    }
    cells.insert(cells.end(), {BoundText(row), PercentText(row.share()),
                               row.gap_ns() > 0 ? scale.Text(row.gap_ns()) : std::string("nothing")});
    table.AddRow(std::move(cells));
  }
  return table;
}

std::size_t RowsOnScreen(const Roofline& roofline) {
  const auto small = std::find_if(roofline.rows.begin(), roofline.rows.end(), [&](const RooflineRow& row) {
    return row.gap_ns() < kWorthShowing * roofline.covered_ns;
  });
  const auto worth = static_cast<std::size_t>(small - roofline.rows.begin());
  return std::min(roofline.rows.size(), std::max(worth, kTerminalRows));
}

std::string RestText(const Roofline& roofline, std::size_t shown) {
  double gap = 0;
  for (std::size_t i = shown; i < roofline.rows.size(); ++i) gap += std::max(0.0, roofline.rows[i].gap_ns());
  return fmt::format("{} more would save {} together", roofline.rows.size() - shown,
                     ScaleFor(roofline.covered_ns, roofline.covered_ns).Text(gap));
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
    const std::size_t rows = RowsOnScreen(*experiment.roofline);
    out << '\n';
    WriteWrapped("  ", Printable(experiment.label) + ": " + SummaryText(experiment), 2, options.width, out);
    out << '\n' << TableOf(experiment, rows, options.width - 2).ToText(2);
    if (rows < experiment.roofline->rows.size())
      out << "\n  " << RestText(*experiment.roofline, rows) << " (all of them: --json)\n";
  }
  if (any) return;
  out << '\n';
  WriteWrapped(
      "  ", "Nothing to show: it takes the machine's roofs (a run without --no-peaks) and the .pte that ran.",
      2, options.width, out);
}

void RenderRooflineMarkdown(const Report& report, std::ostream& out) {
  using namespace markdown;
  for (const std::size_t subject : Subjects(report)) {
    const ReportExperiment& experiment = report.experiments[subject];
    if (!experiment.roofline) continue;
    const Roofline& roofline = *experiment.roofline;
    out << "## How far from the machine's limits"
        << (report.experiments.size() > 1 ? ": " + E(experiment.label) : "") << "\n\n"
        << E(SummaryText(experiment)) << "\n\n"
        << TableOf(experiment, kMarkdownRows, 0).ToMarkdown() << '\n';
    if (roofline.rows.size() > kMarkdownRows) out << RestText(roofline, kMarkdownRows) << ". ";
    out << "By what an operator would save at its roof: the lower of compute (the fastest instructions that "
           "the mask allows) and memory (where its tensors fit). A multiply-add is 2 FLOPs.\n\n";
  }
}

}  // namespace etprof
