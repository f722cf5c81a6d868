#pragma once

#include <cstddef>
#include <ostream>
#include <string>
#include <vector>

#include "report/graph/model_graph.h"
#include "report/report.h"

// The files of Model Explorer (PyPI ai-edge-model-explorer), in its own JSON: the names of keys are those of
// its graph_builder.py and node_data_builder.py.
namespace etprof {

struct ExplorerModel {
  std::string file;                // the .pte's name
  std::vector<ModelGraph> graphs;  // of its methods
  const Report* report = nullptr;  // whose times stand on the nodes; null: none
};

// The graph collection: one graph a method, named as it is.
void RenderExplorerGraphs(const ExplorerModel& model, std::ostream& out);

// Node data, by which Model Explorer colors nodes: mean self time of an experiment (in Report::experiments)
// in milliseconds; of a comparison (in Report::comparisons) baseline / candidate, colored by the verdict.
void RenderExplorerTimes(const ExplorerModel& model, std::size_t experiment, std::ostream& out);
void RenderExplorerRatios(const ExplorerModel& model, std::size_t comparison, std::ostream& out);

// What there is of the second: comparisons both of whose sides have times on nodes of one graph.
std::vector<std::size_t> ExplorerComparisons(const ExplorerModel& model);

}  // namespace etprof
