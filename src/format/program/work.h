#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "format/program/program.h"
#include "format/program/xnn/xnn_graph.h"

namespace etprof {

// Counts multiply-accumulates (MACs): half of what torch.utils.flop_counter counts as FLOPs, by its formulas
// (torch/utils/flop_counter.py: conv_flop_count, mm_flop, addmm_flop, bmm_flop, sdpa_flop). Biases and
// elementwise, pooling, normalization, and data movement operators count as 0.
//
//   convolution, depthwise        output elements x kernel height x kernel width x input channels of a group
//   transposed convolution        input elements x kernel height x kernel width x output channels of a group
//   fully connected               output elements x input channels (the filter is [out, in], or [in, out]
//                                 with XNN_FLAG_TRANSPOSE_WEIGHTS)
//   batch matrix multiply         output elements x last size of the first input
//   scaled dot product attention  (query elements + output elements) x number of keys
//
// Shapes are those of the file: upper bounds for dynamic shapes. Absent if unknown, as for a node that is not
// in the schema of this build, or for shapes that do not fit the formula.
std::optional<std::int64_t> CountMacs(const XnnNode& node, const XnnGraph& graph);

// Counts the MACs of a portable kernel: aten::convolution, mm, addmm, bmm, baddbmm and linear. Other
// operators of aten, dim_order_ops, executorch_prim and of quantization count as 0; operators of other
// libraries are unknown.
std::optional<std::int64_t> CountMacs(const Instruction& kernel, const Method& method);

// The sum over all nodes; absent if a node is unknown.
std::optional<std::int64_t> CountMacs(const XnnGraph& graph);

// The minimum work of an operator: its MACs and its compulsory traffic, for which each tensor that it reads
// or writes moves once between memory and the processor, whatever is cached. Operators that only change a
// tensor's shape (XNNStaticReshape, executorch_prim::et_view) need not move anything and have 0 bytes.
// Absent numbers are unknown.
struct Work {
  std::optional<std::int64_t> macs;
  std::optional<Bytes> read;     // inputs and constants
  std::optional<Bytes> written;  // outputs
  std::optional<Bytes> bytes;    // read and written together
  bool operator==(const Work&) const = default;
};

// The work of a group of nodes that run as one operator; tensors that are only passed between them are not
// read or written. `nodes` are indices into XnnGraph::nodes.
Work ComputeWork(const std::vector<std::size_t>& nodes, const XnnGraph& graph);

// The work of a portable kernel.
Work ComputeWork(const Instruction& kernel, const Method& method);

}  // namespace etprof
