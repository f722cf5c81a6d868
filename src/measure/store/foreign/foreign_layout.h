#pragma once

#include <nlohmann/json_fwd.hpp>

#include "measure/store/run_data.h"

// Foreign layouts are results directories that etprof did not write: those of the SME2 profiling kit (one
// folder per experiment, or all files in one folder), with their own manifest or without any JSON.
namespace etprof {

// Adds an experiment for each trace below run.folder that belongs to no experiment yet: *.etdump, and
// timeline CSVs (*_all_runs_timeline.csv) without an ETDump next to them. Names and threads come from the
// path: `<experiment>/<model>_<experiment>_t<n>.etdump`, or `<model>_<experiment>_t<n>.etdump` in run.folder.
// The model is that of the manifest, or of a `<model>_pipeline_summary.json`, or the common beginning of all
// names.
void AddForeignTraces(RunData& run);

// Marks an experiment whose trace was given as a file as a kernel-log run if `<stem>_xnntrace.log` is next to
// the trace.
void FindTraceLog(ExperimentData& data);

// Reads the latencies in a third-party runner's log ("Iteration 3 of 20: 2.39 ms") into `data`, as one launch
// without rounds per process. Iteration 1 is the first run; iterations before the latency stabilizes are
// warmup. Does nothing if the log has no latencies.
void ReadLatencyLog(ExperimentData& data);

// Adds the pairs of a configuration in the SME2 profiling kit's format (`analysis.compare_pairs`), which the
// manifest contains or names. Without such pairs, and with exactly two timed experiments that have the same
// number of threads, compares the second with the first.
void PairForeignExperiments(const nlohmann::json& manifest, RunData& run);

}  // namespace etprof
