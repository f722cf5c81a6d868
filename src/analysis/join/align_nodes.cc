#include "analysis/join/align_nodes.h"

#include <algorithm>
#include <limits>
#include <map>
#include <string_view>

namespace etprof {
namespace {

constexpr int kUnlikely = 8;  // what nothing explains, against 1 for what XNNPACK is known to do
constexpr std::size_t kMostCells = std::size_t{1} << 24U;
constexpr std::size_t kMostSteps = std::size_t{1} << 14U;  // of all ways through a part together

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

// What XNNPACK calls an operator that it made of a node, where that is not the node's own name.
struct Names {
  std::string_view type;
  std::initializer_list<std::string_view> stems;
};
// A pointwise convolution runs as a fully connected layer, a concatenation as copies.
const Names kNamesOfOperators[] = {
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

bool Fits(std::string_view type, std::string_view stem) {
  if (IsUnary(type) && IsOneOf(stem, {"Unary Elementwise", "Invalid Unary Op"})) return true;
  if (IsBinary(type) && IsOneOf(stem, {"Binary Elementwise", "Invalid Binary Op"})) return true;
  for (const Names& names : kNamesOfOperators) {
    if (names.type == type) return std::ranges::find(names.stems, stem) != names.stems.end();
  }
  return type.starts_with("XNN") && type.substr(3) == stem;
}

// What XNNPACK may leave out: it computes a clamp with what precedes it, and pads within a convolution.
int CostOfSkipping(const XnnNode& node) {
  return IsOneOf(node.type, {"XNNClamp", "XNNCopy", "XNNStaticConstantPad", "XNNStaticReshape", "XNNConvert"})
             ? 1
             : kUnlikely;
}

// What XNNPACK adds when it loads a graph.
int CostOfInserting(std::string_view stem) {
  return IsOneOf(stem, {"Convert", "Copy", "Pack LH", "Transpose"}) ? 1 : kUnlikely;
}

class Aligner {
 public:
  Aligner(const XnnGraph& graph, const std::vector<std::string>& stems)
      : nodes_(graph.nodes),
        stems_(stems),
        width_(stems.size() + 1),
        ahead_((graph.nodes.size() + 1) * width_, 0),
        behind_(ahead_.size(), std::numeric_limits<int>::max() / 2) {}

  Alignment Run() {
    Fill();
    Alignment aligned;
    aligned.operators.resize(stems_.size());
    Trace(aligned.operators);
    AddCandidates(aligned.operators);
    AddParts(aligned.parts);
    return aligned;
  }

 private:
  int& Ahead(std::size_t i, std::size_t j) { return ahead_[i * width_ + j]; }    // the cost of what follows
  int& Behind(std::size_t i, std::size_t j) { return behind_[i * width_ + j]; }  // of what precedes
  bool Matches(std::size_t i, std::size_t j) const {
    return i < nodes_.size() && j < stems_.size() && Fits(nodes_[i].type, stems_[j]);
  }
  // A bounded binary node runs as two operators.
  bool MatchesTwo(std::size_t i, std::size_t j) const {
    return Matches(i, j) && j + 1 < stems_.size() && IsBinary(nodes_[i].type) &&
           (nodes_[i].output_min || nodes_[i].output_max) && stems_[j + 1] == "Clamp";
  }

  void Fill() {
    for (std::size_t i = nodes_.size() + 1; i-- > 0;) {
      for (std::size_t j = width_; j-- > 0;) {
        if (i == nodes_.size() && j == stems_.size()) continue;
        int best = std::numeric_limits<int>::max();
        if (Matches(i, j)) best = std::min(best, Ahead(i + 1, j + 1));
        if (MatchesTwo(i, j)) best = std::min(best, Ahead(i + 1, j + 2));
        if (i < nodes_.size()) best = std::min(best, Ahead(i + 1, j) + CostOfSkipping(nodes_[i]));
        if (j < stems_.size()) best = std::min(best, Ahead(i, j + 1) + CostOfInserting(stems_[j]));
        Ahead(i, j) = best;
      }
    }
    Behind(0, 0) = 0;
    for (std::size_t i = 0; i <= nodes_.size(); ++i) {
      for (std::size_t j = 0; j < width_; ++j) {
        const int here = Behind(i, j);
        const auto reach = [&](std::size_t to_i, std::size_t to_j, int cost) {
          Behind(to_i, to_j) = std::min(Behind(to_i, to_j), here + cost);
        };
        if (Matches(i, j)) reach(i + 1, j + 1, 0);
        if (MatchesTwo(i, j)) reach(i + 1, j + 2, 0);
        if (i < nodes_.size()) reach(i + 1, j, CostOfSkipping(nodes_[i]));
        if (j < stems_.size()) reach(i, j + 1, CostOfInserting(stems_[j]));
      }
    }
  }

  // One best alignment: nodes are skipped as late as can be, so that what is left out comes after what it is
  // fused into.
  void Trace(std::vector<AlignedOperator>& aligned) {
    std::map<std::uint32_t, std::size_t> made_by;  // id of a value: the operator that it comes from
    std::vector<std::size_t> skipped;
    std::size_t i = 0, j = 0;
    while (i < nodes_.size() || j < stems_.size()) {
      const int cost = Ahead(i, j);
      if (MatchesTwo(i, j) && cost == Ahead(i + 1, j + 2)) {
        aligned[j].node = aligned[j + 1].node = i;
        for (const std::uint32_t id : nodes_[i].outputs) made_by[id] = j + 1;
        ++i, j += 2;
      } else if (Matches(i, j) && cost == Ahead(i + 1, j + 1)) {
        aligned[j].node = i;
        for (const std::uint32_t id : nodes_[i].outputs) made_by[id] = j;
        ++i, ++j;
      } else if (j < stems_.size() && cost == Ahead(i, j + 1) + CostOfInserting(stems_[j])) {
        aligned[j].inserted = CostOfInserting(stems_[j]) < kUnlikely;
        ++j;
      } else {
        if (CostOfSkipping(nodes_[i]) < kUnlikely) skipped.push_back(i);
        ++i;
      }
    }
    for (const std::size_t node : skipped) Fuse(node, made_by, aligned);
  }

  // What was left out runs as part of the operator that it takes its values from; a conversion before an
  // elementwise node is part of that one's table.
  void Fuse(std::size_t node, std::map<std::uint32_t, std::size_t>& made_by,
            std::vector<AlignedOperator>& aligned) {
    if (nodes_[node].type == "XNNConvert") {
      for (AlignedOperator& op : aligned) {
        if (!op.node || *op.node <= node || !IsUnary(nodes_[*op.node].type)) continue;
        const std::vector<std::uint32_t>& read = nodes_[*op.node].inputs;
        if (nodes_[node].outputs.empty() || std::ranges::find(read, nodes_[node].outputs[0]) == read.end())
          continue;
        op.fused.push_back(node);
        return;
      }
    }
    if (nodes_[node].inputs.empty()) return;
    const auto maker = made_by.find(nodes_[node].inputs[0]);
    if (maker == made_by.end()) return;
    const std::size_t op = maker->second;
    aligned[op].fused.push_back(node);
    for (const std::uint32_t id : nodes_[node].outputs) made_by[id] = op;
  }

  void AddCandidates(std::vector<AlignedOperator>& aligned) {
    const int best = Ahead(0, 0);
    for (std::size_t j = 0; j < stems_.size(); ++j) {
      for (std::size_t i = 0; i < nodes_.size(); ++i) {
        const bool one = Matches(i, j) && Behind(i, j) + Ahead(i + 1, j + 1) == best;
        const bool first = MatchesTwo(i, j) && Behind(i, j) + Ahead(i + 1, j + 2) == best;
        const bool second = j > 0 && MatchesTwo(i, j - 1) && Behind(i, j - 1) + Ahead(i + 1, j + 1) == best;
        if (one || first || second) aligned[j].candidates.push_back(i);
      }
    }
  }

  struct Cell {
    std::size_t i = 0, j = 0;
    bool operator==(const Cell&) const = default;
  };
  static Cell After(const Cell& cell, const AlignmentStep& step) {
    return {cell.i + (step.node ? 1 : 0), cell.j + step.count};
  }

  // The steps that best alignments take from a cell that they go through.
  std::vector<AlignmentStep> BestSteps(const Cell& cell) {
    const auto [i, j] = cell;
    const int cost = Ahead(i, j);
    std::vector<AlignmentStep> steps;
    if (Matches(i, j) && cost == Ahead(i + 1, j + 1)) steps.push_back({i, j, 1, true});
    if (MatchesTwo(i, j) && cost == Ahead(i + 1, j + 2)) steps.push_back({i, j, 2, true});
    if (i < nodes_.size()) {
      const int skipping = CostOfSkipping(nodes_[i]);
      if (cost == Ahead(i + 1, j) + skipping) steps.push_back({i, j, 0, skipping < kUnlikely});
    }
    if (j < stems_.size()) {
      const int inserting = CostOfInserting(stems_[j]);
      if (cost == Ahead(i, j + 1) + inserting) steps.push_back({std::nullopt, j, 1, inserting < kUnlikely});
    }
    return steps;
  }

  // The best alignments part only between cells that all of them go through: the only one with its sum of
  // indices, and no step leads from a smaller sum to a larger one.
  void AddParts(std::vector<Alignment::Part>& parts) {
    const std::size_t last = nodes_.size() + stems_.size();
    std::vector<std::size_t> cells(last + 1, 0), begin_over(last + 2, 0), end_over(last + 2, 0);
    std::vector<Cell> any(last + 1);
    const int best = Ahead(0, 0);
    for (std::size_t i = 0; i <= nodes_.size(); ++i) {
      for (std::size_t j = 0; j < width_; ++j) {
        if (Behind(i, j) + Ahead(i, j) != best) continue;
        ++cells[i + j];
        any[i + j] = {i, j};
        for (const AlignmentStep& step : BestSteps({i, j})) {
          const Cell to = After({i, j}, step);
          ++begin_over[i + j + 1];
          ++end_over[to.i + to.j];
        }
      }
    }
    std::size_t over = 0;
    std::optional<Cell> from;
    for (std::size_t sum = 0; sum <= last; ++sum) {
      over += begin_over[sum];
      over -= end_over[sum];
      if (cells[sum] != 1 || over != 0) continue;
      if (from) parts.push_back({Ways(*from, any[sum])});
      from = any[sum];
    }
  }

  std::vector<std::vector<AlignmentStep>> Ways(const Cell& from, const Cell& to) {
    std::vector<std::vector<AlignmentStep>> ways;
    std::vector<std::pair<Cell, std::vector<AlignmentStep>>> open = {{from, {}}};
    std::size_t taken = 0;
    while (!open.empty()) {
      const auto [cell, way] = std::move(open.back());
      open.pop_back();
      taken += way.size();
      if (taken > kMostSteps) return {};
      if (cell == to) {
        ways.push_back(way);
        continue;
      }
      for (const AlignmentStep& step : BestSteps(cell)) {
        open.emplace_back(After(cell, step), way);
        open.back().second.push_back(step);
      }
    }
    return ways;
  }

  const std::vector<XnnNode>& nodes_;
  const std::vector<std::string>& stems_;
  std::size_t width_;
  std::vector<int> ahead_, behind_;
};

}  // namespace

std::optional<Alignment> AlignNodes(const XnnGraph& graph, const std::vector<std::string>& stems) {
  if ((graph.nodes.size() + 1) > kMostCells / (stems.size() + 1)) return std::nullopt;
  return Aligner(graph, stems).Run();
}

}  // namespace etprof
