#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/units.h"
#include "format/program/program.h"
#include "format/program/source/source_map.h"
#include "format/program/tensors.h"
#include "format/program/work.h"
#include "format/program/xnn/kleidiai.h"
#include "profile/analysis/join/program_join.h"
#include "report/report.h"

namespace etprof {

// The time of a node in an experiment. Several operators may run as one node (a bounded Add runs as Add and
// Clamp), and an operator may run in several passes of a loop; the values are sums over them.
struct NodeTime {
  std::vector<std::size_t> operators;  // indices into Profile::operators
  Nanoseconds total_self = 0;          // ns; sum over the common set of runs
  double mean_self_ns = 0;             // total_self / number of runs in the common set
  double share = 0;                    // share of Method::execute, 0 to 1
};

// A node of a method's graph.
struct ModelNode {
  enum class Kind {
    kInput,      // input of the method
    kOutput,     // output of the method
    kKernel,     // an instruction that is not delegated
    kDelegated,  // a node of a delegate's graph
    kDelegate,   // a call of a delegate whose payload is not read
    kMove,       // move of a value at the end of a branch
    kInserted,   // not in the program: XNNPACK inserted it when it loaded the graph
    kUnplaced,   // not in the program: an executed operator that fits no node
  };
  Kind kind = Kind::kKernel;
  std::string id;                  // unique in the graph; equal for all runs of the program
  std::string label;               // "Conv2d", "aten::mean.out"
  std::vector<std::string> group;  // enclosing groups, outermost first
  struct Edge {
    std::size_t node = 0;    // producer: index into ModelGraph::nodes
    std::size_t output = 0;  // output of the producer
    std::size_t input = 0;   // input of this node, without constants
  };
  std::vector<Edge> edges;
  std::vector<OperatorTensor> constants, outputs;
  // From ShapeDynamism: unless static, sizes and `work` are upper bounds or guesses.
  ProgramTensor::Shape shapes = ProgramTensor::Shape::kStatic;

  std::optional<int> chain, instruction;   // for nodes that are, or are in, an instruction
  std::string delegate;                    // "XnnpackBackend at instruction 3"; "": not delegated
  std::optional<std::size_t> graph_node;   // if kDelegated: index into XnnGraph::nodes
  std::optional<std::string> layer;        // path of the innermost module, "" the model itself
  std::string layer_type, source;          // "": not known; source: "model.py:142"
  bool is_partitioner_conversion = false;  // a layout conversion that the partitioner inserted
  Work work;
  std::optional<KleidiaiUsage> kleidiai;

  std::map<std::size_t, NodeTime> times;  // keyed by index into Report::experiments
  // The node into which this node was, or may have been, fused, by index into Report::experiments.
  std::map<std::size_t, std::size_t> fused_into, may_be_fused_into;
};

struct ModelGraph {
  enum class Grouping { kLayer, kDelegate };
  std::string method;
  Grouping grouping = Grouping::kDelegate;
  std::vector<ModelNode> nodes;  // inputs, nodes of the instructions in order, outputs, then other nodes
  std::map<std::string, std::string> types;  // types of modules by path, if known
  std::vector<std::size_t> experiments;      // indices into Report::experiments whose times are on the nodes
};

// Builds the graph of a method without times. Nodes are grouped by the model's modules, or by delegate if
// there are no sources (null) or with `by_delegate`. Constants are not nodes. Throws Error (kBadInput) for a
// method whose calls together have more than a million nodes.
ModelGraph BuildModelGraph(const Method& method, const Program& program, const MethodSources* sources,
                           bool by_delegate);

// Adds the times of an experiment. The time of each operator is on exactly one node: the first of fused
// nodes, the first of several nodes that fit equally well, and an extra node for inserted operators and
// operators that fit no node. Adds nothing if the experiment's operators are not joined to this method.
void AddTimes(const Report& report, std::size_t experiment, const Method& method, ModelGraph& graph);

// A comparison of a node's times in two variants.
struct NodeComparison {
  std::optional<double> ratio;                    // from SpeedupRatio; above 1, the candidate is faster
  std::optional<TimeComparison> time_comparison;  // if exactly one operator ran as the node in each variant
};
// Absent if the node has no time in a variant.
std::optional<NodeComparison> CompareNode(const ReportComparison& comparison, const ModelNode& node);

}  // namespace etprof
