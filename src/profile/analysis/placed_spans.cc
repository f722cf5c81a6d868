#include "profile/analysis/placed_spans.h"

#include <algorithm>

namespace etprof {

SpanPlacer::SpanPlacer(const Trace& trace, const Profile& profile)
    : trace_(trace), profile_(profile), position_(profile.operators.size(), -1) {}

void SpanPlacer::Place(std::size_t run_index, std::vector<PlacedSpan>& spans) {
  const ProfiledRun& run = profile_.runs[run_index];
  const std::vector<std::int32_t>& operators = profile_.layouts[run.layout];
  const std::size_t first = trace_.blocks[run.block].first_event + run.first_event;
  const std::size_t count = operators.size();
  spans.clear();
  if (count == 0) return;
  const std::size_t method = count - 1;  // Method::execute ends the run

  for (std::size_t i = 0; i < count; ++i)
    position_[static_cast<std::size_t>(operators[i])] = static_cast<std::int32_t>(i);
  if (children_.size() < count) children_.resize(count);
  for (std::size_t i = 0; i < count; ++i) children_[i].clear();
  for (std::size_t i = 0; i < method; ++i) {
    const std::int32_t parent_op = profile_.operators[static_cast<std::size_t>(operators[i])].parent;
    const std::int32_t parent = parent_op < 0 ? -1 : position_[static_cast<std::size_t>(parent_op)];
    // Parents come after their children; spans without a parent in this run are children of the method.
    const auto this_position = static_cast<std::int32_t>(i);
    children_[parent > this_position ? static_cast<std::size_t>(parent) : method].push_back(
        static_cast<std::uint32_t>(i));
  }
  for (const std::int32_t op : operators) position_[static_cast<std::size_t>(op)] = -1;

  struct OpenSpan {
    std::size_t position;
    std::size_t next_child;
    Nanoseconds next_start, end;  // next_start: the earliest start of the next child
  };
  std::vector<OpenSpan> open_spans;
  const auto enter = [&](std::size_t position, Nanoseconds low, Nanoseconds high) {
    const Nanoseconds recorded_start = trace_.start[first + position];
    const Nanoseconds recorded_end = trace_.end[first + position];
    PlacedSpan span;
    span.event = first + position;
    span.op = operators[position];
    span.depth = static_cast<int>(open_spans.size());
    span.start = std::clamp(recorded_start, low, high);
    span.end = std::clamp(recorded_end, span.start, high);
    span.has_recorded_times = span.start == recorded_start && span.end == recorded_end;
    spans.push_back(span);
    std::vector<std::uint32_t>& children = children_[position];
    const auto starts_before = [&](std::uint32_t a, std::uint32_t b) {
      return trace_.start[first + a] < trace_.start[first + b];
    };
    if (!std::ranges::is_sorted(children, starts_before)) std::ranges::stable_sort(children, starts_before);
    open_spans.push_back({position, 0, span.start, span.end});
  };
  const Nanoseconds start = trace_.start[first + method];
  enter(method, start, std::max(start, trace_.end[first + method]));
  while (!open_spans.empty()) {
    OpenSpan& top = open_spans.back();
    if (top.next_child == children_[top.position].size()) {
      const Nanoseconds end = top.end;
      open_spans.pop_back();
      if (!open_spans.empty()) open_spans.back().next_start = end;
      continue;
    }
    const std::size_t child = children_[top.position][top.next_child++];
    enter(child, top.next_start, top.end);
  }
}

}  // namespace etprof
