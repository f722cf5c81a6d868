#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analysis/join/program_join.h"
#include "core/units.h"
#include "program/program.h"
#include "program/source/source_map.h"
#include "program/tensors.h"
#include "program/work.h"
#include "program/xnn/kleidiai.h"
#include "report/report.h"

namespace etprof {

// What an experiment measured of a node. Several operators may run as one node (a bounded Add runs as Add and
// Clamp), and one in several passes of a loop: sums over them.
struct NodeTime {
  std::vector<std::size_t> operators;  // in Profile::operators
  Nanoseconds total_self = 0;          // over the common set of runs
  double mean_self = 0;                // ns: total_self over the number of these runs
  double share = 0;                    // of Method::execute, 0 to 1
};

// One thing that a method does, as a node of its graph.
struct ModelNode {
  enum class Kind {
    kInput,      // of the method
    kOutput,     // of the method
    kKernel,     // an instruction that is not delegated
    kDelegated,  // a node of a delegate's graph
    kDelegate,   // a call of a delegate whose payload is not read
    kMove,       // of a value, at the end of a branch
    kInserted,   // not of the program: XNNPACK made it when it loaded the graph
    kUnplaced,   // not of the program: an operator that ran and fits no node
  };
  Kind kind = Kind::kKernel;
  std::string id;                  // unique in the graph; the same for every run of the program
  std::string label;               // "Conv2d", "aten::mean.out"
  std::vector<std::string> group;  // of what it is part, from the outermost
  struct Edge {
    std::size_t node = 0;    // in ModelGraph::nodes, that it reads from
    std::size_t output = 0;  // of that node
    std::size_t input = 0;   // of this one, constants not counted
  };
  std::vector<Edge> edges;
  std::vector<OperatorTensor> constants, outputs;
  // Of what it reads and writes, as ShapesOf: sizes and `work` are the most, or no more than a guess.
  ProgramTensor::Shape shapes = ProgramTensor::Shape::kStatic;

  std::optional<int> chain, instruction;  // of what is an instruction, or in one
  std::string delegate;                   // "XnnpackBackend at instruction 3"; "": none
  std::optional<std::size_t> graph_node;  // kDelegated: in XnnGraph::nodes
  std::optional<std::string> layer;       // path of the innermost module, "" the model itself
  std::string layer_type, source;         // "" where not known; "model.py:142"
  bool between = false;                   // as OperatorSource::between
  Work work;
  std::optional<KleidiaiUse> kleidiai;

  std::map<std::size_t, NodeTime> times;  // by index into Report::experiments
  // Of nodes that ran as part of another, or may have: that one, by index into Report::experiments.
  std::map<std::size_t, std::size_t> ran_in, may_have_run_in;
};

struct ModelGraph {
  enum class Grouping { kLayer, kDelegate };
  std::string method;
  Grouping grouping = Grouping::kDelegate;
  std::vector<ModelNode> nodes;  // inputs, what the instructions do, in order, outputs, then others
  std::map<std::string, std::string> types;  // of modules, by path, where known
  std::vector<std::size_t> experiments;      // in Report::experiments: those whose times stand on the nodes
};

// The graph of a method without times. Without sources (null), or with `by_delegate`, nodes are grouped by
// the delegate that they are in, else by the model's modules. Constants are no nodes. Throws Error
// (kBadInput) for a method whose calls have more than a million nodes together.
ModelGraph GraphOf(const Method& method, const Program& program, const MethodSources* sources,
                   bool by_delegate);

// Adds what an experiment of the report measured. Every operator's time stands on exactly one node: of fused
// nodes on the first, of several that fit equally well on the first, of what XNNPACK inserted and of what
// fits no node on one of its own. Nothing where the experiment's operators are not joined to this method.
void AddTimes(const Report& report, std::size_t experiment, const Method& method, ModelGraph& graph);

// A node's time on two sides.
struct NodeComparison {
  std::optional<double> ratio;       // as RatioOf: above 1, the candidate is faster
  std::optional<Quantity> quantity;  // where one operator ran as the node on each side
};
// Absent where the node took no time on a side.
std::optional<NodeComparison> CompareNode(const ReportComparison& comparison, const ModelNode& node);

}  // namespace etprof
