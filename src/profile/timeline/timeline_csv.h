#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "format/etdump/trace.h"
#include "profile/analysis/profile.h"

namespace etprof {

// The contents of a timeline CSV (docs/reference/files.md): the events of an ETDump's runs, and additional
// columns.
struct Timeline {
  Trace trace;
  std::string model_id;               // "": unknown, or not the same in every row
  std::string method = "forward";     // method name for the operators' keys
  std::vector<std::string> backends;  // all values of delegate_backend, sorted
  std::vector<RunLabel> labels;       // one per run, without launch and round; empty: the file has no phases
};

// Reads the kit's columns (model_id, name, type, delegate_backend, start_us, end_us, duration_ms, pct_total,
// node_id, run_index, block) and etprof's own columns after them. `name` is required. `start_us` and `end_us`
// are required unless every row is a Method::execute, for which `duration_ms` is enough. Times are
// microseconds (`_us`) with any number of decimals, rounded to the nanosecond.
//
// The rows of a run have the same `run_index` and `block` and may be anywhere in the file. If Method::execute
// is the last of them, they are in an ETDump's order, children before parents; otherwise the nesting is
// rebuilt from the times. Without `instruction`, calls are numbered in their order. Without etprof's
// `node_id`, every name that is not one of ExecuTorch's own spans is a delegate's operator.
//
// Throws Error (kBadInput) with the line if the text is not such a CSV, is truncated, has an invalid number,
// or has times that contradict `duration_ms`. `file_name` is only used in messages.
Timeline ReadTimelineCsv(std::string_view text, const std::string& file_name);
Timeline ReadTimelineCsvFile(const std::filesystem::path& path);

// Returns whether the file is read as a timeline: its name ends in .csv.
bool IsTimelineCsv(const std::filesystem::path& path);

// The file's name without the suffix of a timeline: "toy_cnn_t1" for "toy_cnn_t1_exec_all_runs_timeline.csv".
// A timeline of the first run keeps "_exec_run0", so that its tables do not replace those of all runs.
std::string TimelineStem(const std::filesystem::path& path);

}  // namespace etprof
