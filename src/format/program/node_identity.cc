#include "format/program/node_identity.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>

#include "core/text/text.h"
#include "format/program/tensors.h"

namespace etprof {
namespace {

// A kind of operation, and its names in XNNPACK's nodes, XNNPACK's operators, and ATen's operators, in lower
// case and without separators.
struct KindNames {
  const char* kind;
  std::initializer_list<std::string_view> names;
};
const KindNames kKindNames[] = {
    {"Conv2d", {"conv2d", "depthwiseconv2d", "convolution", "depthwiseconvolution", "groupconvolution"}},
    {"ConvTranspose2d",
     {"convtranspose2d", "deconvolution", "convolutionbackpropdata", "groupconvolutionbackpropdata"}},
    {"Linear", {"fullyconnected", "dynamicfullyconnected", "linear", "addmm", "mm"}},
    {"MatMul", {"batchmatrixmultiply", "bmm", "baddbmm"}},
    {"Attention", {"scaleddotproductattention"}},
    {"Add", {"add"}},
    {"Subtract", {"subtract", "sub"}},
    {"Multiply", {"multiply", "mul"}},
    {"Divide", {"divide", "div"}},
    {"Clamp", {"clamp", "hardtanh", "relu"}},
    {"HardSwish", {"hardswish", "hswish"}},
    {"Softmax", {"softmax"}},
    {"Mean", {"mean", "globalaveragepooling", "globalavgpooling2d", "reducemean"}},
    {"AvgPool2d", {"averagepooling", "avgpooling2d", "avgpool2d", "avgpool"}},
    {"MaxPool2d", {"maxpooling", "maxpooling2d", "maxpool2d", "maxpool2dwithindices", "maxpool"}},
    {"Transpose", {"transpose", "statictranspose", "permute"}},
    {"Reshape", {"reshape", "staticreshape", "view"}},
    {"Concatenate",
     {"concatenate", "concatenate2", "concatenate3", "concatenate4", "concatenate5", "concat", "cat"}},
    {"Slice", {"slice", "staticslice"}},
    {"Pad", {"constantpad", "staticconstantpad", "constantpadnd"}},
    {"ResizeBilinear", {"resizebilinear", "staticresizebilinear2d", "upsamplebilinear2d"}},
    {"Convert", {"convert", "todimordercopy", "quantizepertensor", "dequantizepertensor"}},
    {"SquareRoot", {"squareroot", "sqrt"}},
    {"ReciprocalSquareRoot", {"reciprocalsquareroot", "rsqrt"}},
    {"Negate", {"negate", "neg"}},
};

// Removes namespace, overload, and prefixes: "aten::_softmax.out" -> "softmax".
std::string_view StripName(std::string_view name) {
  if (name.starts_with("native_call_")) name.remove_prefix(std::string_view("native_call_").size());
  if (name.starts_with("XNN")) name.remove_prefix(3);
  if (const std::size_t space = name.rfind("::"); space != std::string_view::npos)
    name.remove_prefix(space + 2);
  if (name.find(' ') == std::string_view::npos) name = name.substr(0, name.find('.'));
  while (name.size() > 1 && name.front() == '_') name.remove_prefix(1);
  return name;
}

std::string RemoveSeparators(std::string_view name) {
  std::string text(name);
  std::erase_if(text, [](char c) { return c == ' ' || c == '_' || c == '-'; });
  return text;
}

// Formats input and output channels as " 64→128"; empty if one is unknown.
std::string ChannelsText(std::optional<std::int64_t> in, std::optional<std::int64_t> out) {
  return in && out ? fmt::format(" {}→{}", *in, *out) : "";
}

// The channels of a matrix product with constant weights: the last dimensions of its input and output.
std::string LinearText(const OperatorTensors& tensors) {
  const auto input = std::ranges::find(tensors.inputs, false, &OperatorTensor::constant);
  if (FindWeights(tensors) == nullptr || input == tensors.inputs.end() || input->shape.empty() ||
      tensors.outputs.empty() || tensors.outputs[0].shape.empty())
    return "";
  return ChannelsText(input->shape.back(), tensors.outputs[0].shape.back());
}

std::string PairText(std::int64_t a, std::int64_t b) {
  return a == b ? fmt::format("{}", a) : fmt::format("{}x{}", a, b);
}

std::string FormatSettings(const XnnConvolution& convolution) {
  std::string text;
  const auto add = [&](const std::string& setting) { text += (text.empty() ? "" : ", ") + setting; };
  if (convolution.stride_height != 1 || convolution.stride_width != 1)
    add("stride " + PairText(convolution.stride_height, convolution.stride_width));
  if (convolution.padding_top != convolution.padding_bottom ||
      convolution.padding_left != convolution.padding_right)
    add(fmt::format("padding {} {} {} {}", convolution.padding_top, convolution.padding_right,
                    convolution.padding_bottom, convolution.padding_left));
  else if (convolution.padding_top != 0 || convolution.padding_left != 0)
    add("padding " + PairText(convolution.padding_top, convolution.padding_left));
  if (convolution.dilation_height != 1 || convolution.dilation_width != 1)
    add("dilation " + PairText(convolution.dilation_height, convolution.dilation_width));
  if (convolution.groups != 1) add(fmt::format("groups {}", convolution.groups));
  return text;
}

std::string FormatBounds(const XnnNode& node) {
  const bool has_min = node.output_min && *node.output_min > -1e30F;
  const bool has_max = node.output_max && *node.output_max < 1e30F;
  if (!has_min && !has_max) return "";
  if (has_min && *node.output_min == 0 && !has_max) return "ReLU";
  if (has_min && *node.output_min == 0 && *node.output_max == 6) return "ReLU6";
  return fmt::format("clamp [{}, {}]", has_min ? fmt::format("{:.4g}", *node.output_min) : "−∞",
                     has_max ? fmt::format("{:.4g}", *node.output_max) : "∞");
}

// Returns whether a convolution has the argument `transposed` (see CountAtenConvolution in work.cc). Then the
// second dimension of the weights is the number of output channels of a group.
bool IsTransposedConvolution(const Instruction& kernel, const Method& method) {
  return kernel.arguments.size() > 6 && method.values[kernel.arguments[6]].integer.value_or(0) != 0;
}

}  // namespace

std::string NodeKind(std::string_view name) {
  std::string_view stripped = StripName(name);
  const auto find_kind = [](std::string_view name_part) -> const char* {
    const std::string normalized = Lower(RemoveSeparators(name_part));
    for (const KindNames& kind : kKindNames) {
      if (std::ranges::find(kind.names, normalized) != kind.names.end()) return kind.kind;
    }
    return nullptr;
  };
  if (const char* kind = find_kind(stripped)) return kind;
  if (stripped.ends_with("_copy")) {
    stripped.remove_suffix(std::string_view("_copy").size());
    if (const char* kind = find_kind(stripped)) return kind;
  }
  // Other operators have the same name everywhere, except for capitals and separators.
  std::string kind = RemoveSeparators(stripped);
  if (!kind.empty() && kind[0] >= 'a' && kind[0] <= 'z') kind[0] = static_cast<char>(kind[0] - 'a' + 'A');
  return kind;
}

NodeIdentity IdentifyNode(const XnnNode& node, const XnnGraph& graph) {
  NodeIdentity identity;
  identity.kind = identity.text = NodeKind(node.type);
  if (const auto& convolution = node.convolution) {
    // For a depthwise convolution, the output channels of a group are its multiplier.
    const bool transposed = node.type == "XNNConvTranspose2d";
    identity.text += ChannelsText(CheckedProduct(convolution->groups, convolution->group_input_channels),
                                  CheckedProduct(convolution->groups, convolution->group_output_channels)) +
                     fmt::format(" {}x{}", convolution->kernel_height, convolution->kernel_width);
    if (convolution->groups > 1 && !transposed)
      identity.text += convolution->group_input_channels == 1
                           ? " depthwise"
                           : fmt::format(" groups {}", convolution->groups);
    identity.settings = FormatSettings(*convolution);
  } else if (identity.kind == "Linear") {
    identity.text += LinearText(GetTensors({node.index}, graph));
  }
  identity.bounds = FormatBounds(node);
  for (const std::uint32_t id : node.inputs) {
    const XnnValue* value = graph.Find(id);
    if (value == nullptr || !value->constant || *value->constant >= graph.constants.size()) continue;
    const XnnConstant& constant = graph.constants[*value->constant];
    if (!constant.key.empty()) identity.contents.push_back(constant.key);
  }
  return identity;
}

NodeIdentity IdentifyNode(const Instruction& kernel, const Method& method) {
  NodeIdentity identity;
  identity.kind = identity.text = NodeKind(method.operators[kernel.target]);
  const OperatorTensors tensors = GetTensors(kernel, method);
  const OperatorTensor* weights = FindWeights(tensors);
  const bool is_transposed = identity.kind == "Conv2d" && IsTransposedConvolution(kernel, method);
  if (is_transposed) identity.kind = identity.text = "ConvTranspose2d";
  if (identity.kind == "Linear") {
    identity.text += LinearText(tensors);
  } else if ((identity.kind == "Conv2d" || is_transposed) && weights != nullptr &&
             weights->shape.size() == 4 && !tensors.inputs.empty() && tensors.inputs[0].shape.size() == 4 &&
             !tensors.outputs.empty() && tensors.outputs[0].shape.size() == 4) {
    const auto in = Dim(tensors.inputs[0].shape, 1), group_in = Dim(weights->shape, 1);
    identity.text += ChannelsText(in, Dim(tensors.outputs[0].shape, 1)) +
                     fmt::format(" {}x{}", *Dim(weights->shape, 2), *Dim(weights->shape, 3));
    if (!is_transposed && *group_in > 0 && *in > *group_in)
      identity.text += *group_in == 1 ? " depthwise" : fmt::format(" groups {}", *in / *group_in);
  }
  return identity;
}

}  // namespace etprof
