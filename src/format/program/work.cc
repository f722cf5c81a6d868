#include "format/program/work.h"

#include <string_view>

#include "format/program/dataflow.h"

namespace etprof {
namespace {

using OptionalCount = std::optional<std::int64_t>;
using Sizes = std::vector<std::int64_t>;

OptionalCount Elements(const Sizes* sizes) { return sizes == nullptr ? std::nullopt : ElementCount(*sizes); }

// The size of a dimension that is counted from the end, where 1 is the last dimension.
OptionalCount DimFromEnd(const Sizes* sizes, std::size_t position) {
  return sizes == nullptr ? std::nullopt : Dim(*sizes, sizes->size() - position);
}

const Sizes* FindShape(const XnnGraph& graph, const std::vector<std::uint32_t>& ids, std::size_t index) {
  const XnnValue* value = index < ids.size() ? graph.Find(ids[index]) : nullptr;
  return value == nullptr ? nullptr : &value->shape;
}

OptionalCount CountConvolution(const XnnNode& node, const XnnGraph& graph) {
  if (!node.convolution) return std::nullopt;
  const auto& c = *node.convolution;
  const OptionalCount kernel = CheckedProduct(c.kernel_height, c.kernel_width);
  if (node.type == "XNNConvTranspose2d")
    return CheckedProduct(Elements(FindShape(graph, node.inputs, 0)),
                          CheckedProduct(kernel, c.group_output_channels));
  return CheckedProduct(Elements(FindShape(graph, node.outputs, 0)),
                        CheckedProduct(kernel, c.group_input_channels));
}

// The arguments are aten::convolution.out(input, weight, bias, stride, padding, dilation, transposed,
// output_padding, groups, out).
OptionalCount CountAtenConvolution(const Sizes* input, const Sizes* weight, OptionalCount transposed,
                                   const Sizes* output) {
  if (input == nullptr || weight == nullptr || output == nullptr || weight->size() < 3 || !transposed)
    return std::nullopt;
  // The weight is [out, in / groups, kernel...]; in a transposed convolution [in, out / groups, kernel...].
  Sizes per_element(weight->begin() + 1, weight->end());
  return CheckedProduct(Elements(*transposed != 0 ? input : output), ElementCount(per_element));
}

// Returns whether a kernel of ExecuTorch's libraries with this name has no MACs. Operators that multiply
// matrices by an unknown formula are excluded.
bool HasNoMacs(std::string_view name) {
  if (name.starts_with("quantized_decomposed::")) return name.find("mixed") == std::string_view::npos;
  if (name == "aten::convolution_backward" || name.find("scaled_dot_product") != std::string_view::npos)
    return false;
  return name.starts_with("aten::") || name.starts_with("dim_order_ops::") ||
         name.starts_with("executorch_prim::");
}

// `get_tensor` returns an object with the type and shape of a value.
template <typename Number>
void AddBytes(const ReadWriteSet<Number>& flow, const auto& get_tensor, Work& work) {
  const auto sum_bytes = [&](const std::vector<Number>& values) {
    return SumEach(values, [&](Number number) {
      return SizeInBytes(get_tensor(number).type, get_tensor(number).shape);
    });
  };
  work.read = sum_bytes(flow.read);
  work.written = sum_bytes(flow.written);
  work.bytes = CheckedSum(work.read, work.written);
}

}  // namespace

const XnnValue* XnnGraph::Find(std::uint32_t id) const {
  const auto found = by_id.find(id);
  return found == by_id.end() ? nullptr : &values[found->second];
}

OptionalCount CountMacs(const XnnNode& node, const XnnGraph& graph) {
  const auto input = [&](std::size_t index) { return FindShape(graph, node.inputs, index); };
  const Sizes* output = FindShape(graph, node.outputs, 0);
  if (node.type.starts_with("XNNConv2d") || node.type == "XNNDepthwiseConv2d" ||
      node.type == "XNNConvTranspose2d")
    return CountConvolution(node, graph);
  if (node.type == "XNNFullyConnected") {
    const Sizes* filter = input(1);
    if (filter == nullptr || filter->size() != 2) return std::nullopt;
    return CheckedProduct(Elements(output), Dim(*filter, (node.flags & kXnnTransposeWeights) != 0 ? 0 : 1));
  }
  if (node.type == "XNNBatchMatrixMultiply") return CheckedProduct(Elements(output), DimFromEnd(input(0), 1));
  if (node.type == "XNNScaledDotProductAttention")
    return CheckedProduct(CheckedSum(Elements(input(0)), Elements(output)), DimFromEnd(input(1), 2));
  if (!node.type.starts_with("XNN")) return std::nullopt;
  return 0;
}

OptionalCount CountMacs(const XnnGraph& graph) { return SumEach(graph.nodes, &XnnNode::macs); }

OptionalCount CountMacs(const Instruction& kernel, const Method& method) {
  if (kernel.kind != Instruction::Kind::kKernel) return 0;
  const std::string_view full_name = method.operators[kernel.target];
  const std::string_view name = full_name.substr(0, full_name.rfind('.'));
  const auto shape = [&](std::size_t index) -> const Sizes* {
    if (index >= kernel.arguments.size()) return nullptr;
    const ProgramValue& value = method.values[kernel.arguments[index]];
    return value.tensor ? &value.tensor->shape : nullptr;
  };
  if (name == "aten::convolution") {
    if (kernel.arguments.size() < 10) return std::nullopt;
    return CountAtenConvolution(shape(0), shape(1), method.values[kernel.arguments[6]].integer, shape(9));
  }
  // The inner size is the last size of the first factor. (mm and bmm: self, mat2, out; addmm and baddbmm:
  // self, mat1, mat2, beta, alpha, out; linear: input, weight, bias, out.)
  if (name == "aten::mm" || name == "aten::bmm")
    return CheckedProduct(Elements(shape(2)), DimFromEnd(shape(0), 1));
  if (name == "aten::addmm" || name == "aten::baddbmm")
    return CheckedProduct(Elements(shape(5)), DimFromEnd(shape(1), 1));
  if (name == "aten::linear") return CheckedProduct(Elements(shape(3)), DimFromEnd(shape(0), 1));
  return HasNoMacs(name) ? OptionalCount(0) : std::nullopt;
}

Work ComputeWork(const std::vector<std::size_t>& nodes, const XnnGraph& graph) {
  Work work;
  work.macs = work.read = work.written = work.bytes = 0;
  bool moves = false;
  for (const std::size_t index : nodes) {
    work.macs = CheckedSum(work.macs, graph.nodes[index].macs);
    moves = moves || graph.nodes[index].type != "XNNStaticReshape";
  }
  if (moves)
    AddBytes(
        FindDataflow(nodes, graph), [&](std::uint32_t id) -> const auto& { return *graph.Find(id); }, work);
  return work;
}

Work ComputeWork(const Instruction& kernel, const Method& method) {
  Work work;
  work.macs = CountMacs(kernel, method);
  if (kernel.kind != Instruction::Kind::kKernel || kernel.arguments.empty()) return work;
  if (method.operators[kernel.target].starts_with("executorch_prim::et_view")) {
    work.read = work.written = work.bytes = 0;
    return work;
  }
  AddBytes(
      FindDataflow(kernel, method),
      [&](std::size_t index) -> const auto& { return *method.values[index].tensor; }, work);
  return work;
}

}  // namespace etprof
