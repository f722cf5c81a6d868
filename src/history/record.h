#pragma once

#include <optional>
#include <string>
#include <vector>

#include "history/history.h"
#include "report/report.h"

namespace etprof {

struct RecordOptions {
  std::string commit;
  std::optional<UnixTime> time;  // of the commit; absent: when it was measured
  std::string reference;         // an experiment of every run; "": none
  std::string local = {};        // what series call the device "local"; "": that
  std::string model = {};        // what series call the run's model; "": the stem of its file name
};

struct Recorded {
  HistoryRun run;
  std::vector<std::string> left_out;  // clauses: experiments whose times are not kept, and why
};

// What the history keeps of a run. Throws Error (kBadInput) where it has no launch with times, or does not
// say when it was measured; kUsage where the reference is no experiment of it.
Recorded RecordOf(const Report& report, const RecordOptions& options);

}  // namespace etprof
