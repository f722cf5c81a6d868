#include "report/kernels/placed_watch.h"

#include <algorithm>

namespace etprof {

PlacedWatch::PlacedWatch(const protocol::WatchedTimeline& timeline) {
  std::vector<Nanoseconds> open_ends;
  for (const protocol::WatchedSpan& span : timeline.spans) {
    while (!open_ends.empty() && open_ends.back() <= span.begin_ns) open_ends.pop_back();
    const Nanoseconds end = open_ends.empty() ? span.end_ns : std::min(span.end_ns, open_ends.back());
    for (const protocol::WatchedSlice& slice : span.slices) slices.push_back({spans.size(), &slice});
    spans.push_back({static_cast<std::size_t>(span.op), open_ends.size(), span.begin_ns, end});
    open_ends.push_back(end);
  }
  std::ranges::stable_sort(slices, {}, [](const Slice& slice) { return slice.slice->begin_ns; });
}

std::map<std::string, std::size_t> OperatorsByKey(const Profile& profile) {
  std::map<std::string, std::size_t> indices;
  for (std::size_t op = 0; op < profile.operators.size(); ++op)
    indices.emplace(KeyText(profile.operators[op].key), op);
  return indices;
}

}  // namespace etprof
