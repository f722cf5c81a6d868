#include "profile/analysis/join/align_nodes.h"

#include <algorithm>
#include <limits>
#include <map>
#include <string_view>

namespace etprof {
namespace {

constexpr int kUnexplainedStepCost = 8;  // other steps cost 1; see AlignmentStep::explained

constexpr std::size_t kMaxTableCells = std::size_t{1} << 24U;
// The maximum number of steps in all alternatives for a part of an alignment.
constexpr std::size_t kMaxAlternativeSteps = std::size_t{1} << 14U;

bool IsOneOf(std::string_view text, std::initializer_list<std::string_view> list) {
  return std::ranges::find(list, text) != list.end();
}

bool IsBinary(std::string_view type) {
  return IsOneOf(type,
                 {"XNNAdd", "XNNSubtract", "XNNMultiply", "XNNDiv", "XNNMinimum", "XNNMaximum", "XNNPReLU"});
}

bool IsUnary(std::string_view type) {
  return IsOneOf(type,
                 {"XNNAbs", "XNNCeiling", "XNNClamp", "XNNConvert", "XNNCos", "XNNELU", "XNNExp", "XNNFloor",
                  "XNNGelu", "XNNHardswish", "XNNLeakyReLU", "XNNLog", "XNNNegate", "XNNReciprocalSquareRoot",
                  "XNNSigmoid", "XNNSin", "XNNSquare", "XNNSquareRoot", "XNNTanh"});
}

// The names of XNNPACK operators for a node, if they differ from the node's name.
struct OperatorNames {
  std::string_view type;
  std::initializer_list<std::string_view> stems;
};
// A pointwise convolution runs as a fully connected layer, and a concatenation as copies.
const OperatorNames kOperatorNames[] = {
    {"XNNFullyConnected", {"Fully Connected", "Dynamic Fully Connected"}},
    {"XNNStaticTranspose", {"Transpose"}},
    {"XNNConv2d", {"Convolution", "Fully Connected"}},
    {"XNNDepthwiseConv2d", {"Convolution"}},
    {"XNNConvTranspose2d", {"Deconvolution"}},
    {"XNNDiv", {"Divide"}},
    {"XNNStaticResizeBilinear2D", {"Resize Bilinear"}},
    {"XNNStaticConstantPad", {"Constant Pad"}},
    {"XNNAvgPooling2d", {"Average Pooling"}},
    {"XNNMaxPooling2d", {"Max Pooling"}},
    {"XNNArgMaxPooling2d", {"ArgMax Pooling", "Argmax Pooling"}},
    {"XNNGlobalAvgPooling2d", {"Mean", "Global Average Pooling"}},
    {"XNNStaticReshape", {"Static Reshape", "Copy", "Reshape"}},
    {"XNNSquareRoot", {"Square Root"}},
    {"XNNReciprocalSquareRoot", {"Reciprocal Square Root"}},
    {"XNNHardswish", {"HardSwish"}},
    {"XNNLeakyReLU", {"LeakyReLU", "Leaky ReLU"}},
    {"XNNConcatenate2", {"Copy", "Concatenate"}},
    {"XNNConcatenate3", {"Copy", "Concatenate"}},
    {"XNNConcatenate4", {"Copy", "Concatenate"}},
    {"XNNConcatenate5", {"Copy", "Concatenate"}},
    {"XNNStaticSlice", {"Slice"}},
    {"XNNScaledDotProductAttention", {"Scaled Dot-Product Attention"}},
    {"XNNBatchMatrixMultiply", {"Batch Matrix Multiply", "Dynamic Fully Connected"}},
    {"XNNGelu", {"GELU", "ApproxGELU"}},
    {"XNNTanh", {"TanH", "Tanh"}},
    {"XNNSin", {"Sine"}},
    {"XNNCos", {"Cosine"}},
};

// Returns whether a node of this type may run as an XNNPACK operator whose name has this stem.
bool MatchesStem(std::string_view type, std::string_view stem) {
  if (IsUnary(type) && IsOneOf(stem, {"Unary Elementwise", "Invalid Unary Op"})) return true;
  if (IsBinary(type) && IsOneOf(stem, {"Binary Elementwise", "Invalid Binary Op"})) return true;
  for (const OperatorNames& names : kOperatorNames) {
    if (names.type == type) return std::ranges::find(names.stems, stem) != names.stems.end();
  }
  return type.starts_with("XNN") && type.substr(3) == stem;
}

// The cost of a node without an operator. XNNPACK fuses clamps into preceding nodes, and pads within
// convolutions.
int SkipCost(const XnnNode& node) {
  return IsOneOf(node.type, {"XNNClamp", "XNNCopy", "XNNStaticConstantPad", "XNNStaticReshape", "XNNConvert"})
             ? 1
             : kUnexplainedStepCost;
}

// The cost of an operator without a node. XNNPACK inserts some operators when it loads a graph.
int InsertionCost(std::string_view stem) {
  return IsOneOf(stem, {"Convert", "Copy", "Pack LH", "Transpose"}) ? 1 : kUnexplainedStepCost;
}

class Aligner {
 public:
  Aligner(const XnnGraph& graph, const std::vector<std::string>& stems)
      : nodes_(graph.nodes),
        stems_(stems),
        width_(stems.size() + 1),
        cost_after_((graph.nodes.size() + 1) * width_, 0),
        cost_before_(cost_after_.size(), std::numeric_limits<int>::max() / 2) {}

  Alignment Run() {
    FillTables();
    Alignment alignment;
    alignment.operators.resize(stems_.size());
    TraceBack(alignment.operators);
    AddCandidates(alignment.operators);
    AddParts(alignment.parts);
    return alignment;
  }

 private:
  // The lowest cost from a cell to the end, and from the beginning to the cell.
  int& CostAfter(std::size_t i, std::size_t j) { return cost_after_[i * width_ + j]; }
  int& CostBefore(std::size_t i, std::size_t j) { return cost_before_[i * width_ + j]; }
  bool Matches(std::size_t i, std::size_t j) const {
    return i < nodes_.size() && j < stems_.size() && MatchesStem(nodes_[i].type, stems_[j]);
  }
  // Returns whether node i is a bounded binary node, which runs as the operators j and j + 1 (Clamp).
  bool MatchesTwoOperators(std::size_t i, std::size_t j) const {
    return Matches(i, j) && j + 1 < stems_.size() && IsBinary(nodes_[i].type) &&
           (nodes_[i].output_min || nodes_[i].output_max) && stems_[j + 1] == "Clamp";
  }

  void FillTables() {
    for (std::size_t i = nodes_.size() + 1; i-- > 0;) {
      for (std::size_t j = width_; j-- > 0;) {
        if (i == nodes_.size() && j == stems_.size()) continue;
        int best = std::numeric_limits<int>::max();
        if (Matches(i, j)) best = std::min(best, CostAfter(i + 1, j + 1));
        if (MatchesTwoOperators(i, j)) best = std::min(best, CostAfter(i + 1, j + 2));
        if (i < nodes_.size()) best = std::min(best, CostAfter(i + 1, j) + SkipCost(nodes_[i]));
        if (j < stems_.size()) best = std::min(best, CostAfter(i, j + 1) + InsertionCost(stems_[j]));
        CostAfter(i, j) = best;
      }
    }
    CostBefore(0, 0) = 0;
    for (std::size_t i = 0; i <= nodes_.size(); ++i) {
      for (std::size_t j = 0; j < width_; ++j) {
        const int cost_so_far = CostBefore(i, j);
        const auto relax = [&](std::size_t to_i, std::size_t to_j, int cost) {
          CostBefore(to_i, to_j) = std::min(CostBefore(to_i, to_j), cost_so_far + cost);
        };
        if (Matches(i, j)) relax(i + 1, j + 1, 0);
        if (MatchesTwoOperators(i, j)) relax(i + 1, j + 2, 0);
        if (i < nodes_.size()) relax(i + 1, j, SkipCost(nodes_[i]));
        if (j < stems_.size()) relax(i, j + 1, InsertionCost(stems_[j]));
      }
    }
  }

  // Traces one best alignment. Nodes are skipped as late as possible, so that a fused node comes after the
  // node it is fused into.
  void TraceBack(std::vector<AlignedOperator>& aligned) {
    std::map<std::uint32_t, std::size_t> producers;  // keyed by value id: the operator that computes it
    std::vector<std::size_t> skipped;
    std::size_t i = 0, j = 0;
    while (i < nodes_.size() || j < stems_.size()) {
      const int cost = CostAfter(i, j);
      if (MatchesTwoOperators(i, j) && cost == CostAfter(i + 1, j + 2)) {
        aligned[j].node = aligned[j + 1].node = i;
        for (const std::uint32_t id : nodes_[i].outputs) producers[id] = j + 1;
        ++i, j += 2;
      } else if (Matches(i, j) && cost == CostAfter(i + 1, j + 1)) {
        aligned[j].node = i;
        for (const std::uint32_t id : nodes_[i].outputs) producers[id] = j;
        ++i, ++j;
      } else if (j < stems_.size() && cost == CostAfter(i, j + 1) + InsertionCost(stems_[j])) {
        aligned[j].inserted = InsertionCost(stems_[j]) < kUnexplainedStepCost;
        ++j;
      } else {
        if (SkipCost(nodes_[i]) < kUnexplainedStepCost) skipped.push_back(i);
        ++i;
      }
    }
    for (const std::size_t node : skipped) Fuse(node, producers, aligned);
  }

  // Assigns a skipped node to the operator that computes its input; a conversion before an elementwise node
  // belongs to that node's operator.
  void Fuse(std::size_t node, std::map<std::uint32_t, std::size_t>& producers,
            std::vector<AlignedOperator>& aligned) {
    if (nodes_[node].type == "XNNConvert") {
      for (AlignedOperator& op : aligned) {
        if (!op.node || *op.node <= node || !IsUnary(nodes_[*op.node].type)) continue;
        const std::vector<std::uint32_t>& inputs = nodes_[*op.node].inputs;
        if (nodes_[node].outputs.empty() ||
            std::ranges::find(inputs, nodes_[node].outputs[0]) == inputs.end())
          continue;
        op.fused.push_back(node);
        return;
      }
    }
    if (nodes_[node].inputs.empty()) return;
    const auto producer = producers.find(nodes_[node].inputs[0]);
    if (producer == producers.end()) return;
    const std::size_t op = producer->second;
    aligned[op].fused.push_back(node);
    for (const std::uint32_t id : nodes_[node].outputs) producers[id] = op;
  }

  void AddCandidates(std::vector<AlignedOperator>& aligned) {
    const int best = CostAfter(0, 0);
    for (std::size_t j = 0; j < stems_.size(); ++j) {
      for (std::size_t i = 0; i < nodes_.size(); ++i) {
        const bool is_only_operator = Matches(i, j) && CostBefore(i, j) + CostAfter(i + 1, j + 1) == best;
        const bool is_first_operator =
            MatchesTwoOperators(i, j) && CostBefore(i, j) + CostAfter(i + 1, j + 2) == best;
        const bool is_second_operator =
            j > 0 && MatchesTwoOperators(i, j - 1) && CostBefore(i, j - 1) + CostAfter(i + 1, j + 1) == best;
        if (is_only_operator || is_first_operator || is_second_operator) aligned[j].candidates.push_back(i);
      }
    }
  }

  struct Cell {
    std::size_t i = 0, j = 0;
    bool operator==(const Cell&) const = default;
  };
  static Cell CellAfter(const Cell& cell, const AlignmentStep& step) {
    return {cell.i + (step.node ? 1 : 0), cell.j + step.count};
  }

  // The next steps of all best alignments that visit the cell, which at least one does.
  std::vector<AlignmentStep> BestSteps(const Cell& cell) {
    const auto [i, j] = cell;
    const int cost = CostAfter(i, j);
    std::vector<AlignmentStep> steps;
    if (Matches(i, j) && cost == CostAfter(i + 1, j + 1))
      steps.push_back({.node = i, .op = j, .count = 1, .explained = true});
    if (MatchesTwoOperators(i, j) && cost == CostAfter(i + 1, j + 2))
      steps.push_back({.node = i, .op = j, .count = 2, .explained = true});
    if (i < nodes_.size()) {
      const int skip_cost = SkipCost(nodes_[i]);
      if (cost == CostAfter(i + 1, j) + skip_cost)
        steps.push_back({.node = i, .op = j, .count = 0, .explained = skip_cost < kUnexplainedStepCost});
    }
    if (j < stems_.size()) {
      const int insertion_cost = InsertionCost(stems_[j]);
      if (cost == CostAfter(i, j + 1) + insertion_cost)
        steps.push_back(
            {.node = std::nullopt, .op = j, .count = 1, .explained = insertion_cost < kUnexplainedStepCost});
    }
    return steps;
  }

  // Splits the best alignments at the cells that all of them visit. Such a cell is the only cell on a best
  // alignment with its sum of indices, and no step jumps over that sum.
  void AddParts(std::vector<Alignment::Part>& parts) {
    const std::size_t last = nodes_.size() + stems_.size();
    std::vector<std::size_t> cells(last + 1, 0), steps_begin(last + 2, 0), steps_end(last + 2, 0);
    std::vector<Cell> cell_by_sum(last + 1);
    const int best = CostAfter(0, 0);
    for (std::size_t i = 0; i <= nodes_.size(); ++i) {
      for (std::size_t j = 0; j < width_; ++j) {
        if (CostBefore(i, j) + CostAfter(i, j) != best) continue;
        ++cells[i + j];
        cell_by_sum[i + j] = {i, j};
        for (const AlignmentStep& step : BestSteps({i, j})) {
          const Cell to = CellAfter({i, j}, step);
          ++steps_begin[i + j + 1];
          ++steps_end[to.i + to.j];
        }
      }
    }
    std::size_t open_steps = 0;
    std::optional<Cell> from;
    for (std::size_t sum = 0; sum <= last; ++sum) {
      open_steps += steps_begin[sum];
      open_steps -= steps_end[sum];
      if (cells[sum] != 1 || open_steps != 0) continue;
      if (from) parts.push_back({FindAlternatives(*from, cell_by_sum[sum])});
      from = cell_by_sum[sum];
    }
  }

  std::vector<std::vector<AlignmentStep>> FindAlternatives(const Cell& from, const Cell& to) {
    std::vector<std::vector<AlignmentStep>> alternatives;
    std::vector<std::pair<Cell, std::vector<AlignmentStep>>> open_paths = {{from, {}}};
    std::size_t num_steps = 0;
    while (!open_paths.empty()) {
      const auto [cell, path] = std::move(open_paths.back());
      open_paths.pop_back();
      num_steps += path.size();
      if (num_steps > kMaxAlternativeSteps) return {};
      if (cell == to) {
        alternatives.push_back(path);
        continue;
      }
      for (const AlignmentStep& step : BestSteps(cell)) {
        open_paths.emplace_back(CellAfter(cell, step), path);
        open_paths.back().second.push_back(step);
      }
    }
    return alternatives;
  }

  const std::vector<XnnNode>& nodes_;
  const std::vector<std::string>& stems_;
  std::size_t width_;
  std::vector<int> cost_after_, cost_before_;
};

}  // namespace

std::optional<Alignment> AlignNodes(const XnnGraph& graph, const std::vector<std::string>& stems) {
  if ((graph.nodes.size() + 1) > kMaxTableCells / (stems.size() + 1)) return std::nullopt;
  return Aligner(graph, stems).Run();
}

}  // namespace etprof
