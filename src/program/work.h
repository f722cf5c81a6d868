#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "program/program.h"
#include "program/xnn/xnn_graph.h"

namespace etprof {

// Multiply-adds (MACs): half of what torch.utils.flop_counter counts as FLOPs, by its formulas
// (torch/utils/flop_counter.py: conv_flop_count, mm_flop, addmm_flop, bmm_flop, sdpa_flop). A bias is not
// counted, nor is anything elementwise, pooled, normalized or moved: such a node has 0.
//
//   convolution, also depthwise   elements of the output x kernel height x kernel width x input channels of a
//   group transposed convolution        elements of the input x kernel height x kernel width x output
//   channels of a group fully connected               elements of the output x input channels (the filter is
//   [out, in], or [in, out]
//                                 with XNN_FLAG_TRANSPOSE_WEIGHTS)
//   batch matrix multiply         elements of the output x last size of the first input
//   scaled dot product attention  (elements of the query + elements of the output) x number of keys
//
// Shapes are those of the file: of dynamic ones the upper bound. Absent: not known, as of a node that the
// schema of this build has not, or of shapes that do not fit the formula.
std::optional<std::int64_t> MultiplyAdds(const XnnNode& node, const XnnGraph& graph);

// The same of a portable kernel: aten::convolution, mm, addmm, bmm, baddbmm and linear. Of any other operator
// of aten, dim_order_ops, executorch_prim and of quantization 0; of one of another library it is not known.
std::optional<std::int64_t> MultiplyAdds(const Instruction& kernel, const Method& method);

// Of all nodes; absent where one is not known.
std::optional<std::int64_t> MultiplyAdds(const XnnGraph& graph);

// What an operator has to do at least: its multiply-adds, and its compulsory traffic, each tensor that it
// reads or writes moved once between memory and the processor, whatever caches hold. What only gives a tensor
// another shape (XNNStaticReshape, executorch_prim::et_view) need not move anything: 0 bytes. Absent: not
// known.
struct Work {
  std::optional<std::int64_t> macs;
  std::optional<Bytes> read;     // inputs and constants
  std::optional<Bytes> written;  // outputs
  std::optional<Bytes> bytes;    // both
  bool operator==(const Work&) const = default;
};

// Of nodes that run as one operator: what passes between them is neither read nor written. `nodes` are
// indices into XnnGraph::nodes.
Work WorkOf(const std::vector<std::size_t>& nodes, const XnnGraph& graph);

// Of a portable kernel.
Work WorkOf(const Instruction& kernel, const Method& method);

}  // namespace etprof
