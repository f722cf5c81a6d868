#pragma once

#include <filesystem>
#include <vector>

#include "cli/file_sink.h"
#include "report/kernels.h"

namespace etprof {

// Writes what a run's trace-enabled logs say, beside each log `<stem>_kernels.csv`, and kernel_view.md into
// `folder`. With `tables` all of it goes there. Returns what was written: nothing where the run has no such
// log.
std::vector<std::filesystem::path> WriteKernelFiles(const KernelReport& report,
                                                    const std::filesystem::path& folder,
                                                    const std::filesystem::path& tables = {},
                                                    const FileSink& write_file = ToDisk);

}  // namespace etprof
