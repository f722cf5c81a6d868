#pragma once

#include <string>
#include <vector>

#include "protocol/messages.h"

namespace etprof::runner {

// Command line of etprof-runner. Names with underscores are those of executor_runner.
struct Options {
  enum class Mode { kExecutorRunner, kWorker, kIsaInfo, kMeasurePeaks, kCompareOutputs };
  Mode mode = Mode::kExecutorRunner;

  std::string isa;                // --isa, parsed by isa/features.h
  bool exact_clock = true;        // --operator-clock
  int cpu_threads = -1;           // --cpu_threads; -1: the number of fast cores
  std::string cpus;               // --cpus
  std::vector<std::string> load;  // --load
  bool verbose = false;           // ExecuTorch's own log on stderr

  protocol::LoadRequest model;  // --model_path --data_path --method_name, and the inputs
  int num_executions = 1;
  std::string etdump_path;
  std::string output_file;
  std::string print_output = "summary";  // none, summary, all
  std::string report;
  std::string save_outputs;
  std::vector<std::string> compare;  // two files
};

// Parses the command line. `--help` and `--version` print and exit with 0; an invalid command line throws
// Error (kUsage).
Options ParseOptions(int argc, char** argv);

}  // namespace etprof::runner
