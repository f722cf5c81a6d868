#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/profile.h"
#include "etdump/trace.h"

namespace etprof {

// What a timeline CSV (docs/reference/files.md) says: the events of an ETDump's runs, and what stands beside
// them.
struct Timeline {
  Trace trace;
  std::string model_id;               // "" where it is not told, or not the same in every row
  std::string method = "forward";     // of the operators' keys
  std::vector<std::string> backends;  // every delegate_backend, by name
  std::vector<RunLabel> labels;       // run by run, without launch and round; empty: phases are not told
};

// Reads the kit's columns (model_id, name, type, delegate_backend, start_us, end_us, duration_ms, pct_total,
// node_id, run_index, block) and etprof's own, which follow them; of these `name` must be there, and
// `start_us` and `end_us` unless every row is a Method::execute, whose `duration_ms` is then enough. Times
// are microseconds (`_us`) with any number of decimals, kept to the nanosecond.
//
// The rows of a run are those of its `run_index` and `block`, wherever they stand. Where Method::execute is
// the last of them they are in an ETDump's order, children before parents; else the nesting is rebuilt from
// the times. Without `instruction`, calls are numbered in their order. Without etprof's `node_id`, every name
// that is not one of ExecuTorch's own spans is a delegate's operator.
//
// Throws Error (kBadInput) with the line: no such CSV, cut, a number that is none, times that contradict
// `duration_ms`. `file_name` is for messages only.
Timeline ReadTimelineCsv(std::string_view text, const std::string& file_name);
Timeline ReadTimelineCsvFile(const std::filesystem::path& path);

// A file that is read as a timeline: its name ends in .csv.
bool IsTimelineCsv(const std::filesystem::path& path);

// The file's name without what says that it is a timeline: "toy_cnn_t1" of
// "toy_cnn_t1_exec_all_runs_timeline.csv".
std::string StemOfTimeline(const std::filesystem::path& path);

}  // namespace etprof
