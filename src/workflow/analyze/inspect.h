#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "workflow/output.h"
#include "workflow/progress.h"

namespace etprof {

struct ModelExplorerOptions {
  std::filesystem::path model;   // the .pte
  std::filesystem::path output;  // file of the graph, ending with .json
  Output write = WriteNamedFile;
  std::vector<std::string> runs;   // a results directory, or ETDumps and timeline CSVs; empty: no times
  std::filesystem::path etrecord;  // empty: the one next to the model
  std::string by;                  // "layer", "delegate"; "": by layer if an .etrecord is found
};

// Writes the program's graph for Model Explorer, and next to it a file of node data for each experiment and
// comparison of the runs. Returns the files, the graph's first. Throws Error (kUsage, kBadInput) for invalid
// options, programs that cannot be read, and runs of another program; Error (kInterrupted), in which case no
// file is left half-written.
std::vector<std::filesystem::path> WriteModelExplorer(const ModelExplorerOptions& options,
                                                      WorkflowProgress& progress);

}  // namespace etprof
