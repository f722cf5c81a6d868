#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "measure/store/run_data.h"

namespace etprof {

// `<stem>_latency.csv`: one row a run, in the order they ran:
//   launch,round,order,position,phase,traced,latency_ns,wait_ns,cpu_ns
// launch and round are counted from 0; round and order are empty before the first round; position counts the
// runs of the burst (or of the launch's beginning); phase is first, warmup, opening, recorded or traced;
// traced is 0 or 1; wait_ns and cpu_ns are as in Burst (run_data.h), empty where they are not known. Files
// without these two columns are read as well.
inline constexpr const char* kLatencyHeader =
    "launch,round,order,position,phase,traced,latency_ns,wait_ns,cpu_ns\n";
// Whether the text begins with these columns, or with all but the last two.
bool IsLatencyCsv(std::string_view text);
std::string LatencyRows(const Launch& launch, bool tracer_always_on);

// Appends the launch's rows, and begins the file with its header. Where not all could be written the file is
// as it was before, and Error (kDeviceFailed) is thrown.
void AppendLatencies(const std::filesystem::path& path, const Launch& launch, bool tracer_always_on);

// Drops from `<stem>_latency.csv` below `folder` the rows of launches that are not among `launches`, and a
// cut last row: the manifest could not be written after them (a full disk, a killed process), and these
// launches are measured again. Returns whether the file has changed. Throws Error when it can be neither read
// nor written.
bool DropUnknownLatencies(const std::filesystem::path& folder, const std::string& stem,
                          const std::vector<Launch>& launches);

// Reads the rows back into `launches`, which the manifest has named. Tolerates a cut last row. What does not
// fit is said in `problems`, once.
void ReadLatencies(const std::filesystem::path& path, std::vector<Launch>& launches,
                   std::vector<std::string>& problems);

}  // namespace etprof
