#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "commands/terminal/output.h"
#include "report/kernels/kernels.h"

namespace etprof {

struct KernelsOptions {
  std::vector<std::string> paths;    // logs of kernel-log runs, or results directories
  std::vector<std::string> compare;  // instead of `paths`: two logs, the one with SME2 first
  std::string etdump;                // an ETDump of the same run, to check that both have the same operators
  // A folder: <log>_kernels.csv and kernel_view.md are written there. FILE.md or FILE.csv: only that file.
  // "-": only the view, to stdout. Empty: nothing is written.
  std::string output;
  FileWriter write = WriteOutputRejectingStdout;
  std::string model_id, filter, title;
};

struct KernelsResult {
  KernelReport report;
  std::filesystem::path written_file;  // the file to open; empty: nothing was written
};

// Throws Error (kUsage, kBadInput) for inputs without a log, and Error (kDeviceFailed) if a file cannot be
// written.
KernelsResult ReadAndWriteKernels(const KernelsOptions& options);

}  // namespace etprof
