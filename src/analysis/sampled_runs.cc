#include "analysis/sampled_runs.h"

#include <algorithm>
#include <set>

#include "analysis/placed_spans.h"

namespace etprof {
namespace {

std::vector<std::size_t> ByLatency(const Profile& profile) {
  std::vector<std::size_t> runs = profile.DescribedRuns();
  std::stable_sort(runs.begin(), runs.end(), [&](std::size_t a, std::size_t b) {
    return profile.runs[a].total < profile.runs[b].total;
  });
  return runs;
}

std::set<std::size_t> Chosen(const Profile& profile, std::size_t most) {
  const std::size_t all = profile.runs.size();
  std::set<std::size_t> chosen;
  const auto choose = [&](std::size_t run) {
    if (chosen.size() < std::max<std::size_t>(1, most)) chosen.insert(run);
  };
  const std::vector<std::size_t> described = ByLatency(profile);
  if (!described.empty()) {
    choose(described[(described.size() - 1) / 2]);
    choose(described.front());
    choose(described.back());
  }
  for (std::size_t i = 0; i < most && all > 0; ++i)
    choose(most >= all ? std::min(i, all - 1) : i * all / most);
  return chosen;
}

SampledRuns::Shape ShapeOf(const std::vector<PlacedSpan>& spans) {
  SampledRuns::Shape shape;
  for (const PlacedSpan& span : spans) {
    shape.op.push_back(span.op);
    shape.depth.push_back(span.depth);
  }
  return shape;
}

}  // namespace

std::optional<std::size_t> MedianRun(const Profile& profile) {
  const std::vector<std::size_t> runs = ByLatency(profile);
  if (runs.empty()) return std::nullopt;
  return runs[(runs.size() - 1) / 2];
}

SampledRuns SampleRuns(const Trace& trace, const Profile& profile, std::size_t most) {
  SampledRuns sampled;
  const std::optional<std::size_t> median = MedianRun(profile);
  SpanPlacer placer(trace, profile);
  std::vector<PlacedSpan> spans;
  for (const std::size_t index : Chosen(profile, most)) {
    placer.Place(index, spans);
    if (spans.empty()) continue;
    SampledRuns::Run run;
    run.run = index;
    SampledRuns::Shape shape = ShapeOf(spans);
    const auto same = std::find(sampled.shapes.begin(), sampled.shapes.end(), shape);
    run.shape = static_cast<std::size_t>(same - sampled.shapes.begin());
    if (same == sampled.shapes.end()) sampled.shapes.push_back(std::move(shape));
    // By depth: where the next span of that depth is counted from.
    std::vector<Nanoseconds> from(1, spans.front().start);
    for (const PlacedSpan& span : spans) {
      const auto depth = static_cast<std::size_t>(span.depth);
      run.gap.push_back(span.start - from[depth]);
      run.duration.push_back(span.end - span.start);
      from[depth] = span.end;
      from.resize(depth + 2);
      from[depth + 1] = span.start;
    }
    if (median == index) sampled.median = sampled.runs.size();
    sampled.runs.push_back(std::move(run));
  }
  return sampled;
}

}  // namespace etprof
