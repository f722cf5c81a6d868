#include "program/delegable.h"

#include <algorithm>
#include <array>

namespace etprof {
namespace {

constexpr std::array<std::string_view, 49> kXnnpackTakes = {"_clone_dim_order",
                                                            "_native_batch_norm_legit_no_training",
                                                            "_softmax",
                                                            "_to_dim_order_copy",
                                                            "abs",
                                                            "add",
                                                            "addmm",
                                                            "avg_pool2d",
                                                            "bmm",
                                                            "cat",
                                                            "ceil",
                                                            "clamp",
                                                            "clone",
                                                            "constant_pad_nd",
                                                            "convolution",
                                                            "cos",
                                                            "div",
                                                            "exp",
                                                            "floor",
                                                            "gelu",
                                                            "hardswish",
                                                            "hardtanh",
                                                            "leaky_relu",
                                                            "linear",
                                                            "log",
                                                            "max",
                                                            "max_pool2d",
                                                            "maximum",
                                                            "mean",
                                                            "minimum",
                                                            "mm",
                                                            "mul",
                                                            "neg",
                                                            "permute_copy",
                                                            "pow",
                                                            "prelu",
                                                            "quantize_per_tensor",
                                                            "relu",
                                                            "rsqrt",
                                                            "sigmoid",
                                                            "sin",
                                                            "slice_copy",
                                                            "sqrt",
                                                            "sub",
                                                            "tanh",
                                                            "unsqueeze_copy",
                                                            "upsample_bilinear2d",
                                                            "view_copy",
                                                            "dequantize_per_tensor"};

bool IsTaken(const std::string& type) {
  // int8 and uint8 are what quantized values are stored as.
  return type == "float32" || type == "float16" || type == "int8" || type == "uint8";
}

// What the partitioner's configuration of the operator asks for beside its types
// (executorch/backends/xnnpack/partition/config/generic_node_configs.py); "": it asks for no more, or it
// holds. `tensors` are its tensor arguments, the output last.
std::string WhyNotInThisForm(const std::string& name, const std::vector<const ProgramTensor*>& tensors) {
  const auto is = [&](std::string_view operation) {
    return name.starts_with("aten::" + std::string(operation) + ".");
  };
  if ((is("add") || is("sub") || is("mul") || is("div")) && name.find(".Scalar") != std::string::npos)
    return "XNNPACK takes it of two tensors, not of a tensor and a number";
  if (tensors.empty()) return "";
  const ProgramTensor& input = *tensors.front();
  const ProgramTensor& output = *tensors.back();
  if (is("gelu") && input.type.name == "float16") return "XNNPACK takes no GELU of float16";
  if (is("mean")) {
    const bool kept = output.shape.size() == 4 && output.shape[2] == 1 && output.shape[3] == 1 &&
                      output.shape[1] == input.shape[1];
    if (input.shape.size() != 4 || !kept)
      return "XNNPACK takes a mean of four dimensions over the last two, which are kept (keepdim=True), and "
             "no other";
  }
  return "";
}

}  // namespace

bool XnnpackCanTake(std::string_view name) {
  if (const std::size_t space = name.rfind("::"); space != std::string_view::npos)
    name.remove_prefix(space + 2);
  name = name.substr(0, name.find('.'));
  return std::find(kXnnpackTakes.begin(), kXnnpackTakes.end(), name) != kXnnpackTakes.end();
}

std::string WhyNotDelegated(const Instruction& kernel, const Method& method) {
  const std::string& name = method.operators[kernel.target];
  if (!XnnpackCanTake(name)) return "XNNPACK has no such operator";
  std::vector<const ProgramTensor*> tensors;
  for (const std::size_t argument : kernel.arguments) {
    if (method.values[argument].tensor) tensors.push_back(&*method.values[argument].tensor);
  }
  for (const ProgramTensor* tensor : tensors) {
    if (!IsTaken(tensor->type.name)) return "XNNPACK takes no " + tensor->type.name;
  }
  for (const ProgramTensor* tensor : tensors) {
    if (tensor->dynamism == ProgramTensor::Shape::kUnbounded) return "a shape has no upper bound";
  }
  if (const std::string why = WhyNotInThisForm(name, tensors); !why.empty()) return why;
  if (name.starts_with("aten::mm.") && tensors.size() > 1 && tensors[1]->data == ProgramTensor::Data::kNone)
    return "XNNPACK takes a product of two matrices only where one is constant";
  if (std::none_of(method.delegates.begin(), method.delegates.end(),
                   [](const Delegate& delegate) { return delegate.backend == "XnnpackBackend"; }))
    return "the method has no XNNPACK delegate (was it exported for XNNPACK?)";
  return "";
}

}  // namespace etprof
