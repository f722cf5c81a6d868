#include "profile/analysis/sampled_runs.h"

#include <algorithm>
#include <set>
#include <utility>

#include "profile/analysis/placed_spans.h"

namespace etprof {
namespace {

// The fastest, median, and slowest of the steady (or common) runs. Of two runs with equal latency, the
// earlier run counts as faster.
struct Extremes {
  std::size_t fastest = 0, median = 0, slowest = 0;
};

std::optional<Extremes> FindExtremes(const Profile& profile) {
  std::vector<std::size_t> runs = profile.SteadyOrCommonRuns();
  if (runs.empty()) return std::nullopt;
  const auto before = [&](std::size_t a, std::size_t b) {
    return std::pair(profile.runs[a].total, a) < std::pair(profile.runs[b].total, b);
  };
  const auto [fastest, slowest] = std::minmax_element(runs.begin(), runs.end(), before);
  Extremes extremes{*fastest, 0, *slowest};
  const auto middle = runs.begin() + static_cast<std::ptrdiff_t>((runs.size() - 1) / 2);
  std::nth_element(runs.begin(), middle, runs.end(), before);
  extremes.median = *middle;
  return extremes;
}

std::set<std::size_t> ChooseRuns(const Profile& profile, const std::optional<Extremes>& extremes,
                                 std::size_t max_runs) {
  const std::size_t num_runs = profile.runs.size();
  std::set<std::size_t> chosen;
  const auto add_run = [&](std::size_t run) {
    if (chosen.size() < std::max<std::size_t>(1, max_runs)) chosen.insert(run);
  };
  if (extremes) {
    add_run(extremes->median);
    add_run(extremes->fastest);
    add_run(extremes->slowest);
  }
  for (std::size_t i = 0; i < max_runs && num_runs > 0; ++i)
    add_run(max_runs >= num_runs ? std::min(i, num_runs - 1) : i * num_runs / max_runs);
  return chosen;
}

SampledRuns::Shape MakeShape(const std::vector<PlacedSpan>& spans) {
  SampledRuns::Shape shape;
  for (const PlacedSpan& span : spans) {
    shape.op.push_back(span.op);
    shape.depth.push_back(span.depth);
  }
  return shape;
}

}  // namespace

std::optional<std::size_t> MedianRun(const Profile& profile) {
  const std::optional<Extremes> extremes = FindExtremes(profile);
  return extremes ? std::optional(extremes->median) : std::nullopt;
}

SampledRuns SampleRuns(const Trace& trace, const Profile& profile, std::size_t max_runs) {
  SampledRuns sampled;
  const std::optional<Extremes> extremes = FindExtremes(profile);
  SpanPlacer placer(trace, profile);
  std::vector<PlacedSpan> spans;
  for (const std::size_t index : ChooseRuns(profile, extremes, max_runs)) {
    placer.Place(index, spans);
    if (spans.empty()) continue;
    SampledRuns::Run run;
    run.run = index;
    SampledRuns::Shape shape = MakeShape(spans);
    const auto existing = std::ranges::find(sampled.shapes, shape);
    run.shape = static_cast<std::size_t>(existing - sampled.shapes.begin());
    if (existing == sampled.shapes.end()) sampled.shapes.push_back(std::move(shape));
    // The start of the gap before the next span, by depth of that span.
    std::vector<Nanoseconds> gap_starts(1, spans.front().start);
    for (const PlacedSpan& span : spans) {
      const auto depth = static_cast<std::size_t>(span.depth);
      run.gap.push_back(span.start - gap_starts[depth]);
      run.duration.push_back(span.end - span.start);
      gap_starts[depth] = span.end;
      gap_starts.resize(depth + 2);
      gap_starts[depth + 1] = span.start;
    }
    if (extremes && extremes->median == index) sampled.median = sampled.runs.size();
    sampled.runs.push_back(std::move(run));
  }
  return sampled;
}

}  // namespace etprof
