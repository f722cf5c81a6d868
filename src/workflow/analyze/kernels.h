#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "report/kernels/kernels.h"
#include "workflow/output.h"

namespace etprof {

struct KernelsOptions {
  std::vector<std::string> paths;    // logs of kernel-log runs, or results directories
  std::vector<std::string> compare;  // or two logs, the one with SME2 first
  std::string etdump;                // of the same run: whether it has the log's operators
  // <log>_kernels.csv and kernel_view.md go into this folder; FILE.md, FILE.csv: that one alone; "-": the
  // view alone; empty: nothing is written.
  std::string output;
  Output write = WriteNamedFile;
  std::string model_id, filter, title;
};

struct ReadKernels {
  KernelReport report;
  std::filesystem::path written;  // the file to look at; empty: nothing was written
};

// Throws Error (kUsage, kBadInput) for what holds no log, and (kDeviceFailed) where a file cannot be written.
ReadKernels ReadAndWriteKernels(const KernelsOptions& options);

}  // namespace etprof
