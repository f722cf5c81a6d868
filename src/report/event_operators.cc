#include "report/event_operators.h"

#include <algorithm>
#include <string>
#include <unordered_map>

namespace etprof {
namespace {

class Placer {
 public:
  Placer(const Trace& trace, const Profile& profile) : trace_(trace), profile_(profile) {
    places_.run.assign(trace.event_count(), EventPlaces::kNone);
    places_.op.assign(trace.event_count(), EventPlaces::kNone);
  }

  EventPlaces Run() {
    // A run is what ends with a Method::execute; several may share a block.
    std::size_t run = 0;
    for (std::uint32_t block = 0; block < trace_.blocks.size() && run < profile_.runs.size(); ++block) {
      std::size_t first = trace_.blocks[block].first_event;
      const std::size_t end = first + trace_.blocks[block].event_count;
      for (std::size_t event = first; event < end; ++event) {
        if (trace_.source[event] == Trace::Source::kDelegate ||
            trace_.names.Text(trace_.name[event]) != "Method::execute") {
          continue;
        }
        if (run >= profile_.runs.size() || profile_.runs[run].block != block) break;
        Place(first, event + 1, run++);
        first = event + 1;
      }
    }
    return std::move(places_);
  }

 private:
  void Place(std::size_t first, std::size_t end, std::size_t run) {
    const bool like_before =
        end - first == last_end_ - last_first_ &&
        std::equal(trace_.name.begin() + Offset(first), trace_.name.begin() + Offset(end),
                   trace_.name.begin() + Offset(last_first_));
    if (!like_before) {
      MatchByName(first, end, run);
      last_first_ = first;
      last_end_ = end;
    }
    for (std::size_t event = first; event < end; ++event) {
      places_.run[event] = static_cast<std::int32_t>(run);
      const std::int32_t op = matched_[event - first];
      if (op < 0) continue;
      const Nanoseconds duration = std::max<Nanoseconds>(0, trace_.end[event] - trace_.start[event]);
      if (profile_.Duration(static_cast<std::size_t>(op))[run] == duration) places_.op[event] = op;
    }
  }

  // The k-th event of a name is the k-th operator of that name that ran in this run.
  void MatchByName(std::size_t first, std::size_t end, std::size_t run) {
    std::unordered_map<std::string, std::vector<std::int32_t>> by_name;
    for (std::size_t op = 0; op < profile_.operators.size(); ++op) {
      if (profile_.Duration(op)[run] != Profile::kAbsent) {
        by_name[profile_.operators[op].name].push_back(static_cast<std::int32_t>(op));
      }
    }
    std::unordered_map<NameId, std::size_t> seen;
    matched_.assign(end - first, EventPlaces::kNone);
    for (std::size_t event = first; event < end; ++event) {
      const auto found = by_name.find(trace_.names.Text(trace_.name[event]));
      if (found == by_name.end()) continue;
      const std::size_t k = seen[trace_.name[event]]++;
      if (k < found->second.size()) matched_[event - first] = found->second[k];
    }
  }

  static std::ptrdiff_t Offset(std::size_t index) { return static_cast<std::ptrdiff_t>(index); }

  const Trace& trace_;
  const Profile& profile_;
  EventPlaces places_;
  std::size_t last_first_ = 0, last_end_ = 0;
  std::vector<std::int32_t> matched_;
};

}  // namespace

EventPlaces PlaceEvents(const Trace& trace, const Profile& profile) { return Placer(trace, profile).Run(); }

}  // namespace etprof
