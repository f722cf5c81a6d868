#pragma once

#include <nlohmann/json_fwd.hpp>

#include "measure/store/run_data.h"

// Results directories that etprof did not write: the kit's (a folder an experiment, or all files in one
// folder), with a manifest of theirs or without any JSON.
namespace etprof {

// Adds an experiment for every trace below run.folder that no experiment has yet: *.etdump, and timeline CSVs
// (*_all_runs_timeline.csv) that have no ETDump beside them. Names and threads are taken from
// `<experiment>/<model>_<experiment>_t<n>.etdump` or, flat, `<model>_<experiment>_t<n>.etdump`, where the
// model is the manifest's, or that of a `<model>_pipeline_summary.json`, or what all names begin with.
void AddForeignTraces(RunData& run);

// Makes a trace that was given as a file a kernel-log run's, where `<stem>_xnntrace.log` lies beside it.
void LookForTraceLog(ExperimentData& data);

// Takes the latencies of a runner's log into `data` as one launch without rounds: "Iteration 3 of 20: 2.39
// ms". The first is the first run, and those before the latency is level are warm-up. Does nothing where the
// log has none.
void ReadLatencyLog(ExperimentData& data);

// The pairs that a configuration in the kit's form asks for (`analysis.compare_pairs`, also of a manifest
// that holds or names one), else, of exactly two experiments of as many threads, the second against the
// first.
void PairForeign(const nlohmann::json& manifest, RunData& run);

}  // namespace etprof
