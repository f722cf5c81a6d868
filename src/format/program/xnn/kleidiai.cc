#include "format/program/xnn/kleidiai.h"

#include <string_view>

#include "format/program/xnn/delegable.h"

namespace etprof {
namespace {

using Kernels = KleidiaiUsage::Kernels;

constexpr const char* kQuantizeStatically = "quantize statically (etprof export --quantize)";

KleidiaiUsage XnnpackKernels(std::string reason, std::string change = "") {
  return {Kernels::kXnnpack, std::move(reason), std::move(change)};
}

std::string InputType(const XnnNode& node, const XnnGraph& graph, std::size_t input) {
  const XnnValue* value = input < node.inputs.size() ? graph.Find(node.inputs[input]) : nullptr;
  return value == nullptr ? std::string() : value->type.name;
}

bool IsFloat(std::string_view type) { return type == "fp32" || type == "fp16"; }

// XNNPACK runs a convolution over single pixels as a fully connected layer.
bool IsPointwise(const XnnConvolution& c) {
  return c.kernel_height == 1 && c.kernel_width == 1 && c.stride_height == 1 && c.stride_width == 1 &&
         c.groups == 1 && c.padding_top + c.padding_right + c.padding_bottom + c.padding_left == 0;
}

KleidiaiUsage FullyConnectedUsage(const std::string& input, const std::string& weights, bool pointwise) {
  const bool has_sme_kernels = (IsFloat(input) && input == weights) ||
                               (input == "qint8" && weights == "qcint8") ||
                               (input == "qdint8" && (weights == "qcint8" || weights == "qcint4"));
  if (has_sme_kernels) return {Kernels::kSme, "", ""};
  if (input == "fp16" && weights == "fp32")
    return XnnpackKernels(
        pointwise ? "1x1 convolutions in fp16 keep their weights in fp32" : "weights are in fp32",
        pointwise ? "use torch.nn.Linear instead, whose weights are in fp16" : "");
  if (input == "qint8" && weights == "qint8")
    return XnnpackKernels("weights are quantized per tensor", "quantize weights per channel");
  if (input == "qdint8" && weights == "qbint4")
    return {Kernels::kKleidiai, "for weights of 4 bits in groups there are none for SME2",
            "quantize weights per channel (no group size)"};
  return {};
}

KleidiaiUsage ConvolutionUsage(const XnnNode& node, const std::string& input, const std::string& weights) {
  if (!node.convolution) return {};
  if (node.convolution->group_input_channels == 1)
    return XnnpackKernels("a group has one input channel (depthwise)");
  if (IsPointwise(*node.convolution)) return FullyConnectedUsage(input, weights, true);
  if (input == "qdint8") return XnnpackKernels("the input is quantized dynamically", kQuantizeStatically);
  if (IsFloat(input) || input == "qint8") return {Kernels::kSme, "", ""};
  return {};
}

KleidiaiUsage TransposedConvolutionUsage(const XnnNode& node, const std::string& input) {
  // The quantizer does not quantize grouped transposed convolutions.
  const char* change = node.convolution && node.convolution->groups == 1 ? kQuantizeStatically : "";
  if (input == "qint8") return {Kernels::kSme, "", ""};
  if (IsFloat(input)) return XnnpackKernels("transposed convolution in floating point", change);
  if (input == "qdint8") return XnnpackKernels("the input is quantized dynamically", change);
  return {};
}

std::string NotDelegatedText(const Instruction& kernel, const Method& method) {
  const std::string reason = NotDelegatedReason(kernel, method);
  return reason.empty() ? "not delegated" : "not delegated: " + reason;
}

}  // namespace

std::optional<KleidiaiUsage> FindKleidiaiUsage(const XnnNode& node, const XnnGraph& graph) {
  const std::string input = InputType(node, graph, 0), weights = InputType(node, graph, 1);
  if (node.type == "XNNConv2d" || node.type == "XNNDepthwiseConv2d")
    return ConvolutionUsage(node, input, weights);
  if (node.type == "XNNConvTranspose2d") return TransposedConvolutionUsage(node, input);
  if (node.type == "XNNFullyConnected") return FullyConnectedUsage(input, weights, false);
  if (node.type == "XNNBatchMatrixMultiply")
    return IsFloat(input) && input == weights ? KleidiaiUsage{Kernels::kSme, "", ""} : KleidiaiUsage{};
  return std::nullopt;
}

std::optional<KleidiaiUsage> FindKleidiaiUsage(const Instruction& kernel, const Method& method) {
  if (kernel.kind != Instruction::Kind::kKernel) return std::nullopt;
  const std::string_view full_name = method.operators[kernel.target];
  const std::string_view name = full_name.substr(0, full_name.rfind('.'));
  if (name == "aten::mm")
    return KleidiaiUsage{Kernels::kPortable, NotDelegatedText(kernel, method),
                         "give both matrices a batch dimension (torch.bmm)"};
  for (const std::string_view operator_name :
       {"aten::convolution", "aten::bmm", "aten::addmm", "aten::baddbmm", "aten::linear"})
    if (name == operator_name) return KleidiaiUsage{Kernels::kPortable, NotDelegatedText(kernel, method), ""};
  return std::nullopt;
}

}  // namespace etprof
