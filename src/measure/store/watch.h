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
    v("method", &WatchData::method);
    v.Flat(&WatchData::reply);
  }
  static void Check(const WatchData& watch) { protocol::WatchReply::Check(watch.reply); }
};

// As KeyText (analysis/profile.h) of the operator that a reply of the runner names.
template <typename O>
std::string KeyTextOf(const std::string& method, const O& op) {
  std::string key =
      method + "/" + std::to_string(op.instruction) + "/" + op.kind + "/" + std::to_string(op.ordinal);
  if (op.chain > 0) key += "/chain" + std::to_string(op.chain);
  if (op.occurrence > 0) key += "/again" + std::to_string(op.occurrence);
  return key;
}

// "<stem>_watch.json" beside its log; empty: it has no log.
std::filesystem::path WatchFile(const ExperimentData& data);
// Of an experiment of a run directory; null where there is none. Throws Error (kBadInput) for one that is
// damaged.
std::shared_ptr<const WatchData> ReadWatch(const ExperimentData& data);
// Throws Error where it cannot be written.
void WriteWatch(const WatchData& watch, const std::filesystem::path& path);

}  // namespace etprof
