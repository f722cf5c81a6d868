#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "measure/store/run_data.h"
#include "protocol/watch.h"

namespace etprof {

// The contents of `<stem>_watch.json` next to an experiment's log (--watch): the calls that the runner
// observed in XNNPACK. The operators' keys need the name of the method.
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

// "<stem>_watch.json" next to the experiment's log; empty: the experiment has no log.
std::filesystem::path WatchFile(const ExperimentData& data);
// Reads the watch file of an experiment; null: no such file. Throws Error (kBadInput) for an invalid file.
std::shared_ptr<const WatchData> ReadWatch(const ExperimentData& data);

}  // namespace etprof
