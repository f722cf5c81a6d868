#include <algorithm>
#include <cmath>
#include <set>

#include "show/subjects/run/report.h"
#include "show/subjects/run/report_parts.h"
#include "show/wording.h"

namespace etprof::show {
namespace {

// Outputs in fp32 that differ by at most this share of the largest output differ by rounding: sums of
// products in another order.
constexpr double kMaxRounding = 1e-5;

std::string OutputsText(const Report& report, const ReportComparison& pair) {
  const auto output_digests = [&](std::size_t experiment) -> const std::vector<protocol::OutputDigest>& {
    return report.DataAt(experiment).output_digests;
  };
  if (!pair.outputs || output_digests(pair.baseline).empty() || output_digests(pair.candidate).empty())
    return "";
  if (pair.outputs->equal) return "equal";
  double largest = 0;
  bool is_fp32 = true;
  for (const protocol::OutputDigest& output : output_digests(pair.candidate)) {
    largest = std::max({largest, std::abs(output.min.value_or(0)), std::abs(output.max.value_or(0))});
    is_fp32 = is_fp32 && output.info.dtype == "Float";
  }
  const auto& difference = pair.outputs->largest_absolute;
  return is_fp32 && difference && *difference <= kMaxRounding * largest ? "rounding" : "different";
}

// Shows the effects of the exporter and of the runtime, for pairs in which each release ran its own export.
Table MakeEffectsTable(const Report& report) {
  std::vector<const ReportComparison*> pairs;
  for (const ReportComparison& pair : report.comparisons) {
    if (pair.ran_own_exports) pairs.push_back(&pair);
  }
  using Pair = const ReportComparison* const&;
  // If both releases ran the same program, the runtime alone changes the latency.
  const auto runtime_effect = [](Pair pair) -> const TimeComparison& {
    return pair->effects ? pair->effects->runtime : pair->comparison.latency;
  };
  const auto export_changed = [&](Pair pair) {
    return report.DataAt(pair->baseline).model_sha256 != report.DataAt(pair->candidate).model_sha256;
  };
  const auto effect_cell = [](const auto& make_cell) {
    return [=](Pair pair) { return pair->effects ? Cell(make_cell(*pair->effects)) : Cell(); };
  };
  Table table{.id = "release_effects", .title = "Exporter or runtime", .visibility = Visibility::kBrief};
  table.Fill<const ReportComparison*>(
      {{Left("release").WithDifferenceKept(), [](Pair pair) { return pair->comparison.candidate_label; }},
       {Left("export"), [=](Pair pair) { return export_changed(pair) ? "changed" : "unchanged"; }},
       {Right("exporter").NeverDropped(),
        effect_cell([](const ReleaseEffects& effects) { return Speedup{effects.exporter}; })},
       {Left("exporter_interval", "95% CI"),
        effect_cell([](const ReleaseEffects& effects) { return Interval{effects.exporter}; })},
       {Right("runtime").NeverDropped(),
        [=](Pair pair) {
          return export_changed(pair) && !pair->effects ? Cell() : Cell(Speedup{runtime_effect(pair)});
        }},
       {Left("runtime_interval", "95% CI"),
        [=](Pair pair) {
          return export_changed(pair) && !pair->effects ? Cell() : Cell(Interval{runtime_effect(pair)});
        }},
       {Left("interaction", "interaction, 95% CI").WithVisibility(Visibility::kPage),
        effect_cell([](const ReleaseEffects& effects) { return Interval{effects.interaction}; })}},
      pairs);
  return table;
}

// A release, and the pair that compares it with the release before it.
struct ReleaseRow {
  const ReportExperiment& release;
  const ReportComparison* pair = nullptr;  // null: the first release
};

}  // namespace

bool HasReleaseTable(const Report& report) {
  // The table is worth its space for several pairs, and for a pair whose releases each ran their own export.
  return (std::ranges::count(report.comparisons, true, &ReportComparison::differs_in_release) > 1 ||
          std::ranges::any_of(report.comparisons, &ReportComparison::ran_own_exports)) &&
         report.matrices.empty();
}

std::vector<Section> MakeReleaseSections(const Report& report) {
  if (!HasReleaseTable(report)) return {};
  // Experiments in which a release ran the export of another release.
  std::set<std::size_t> cross_experiments;
  for (const ReportComparison& pair : report.comparisons) {
    if (pair.effects) cross_experiments.insert({pair.effects->new_export, pair.effects->new_runtime});
  }
  std::vector<ReleaseRow> rows;
  for (std::size_t i = 0; i < report.experiments.size(); ++i) {
    if (cross_experiments.contains(i)) continue;
    rows.push_back({report.experiments[i]});
    for (const ReportComparison& pair : report.comparisons) {
      if (pair.differs_in_release && pair.candidate == i && !cross_experiments.contains(pair.baseline))
        rows.back().pair = &pair;
    }
  }
  const auto pair_cell = [](const auto& make_cell) {
    return [=](const ReleaseRow& row) { return row.pair == nullptr ? Cell("") : Cell(make_cell(*row.pair)); };
  };
  const auto cost_change = [&](StartupCost StartupCosts::*cost) {
    return pair_cell(
        [=](const ReportComparison& pair) { return KnownTextCell(CostChangeText(pair.costs.*cost)); });
  };
  const auto latency = [](const ReportComparison& pair) -> const TimeComparison& {
    return pair.comparison.latency;
  };
  Table table{.id = "releases",
              .title = "Releases",
              .visibility = Visibility::kBrief,
              .time_range = LatencyRange(report)};
  table.Fill<ReleaseRow>(
      {{Left("release").WithDifferenceKept(), [](const ReleaseRow& row) { return row.release.label; }},
       {Right("median"), [](const ReleaseRow& row) { return OptionalCell<Time>(row.release.latency.p50); }},
       {Right("speedup", "").NeverDropped(),
        pair_cell([=](const ReportComparison& pair) { return Speedup{latency(pair)}; })},
       {Left("interval", "95% CI").WithVisibility(Visibility::kPage),
        pair_cell([=](const ReportComparison& pair) { return Interval{latency(pair)}; })},
       {Right("first_inference", "first"),
        [](const ReleaseRow& row) { return OptionalCell<Time>(row.release.first_run); }},
       {Right("first_change", ""), cost_change(&StartupCosts::first_run)},
       {Right("load"), [](const ReleaseRow& row) { return OptionalCell<Time>(row.release.load); }},
       {Right("load_change", ""), cost_change(&StartupCosts::load)},
       {Right("peak_memory", "memory"),
        [&](const ReleaseRow& row) { return OptionalCell<Size>(row.release.Data(report).PeakSinceLoad()); }},
       {Right("memory_change", ""), cost_change(&StartupCosts::peak_memory)},
       {Left("outputs").NeverDropped(),
        pair_cell([&](const ReportComparison& pair) { return KnownTextCell(OutputsText(report, pair)); })}},
      rows);
  Section section{"Releases, each compared with the one before it", Visibility::kBrief, {std::move(table)}};
  if (Table effects = MakeEffectsTable(report); !effects.rows.empty()) {
    section.parts.emplace_back(std::move(effects));
    section.AddText(
        "Exporter: the newer release's program compared with the older one's, on average over both "
        "runtimes. Runtime: on average over both programs. Unchanged exports are equal byte for byte. A "
        "PyTorch that the release was not made for may export otherwise.");
    section.AddText(
        "Interaction: the runtime's effect on the newer program over that on the older one. If its "
        "interval excludes 1, the two effects depend on each other.",
        Visibility::kPage);
  }
  section.AddText(
      "Wheels, not an app's own build. Memory: the peak, less what the process held before it "
      "loaded the model, which is above all the libraries.");
  section.AddText(
      AddUndefinedText("The false discovery rate of the latencies is controlled over all releases. Outputs: "
                       "\"rounding\" is a difference of at most 1e-5 of the largest output in fp32.",
                       report),
      Visibility::kPage);
  return {std::move(section)};
}

}  // namespace etprof::show
