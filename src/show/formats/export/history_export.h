#pragma once

#include <ostream>
#include <span>

#include "history/trends.h"

// Exports a history for other benchmark trackers.
namespace etprof {

struct HistoryFormat {
  const char* name;  // the option's value: "bmf"
  const char* help;  // for the option's help: "Bencher's metric format"
  void (*render)(const HistoryReport& history, std::ostream& out);
};
// The formats:
// bmf: the newest run of every series, since a Bencher report covers one commit: the latency and its interval
// in nanoseconds, the unit of Bencher's built-in measure
// (https://bencher.dev/docs/reference/bencher-metric-format).
// hud: one record per run, with the latency of each launch in milliseconds
// (https://github.com/pytorch/pytorch/wiki/PyTorch-OSS-benchmark-infra).
std::span<const HistoryFormat> HistoryFormats();

}  // namespace etprof
