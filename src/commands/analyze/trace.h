#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "commands/terminal/output.h"
#include "commands/terminal/progress.h"
#include "format/etdump/reader.h"

namespace etprof {

struct TraceOptions {
  std::vector<std::string> paths;  // one results directory, or ETDumps and timeline CSVs
  std::string output;              // a file; empty: trace.* in the results directory, or next to the ETDump
  FileWriter write = WriteOutputRejectingStdout;
  std::string format;              // "perfetto", "chrome"; empty: from the file's extension
  std::string run = "all";         // "all", "median", or the number of a traced run from 0
  std::filesystem::path model;     // the .pte that ran, if the user named it
  std::filesystem::path etrecord;  // empty: the .etrecord next to the model
  EtdumpOptions etdump = {};
};

struct WrittenTrace {
  std::filesystem::path file;
  bool chrome = false;
  std::size_t experiments = 0, runs = 0;
};

// Writes the runs as one trace. Files of a results directory that cannot be read are reported as messages.
// Throws Error (kUsage, kBadInput, kDeviceFailed), and Error (kInterrupted), in which case nothing is
// written.
WrittenTrace WriteTrace(const TraceOptions& options, WorkflowProgress& progress);

}  // namespace etprof
