#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "measure/store/run_data.h"
#include "protocol/watch.h"

namespace etprof {

// `_watch.json` beside an experiment's log (--watch): what the runner saw of XNNPACK's calls. `method`
// completes the operators' keys.
struct WatchData {
  std::string method;
  protocol::WatchReply reply;

  static constexpr const char* kSchemaName = "watch_file";
  static void Describe(auto& v) {
    v("method", &WatchData::method, {.meaning = "of the operators"});
    v.Flat(&WatchData::reply);
  }
  static void Check(const WatchData& watch) { protocol::WatchReply::Check(watch.reply); }
};

// "<stem>_watch.json" beside its log; empty: it has no log.
std::filesystem::path WatchFile(const ExperimentData& data);
// Of an experiment of a results directory; null where there is none. Throws Error (kBadInput) for one that is
// damaged.
std::shared_ptr<const WatchData> ReadWatch(const ExperimentData& data);
// Throws Error where it cannot be written.
void WriteWatch(const WatchData& watch, const std::filesystem::path& path);

}  // namespace etprof
