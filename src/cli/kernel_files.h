#pragma once

#include <filesystem>
#include <vector>

#include "cli/analyze_files.h"
#include "report/kernels/kernels.h"

namespace etprof {

// Writes what a run's trace-enabled logs say: `<stem>_kernels.csv` of each log, and kernel_view.md. Returns
// what was written: nothing where the run has no such log.
std::vector<std::filesystem::path> WriteKernelFiles(const KernelReport& report, const OutputFolders& folders);

}  // namespace etprof
