#pragma once

#include <ostream>
#include <span>

#include "history/trends.h"

// The history for other trackers of benchmarks.
namespace etprof {

struct HistoryFormat {
  const char* name;  // "bmf"
  const char* is;    // "Bencher's metric format"
  void (*render)(const HistoryReport& history, std::ostream& out);
};
// bmf: the newest run of every series, since a Bencher report is of one commit: the latency in nanoseconds,
// which is the unit of its built-in measure, with its interval
// (https://bencher.dev/docs/reference/bencher-metric-format). hud: a record for every run, with the latency
// of each launch in milliseconds (https://github.com/pytorch/pytorch/wiki/PyTorch-OSS-benchmark-infra).
std::span<const HistoryFormat> HistoryFormats();

}  // namespace etprof
