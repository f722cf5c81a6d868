#pragma once

#include <nlohmann/json_fwd.hpp>

#include "measure/store/run_data.h"

namespace etprof {

// manifest.json: everything of `run` but the single latencies, which are in the CSV files. Paths below the
// results directory are relative to it. The seeds' keys (`generated_at`, `config`, `model`, `executorch`,
// `results`) are among them.
nlohmann::ordered_json ManifestJson(const RunData& run);

// metrics.json, the seeds' summary: results[] of latency_ms (mean), median_ms, min_ms, max_ms, runs, threads,
// etdump, log.
nlohmann::ordered_json MetricsJson(const RunData& run);

// Fills `run`, whose `folder` is set. Keys that are missing keep their defaults; what has a wrong type is
// left out and counted in `problems`.
void ReadManifest(const nlohmann::json& manifest, RunData& run);

}  // namespace etprof
