#pragma once

#include <optional>
#include <string>
#include <vector>

#include "history/history.h"
#include "report/report.h"

namespace etprof {

struct RecordOptions {
  std::string commit;
  std::optional<UnixTime> time;  // time of the commit; absent: time of the measurement
  std::string reference;         // experiment that launches are compared with; "": none
  std::string local = {};        // name for the device "local" in series; "": "local"
  std::string model = {};        // name for the model in series; "": stem of its file name
};

struct RecordedRun {
  HistoryRun run;
  // Experiments without stored times: one clause for each, with its name and the reason.
  std::vector<std::string> omitted_experiments;
};

// Reduces a run to what the history stores. Throws Error (kBadInput) if the run has no launch with times or
// no time of measurement; kUsage if it does not have the reference experiment.
RecordedRun MakeHistoryRun(const Report& report, const RecordOptions& options);

}  // namespace etprof
