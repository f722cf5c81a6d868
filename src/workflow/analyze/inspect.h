#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "workflow/output.h"
#include "workflow/progress.h"

namespace etprof {

struct ModelExplorerOptions {
  std::filesystem::path model;   // the .pte
  std::filesystem::path output;  // the graph's file, ending with .json
  Output write = WriteNamedFile;
  std::vector<std::string> runs;   // a results directory, or ETDumps and timeline CSVs; empty: without times
  std::filesystem::path etrecord;  // instead of the one next to the model; empty: that one
  std::string by;                  // "layer", "delegate"; "": by layer where the .etrecord tells them
};

// Writes the program's graph for Model Explorer, and beside it a file of node data for each experiment and
// comparison of the runs. Returns the files, the graph's first. Throws Error (kUsage, kBadInput) for what
// cannot be drawn, and for runs of another program; (kInterrupted) with no file written in part.
std::vector<std::filesystem::path> WriteModelExplorer(const ModelExplorerOptions& options,
                                                      WorkflowProgress& progress);

}  // namespace etprof
