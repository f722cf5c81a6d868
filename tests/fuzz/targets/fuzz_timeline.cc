// The input is a timeline CSV. Requires that there are at most as many events as rows, and that times add up.
// A timeline without trace warnings must not change when it is written as etprof's own timeline and read
// again.

#include <algorithm>
#include <sstream>

#include "check_profile.h"
#include "fuzz.h"
#include "profile/timeline/timeline_csv.h"
#include "show/formats/csv/kit_files.h"

namespace {

using namespace etprof;

std::size_t CountEvents(const Profile& profile) {
  std::size_t events = 0;
  for (const ProfiledRun& run : profile.runs) events += profile.layouts[run.layout].size();
  return events;
}

std::string WriteTimeline(const Trace& trace, const Profile& profile) {
  std::ostringstream csv;
  RenderTimelineCsv(trace, profile, std::nullopt, csv);
  return csv.str();
}

}  // namespace

ETPROF_FUZZ_TARGET(timeline) {
  const std::string text = fuzz::Text(data, size);
  Timeline timeline;
  Profile profile;
  const auto read = [&](const std::string& csv) {
    timeline = ReadTimelineCsv(csv, "x.csv");
    // Attribute may refuse the file, too: if its runs have too little in common.
    AttributeOptions options;
    options.method = timeline.method;
    options.labels = timeline.labels;
    profile = Attribute(timeline.trace, options);
  };
  if (!fuzz::Accepts({ExitCode::kBadInput}, [&] { read(text); })) return 0;
  fuzz::Require(CountEvents(profile) <= static_cast<std::size_t>(std::count(data, data + size, '\n')) + 1,
                "an event is one row");
  fuzz::CheckSums(timeline.trace);
  if (profile.runs.empty() || !profile.health.entries().empty()) return 0;
  std::vector<Nanoseconds> totals;
  for (const ProfiledRun& run : profile.runs) totals.push_back(run.total);
  const std::string written = WriteTimeline(timeline.trace, profile);
  read(written);
  fuzz::Require(profile.runs.size() == totals.size(), "a timeline that is written has the same runs");
  for (std::size_t run = 0; run < totals.size(); ++run)
    fuzz::Require(profile.runs[run].total == totals[run], "and they took as long");
  return 0;
}
