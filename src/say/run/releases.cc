#include <algorithm>
#include <cmath>

#include "say/run/report.h"
#include "say/run/report_parts.h"
#include "say/wording.h"

namespace etprof::say {
namespace {

// Outputs in fp32 that differ by at most this share of the largest output differ by rounding: sums of
// products in another order.
constexpr double kMaxRounding = 1e-5;

std::string OutputsText(const Report& report, const ReportComparison& pair) {
  const auto digests_of = [&](std::size_t experiment) -> const std::vector<protocol::OutputDigest>& {
    return report.run.experiments[report.experiments[experiment].index].output_digests;
  };
  if (!pair.outputs || digests_of(pair.baseline).empty() || digests_of(pair.candidate).empty()) return "";
  if (pair.outputs->equal) return "equal";
  double largest = 0;
  bool fp32 = true;
  for (const protocol::OutputDigest& output : digests_of(pair.candidate)) {
    largest = std::max({largest, std::abs(output.min.value_or(0)), std::abs(output.max.value_or(0))});
    fp32 = fp32 && output.info.dtype == "Float";
  }
  const auto& difference = pair.outputs->largest_absolute;
  return fp32 && difference && *difference <= kMaxRounding * largest ? "rounding" : "different";
}

// A release, and the pair that compares it with the one before it.
struct ReleaseRow {
  const ReportExperiment& of;
  const ReportComparison* pair = nullptr;  // null: there is none before it
};

}  // namespace

bool HasReleaseTable(const Report& report) {
  return std::ranges::count(report.comparisons, true, &ReportComparison::releases) > 1 &&
         report.matrices.empty();
}

std::vector<Section> MakeReleaseSections(const Report& report) {
  if (!HasReleaseTable(report)) return {};
  std::vector<ReleaseRow> rows;
  for (std::size_t i = 0; i < report.experiments.size(); ++i) {
    rows.push_back({report.experiments[i]});
    for (const ReportComparison& pair : report.comparisons) {
      if (pair.releases && pair.candidate == i) rows.back().pair = &pair;
    }
  }
  const auto of_pair = [](const auto& cell_of) {
    return [=](const ReleaseRow& row) { return row.pair == nullptr ? Cell("") : Cell(cell_of(*row.pair)); };
  };
  const auto change = [&](StartupCost StartupCosts::*cost) {
    return of_pair(
        [=](const ReportComparison& pair) { return KnownTextCell(CostVerdict(pair.costs.*cost)); });
  };
  const auto latency = [](const ReportComparison& pair) -> const Quantity& {
    return pair.comparison.latency;
  };
  Table table{.id = "releases", .title = "Releases", .level = Level::kBrief, .span = LatencySpan(report)};
  table.Fill<ReleaseRow>(
      {{Left("release").WithKeptPart(Table::KeptPart::kDifference),
        [](const ReleaseRow& row) { return row.of.label; }},
       {Right("median"), [](const ReleaseRow& row) { return OptionalCell<Time>(row.of.latency.p50); }},
       {Right("speedup", "").Decides(),
        of_pair([=](const ReportComparison& pair) { return Speedup{latency(pair)}; })},
       {Left("interval", "95% CI").WithLevel(Level::kPage),
        of_pair([=](const ReportComparison& pair) { return Interval{latency(pair)}; })},
       {Right("first_inference", "first"),
        [](const ReleaseRow& row) { return OptionalCell<Time>(row.of.first_run); }},
       {Right("first_change", ""), change(&StartupCosts::first_run)},
       {Right("load"), [](const ReleaseRow& row) { return OptionalCell<Time>(row.of.load); }},
       {Right("load_change", ""), change(&StartupCosts::load)},
       {Right("peak_memory", "memory"),
        [&](const ReleaseRow& row) {
          return OptionalCell<Size>(report.run.experiments[row.of.index].PeakSinceLoad());
        }},
       {Right("memory_change", ""), change(&StartupCosts::peak_memory)},
       {Left("outputs").Decides(),
        of_pair([&](const ReportComparison& pair) { return KnownTextCell(OutputsText(report, pair)); })}},
      rows);
  return {
      {"Releases, each compared with the one before it",
       Level::kBrief,
       {std::move(table),
        Paragraph{"Wheels, not an app's own build. Memory: the peak, less what the process held before it "
                  "loaded the model, which is above all the libraries."},
        Paragraph{"The false discovery rate of the latencies is controlled over all releases. Outputs: "
                  "\"rounding\" is a difference of at most 1e-5 of the largest output in fp32. " +
                      UndefinedText(report),
                  Level::kPage}}}};
}

}  // namespace etprof::say
