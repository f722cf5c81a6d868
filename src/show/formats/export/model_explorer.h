#pragma once

#include <cstddef>
#include <ostream>
#include <string>
#include <vector>

#include "report/graph/model_graph.h"
#include "report/report.h"

// Writes the files of Model Explorer (PyPI ai-edge-model-explorer) in its JSON. The keys are those of its
// graph_builder.py and node_data_builder.py.
namespace etprof {

struct ExplorerModel {
  std::string file;                // name of the .pte file
  std::vector<ModelGraph> graphs;  // one per method
  const Report* report = nullptr;  // source of the times on the nodes; null: no times
};

// Writes the graph collection: one graph per method, with the method's name.
void RenderExplorerGraphs(const ExplorerModel& model, std::ostream& out);

// Writes node data, by which Model Explorer colors nodes. RenderExplorerTimes: mean self time of an
// experiment (index into Report::experiments) in milliseconds. RenderExplorerRatios: baseline / candidate of
// a comparison (index into Report::comparisons), colored by the verdict.
void RenderExplorerTimes(const ExplorerModel& model, std::size_t experiment, std::ostream& out);
void RenderExplorerRatios(const ExplorerModel& model, std::size_t comparison, std::ostream& out);

// Indices of the comparisons that RenderExplorerRatios can show: both variants have times on nodes of one
// graph.
std::vector<std::size_t> ExplorerComparisons(const ExplorerModel& model);

}  // namespace etprof
