#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "measure/run_data.h"

namespace etprof {

// `<stem>_latency.csv`: one row a run, in the order they ran:
//   launch,round,order,position,phase,traced,latency_ns
// launch and round are counted from 0; round and order are empty before the first round; position counts the
// runs of the burst (or of the launch's beginning); phase is first, warmup, opening, recorded or traced;
// traced is 0 or 1.
inline constexpr const char* kLatencyHeader = "launch,round,order,position,phase,traced,latency_ns\n";
std::string LatencyRows(const Launch& launch, bool tracer_always_on);

// Appends the launch's rows, and begins the file with its header. Where not all could be written the file is
// as it was before, and Error (kDeviceFailed) is thrown.
void AppendLatencies(const std::filesystem::path& path, const Launch& launch, bool tracer_always_on);

// Reads the rows back into `launches`, which the manifest has named. Tolerates a cut last row. What does not
// fit is said in `problems`, once.
void ReadLatencies(const std::filesystem::path& path, std::vector<Launch>& launches,
                   std::vector<std::string>& problems);

}  // namespace etprof
