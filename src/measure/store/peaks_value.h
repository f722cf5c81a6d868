#pragma once

#include <string>
#include <vector>

#include "protocol/peaks.h"

namespace etprof {

// The machine peaks for those experiments of a run that share mask, threads, CPUs, and runner.
struct PeaksEntry {
  std::vector<std::string> experiments;  // labels, ExperimentData::label
  protocol::Peaks peaks;                 // `cpus` is as configured

  static void Describe(auto& v) {
    v("experiments", &PeaksEntry::experiments, {.meaning = "labels, as in the manifest", .non_empty = true});
    v.Flat(&PeaksEntry::peaks);
  }
};
// The contents of peaks.json.
struct Peaks {
  std::vector<PeaksEntry> entries;

  static constexpr bool kRequiresAllKeys = true;
  static void Describe(auto& v) {
    DescribeSchemaVersion(v);
    v("entries", &Peaks::entries,
      {.meaning = "one for all experiments that have mask, threads, CPUs and runner in common",
       .non_empty = true});
  }
};

}  // namespace etprof
