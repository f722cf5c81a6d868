#include "profile/timeline/timeline_events.h"

#include <algorithm>
#include <numeric>

namespace etprof {
namespace {

bool IsMethod(const NameTable& names, const TimelineEvent& event) {
  return event.source == Trace::Source::kFramework && names.Text(event.name) == "Method::execute";
}

bool IsCall(const NameTable& names, const TimelineEvent& event) {
  if (event.source != Trace::Source::kFramework) return false;
  const std::string& name = names.Text(event.name);
  return name == "OPERATOR_CALL" || name == "DELEGATE_CALL";
}

// For two spans with the same times, the span with the higher rank is the outer span.
int NestingRank(const NameTable& names, const TimelineEvent& event) {
  return IsMethod(names, event) ? 2 : IsCall(names, event) ? 1 : 0;
}

// Sorts events: children before their parents, siblings by start.
std::vector<TimelineEvent> SortByTimes(const NameTable& names, const std::vector<TimelineEvent>& events) {
  std::vector<std::size_t> order(events.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](std::size_t i, std::size_t j) {
    const TimelineEvent& a = events[i];
    const TimelineEvent& b = events[j];
    if (a.start != b.start) return a.start < b.start;
    if (a.end != b.end) return a.end > b.end;
    return NestingRank(names, a) > NestingRank(names, b);
  });
  std::vector<TimelineEvent> sorted;
  std::vector<std::size_t> open;
  for (const std::size_t index : order) {
    const TimelineEvent& event = events[index];
    const auto encloses = [&](const TimelineEvent& outer) {
      // A span of 0 ns at the end of another span is inside of it if their ranks allow that.
      const bool is_at_end = event.start == outer.end && event.end <= outer.end;
      return event.start < outer.end || (is_at_end && NestingRank(names, outer) > NestingRank(names, event));
    };
    while (!open.empty() && !encloses(events[open.back()])) {
      sorted.push_back(events[open.back()]);
      open.pop_back();
    }
    open.push_back(index);
  }
  while (!open.empty()) {
    sorted.push_back(events[open.back()]);
    open.pop_back();
  }
  return sorted;
}

}  // namespace

void OrderEvents(const NameTable& names, bool has_instructions, TimelineRun& run) {
  const bool has_method =
      std::ranges::any_of(run.events, [&](const TimelineEvent& event) { return IsMethod(names, event); });
  if (has_method && !IsMethod(names, run.events.back())) run.events = SortByTimes(names, run.events);
  if (has_instructions) return;
  std::int32_t calls = 0;
  std::size_t first_unassigned = 0;  // the first event without a call
  for (std::size_t i = 0; i < run.events.size(); ++i) {
    if (!IsCall(names, run.events[i])) continue;
    for (; first_unassigned <= i; ++first_unassigned) run.events[first_unassigned].instruction = calls;
    ++calls;
  }
}

void AppendRun(const TimelineRun& run, Trace& trace) {
  Trace::Layout layout;
  for (const TimelineEvent& event : run.events) {
    layout.name.push_back(event.name);
    layout.source.push_back(event.source);
    layout.chain.push_back(event.chain);
    layout.instruction.push_back(event.instruction);
    layout.delegate_id.push_back(-1);
  }
  Trace::Block block;
  block.name = run.block;
  block.first_event = trace.event_count();
  block.event_count = static_cast<std::uint32_t>(run.events.size());
  // Most runs have the layout of the previous run, or, if two methods alternate, of the run before that.
  block.layout = static_cast<std::uint32_t>(trace.layouts.size());
  for (std::size_t distance = 1; distance <= std::min<std::size_t>(2, trace.blocks.size()); ++distance) {
    const std::uint32_t earlier_layout = trace.blocks[trace.blocks.size() - distance].layout;
    if (trace.layouts[earlier_layout] == layout) block.layout = earlier_layout;
  }
  if (block.layout == trace.layouts.size()) trace.layouts.push_back(std::move(layout));
  for (const TimelineEvent& event : run.events) {
    trace.start.push_back(event.start);
    trace.end.push_back(event.end);
  }
  trace.blocks.push_back(std::move(block));
}

}  // namespace etprof
