#include "format/program/xnn/delegable.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

namespace etprof {
namespace {

constexpr std::string_view kSupportedOperators =
    "|_clone_dim_order|_native_batch_norm_legit_no_training|_softmax|_to_dim_order_copy|abs|"
    "add|addmm|avg_pool2d|bmm|cat|ceil|clamp|clone|constant_pad_nd|convolution|cos|"
    "dequantize_per_tensor|div|exp|floor|gelu|hardswish|hardtanh|leaky_relu|linear|log|max|"
    "max_pool2d|maximum|mean|minimum|mm|mul|neg|permute_copy|pow|prelu|quantize_per_tensor|"
    "relu|rsqrt|sigmoid|sin|slice_copy|sqrt|sub|tanh|unsqueeze_copy|upsample_bilinear2d|"
    "view_copy|";

bool IsSupportedType(const std::string& type) {
  // int8 and uint8 are the storage types of quantized values.
  return type == "float32" || type == "float16" || type == "int8" || type == "uint8";
}

// The arguments of a kernel call, by their positions in the operator's schema. Missing arguments, and
// arguments of another kind, have no value.
class KernelCall {
 public:
  KernelCall(const Instruction& kernel, const Method& method) : kernel_(kernel), method_(method) {}

  const ProgramTensor* Tensor(std::size_t position) const {
    const ProgramValue* value = GetValue(position);
    return value != nullptr && value->tensor ? &*value->tensor : nullptr;
  }
  std::optional<std::int64_t> Integer(std::size_t position) const {
    const ProgramValue* value = GetValue(position);
    return value == nullptr ? std::nullopt : value->integer;
  }
  // The value of an argument that is a double or an integer.
  std::optional<double> Number(std::size_t position) const {
    const ProgramValue* value = GetValue(position);
    if (value == nullptr) return std::nullopt;
    if (value->integer) return static_cast<double>(*value->integer);
    return value->number;
  }
  // The integers of a list. Empty if one of them is computed at run time.
  std::vector<std::int64_t> Integers(std::size_t position) const {
    std::vector<std::int64_t> integers;
    const ProgramValue* value = GetValue(position);
    if (value == nullptr) return {};
    for (const std::size_t item : value->integers) {
      if (!method_.values[item].integer) return {};
      integers.push_back(*method_.values[item].integer);
    }
    return integers;
  }
  // Returns whether a kernel in the method dequantizes the argument.
  bool IsDequantized(std::size_t position) const {
    return IsWrittenBy(position, [&](const Instruction& writer) {
      return method_.operators[writer.target].starts_with("quantized_decomposed::dequantize");
    });
  }
  // Returns whether a kernel in the method transposes constant weights into the argument: linear layers are
  // exported this way for portable kernels.
  bool IsTransposedConstant(std::size_t position) const {
    return IsWrittenBy(position, [&](const Instruction& writer) {
      const std::string& name = method_.operators[writer.target];
      const auto& from = method_.values[writer.arguments.front()].tensor;
      return (name.starts_with("aten::permute_copy") || name.starts_with("aten::t_copy") ||
              name.starts_with("aten::transpose_copy")) &&
             from && from->data != ProgramTensor::Data::kNone;
    });
  }
  // The number of distinct values in a list.
  std::size_t CountDistinct(std::size_t position) const {
    const ProgramValue* value = GetValue(position);
    return value == nullptr ? 0 : std::set<std::size_t>(value->items.begin(), value->items.end()).size();
  }

 private:
  const ProgramValue* GetValue(std::size_t position) const {
    return position < kernel_.arguments.size() ? &method_.values[kernel_.arguments[position]] : nullptr;
  }

  // Returns whether a kernel that the predicate accepts writes the argument.
  bool IsWrittenBy(std::size_t position, const auto& predicate) const {
    return position < kernel_.arguments.size() &&
           std::ranges::any_of(method_.instructions, [&](const Instruction& writer) {
             return writer.kind == Instruction::Kind::kKernel && !writer.arguments.empty() &&
                    writer.arguments.back() == kernel_.arguments[position] && predicate(writer);
           });
  }

  const Instruction& kernel_;
  const Method& method_;
};

// Returns an element of a list that is not empty. The number of a list with one number applies to both
// dimensions.
std::int64_t Element(const std::vector<std::int64_t>& list, std::size_t index) {
  return list[std::min(index, list.size() - 1)];
}

// avg_pool2d(self, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override, out)
std::string AveragePoolingReason(const KernelCall& call) {
  const auto padding = call.Integers(3);
  if (call.Integer(4).value_or(0) != 0) return "XNNPACK takes no average pooling with ceil_mode";
  if (call.Integer(5).value_or(0) != 0 && std::ranges::any_of(padding, [](auto p) { return p != 0; }))
    return "XNNPACK takes no average pooling that counts its padding (count_include_pad=False)";
  if (call.Integer(6)) return "XNNPACK takes no average pooling with divisor_override";
  return "";
}

// max_pool2d_with_indices(self, kernel_size, stride, padding, dilation, ceil_mode, out, indices): the form in
// which a max_pool2d that is not delegated is exported.
std::string MaximumPoolingReason(const KernelCall& call) {
  const auto kernel = call.Integers(1), stride = call.Integers(2);
  if (kernel.empty()) return "";
  for (std::size_t dimension = 0; dimension < 2; ++dimension) {
    if (!stride.empty() && Element(stride, dimension) > Element(kernel, dimension))
      return "XNNPACK takes no maximum pooling whose stride is larger than its kernel";
  }
  const ProgramTensor* output = call.Tensor(6);
  if (call.Integer(5).value_or(0) != 0 && output != nullptr && output->HasDynamicShape())
    return "XNNPACK takes no maximum pooling with ceil_mode of sizes that vary";
  return "";
}

// max(self, dim, keepdim, max, max_indices), or the maximum over all elements.
std::string MaximumReason(std::string_view overload, const KernelCall& call) {
  const ProgramTensor* input = call.Tensor(0);
  if (!overload.starts_with("dim") || input == nullptr || input->shape.size() != 4)
    return "XNNPACK takes a maximum along one of four dimensions, and no other";
  return "XNNPACK takes a maximum only where its indices are not used";
}

// mean(self, dim, keepdim, dtype, out)
std::string MeanReason(const ProgramTensor& input, const ProgramTensor& output) {
  const bool has_rank_4 = input.shape.size() == 4 && output.shape.size() == 4;
  if (has_rank_4 && Dim(output.shape, 2) == 1 && Dim(output.shape, 3) == 1 &&
      Dim(output.shape, 1) == Dim(input.shape, 1))
    return "";
  return "XNNPACK takes a mean of four dimensions over the last two, which are kept (keepdim=True), and no "
         "other";
}

// slice_copy(self, dim, start, end, step, out)
std::string SliceReason(const KernelCall& call, const ProgramTensor& input, const ProgramTensor& output) {
  if (call.Integer(4).value_or(1) != 1) return "XNNPACK takes slices of step 1 only";
  if (input.HasDynamicShape() || output.HasDynamicShape()) return "XNNPACK takes no slice of sizes that vary";
  return "";
}

// The position of the weights, which must be constant, in the operator's arguments; absent for most
// operators.
std::optional<std::size_t> WeightsPosition(std::string_view name) {
  if (name == "convolution" || name == "linear" || name == "mm" || name == "prelu") return 1;
  if (name == "addmm") return 2;
  return std::nullopt;
}

// The reason why the partitioner rejects this form of the operator, whatever its types; "" if it accepts it
// (executorch/backends/xnnpack/partition/config/{generic_node_configs,gemm_configs}.py). `name` is without
// library and overload; `tensors` are its tensor arguments, the output last.
std::string FormReason(std::string_view name, std::string_view overload, const KernelCall& call,
                       const std::vector<const ProgramTensor*>& tensors) {
  if ((name == "add" || name == "sub" || name == "mul" || name == "div") && overload.starts_with("Scalar"))
    return "XNNPACK takes it of two tensors, not of a tensor and a number";
  if (name == "div" && overload == "out_mode") return "XNNPACK takes no division that rounds";
  if (name == "clamp" && overload == "Tensor_out")
    return "XNNPACK takes bounds that are numbers, not tensors";
  if ((name == "add" || name == "sub") && call.Number(2).value_or(1) != 1)
    return "XNNPACK takes no factor (alpha) in it";
  if (name == "avg_pool2d") return AveragePoolingReason(call);
  if (name == "cat" && call.CountDistinct(0) == 1) return "XNNPACK joins two different tensors or more";
  if (name == "pow" && call.Integer(1) != 2) return "XNNPACK takes no power but the square (an integer 2)";
  if (tensors.empty()) return "";
  const ProgramTensor& input = *tensors.front();
  const ProgramTensor& output = *tensors.back();
  const auto rank = static_cast<std::int64_t>(input.shape.size());
  if (name == "gelu" && input.type.name == "float16") return "XNNPACK takes no GELU of float16";
  if (name == "mean") return MeanReason(input, output);
  if (name == "_softmax" && call.Integer(1) && *call.Integer(1) != -1 && *call.Integer(1) != rank - 1)
    return "XNNPACK takes a softmax over the last dimension only";
  if (name == "unsqueeze_copy" && call.Integer(1) && *call.Integer(1) != -1 && *call.Integer(1) != rank)
    return "XNNPACK adds a dimension at the end only";
  if (name == "slice_copy") return SliceReason(call, input, output);
  if (name == "_to_dim_order_copy" && input.type.name != output.type.name)
    return "XNNPACK converts no data types";
  if ((name == "clone" || name == "_clone_dim_order") && input.dim_order != output.dim_order)
    return "XNNPACK takes no copy to another memory format";
  if (name == "view_copy" && output.HasDynamicShape())
    return "XNNPACK takes no reshape to sizes that are computed at run time (-1 may stand for one)";
  if (name == "upsample_bilinear2d" && output.HasDynamicShape())
    return "XNNPACK takes no resizing to sizes that vary";
  if (name == "constant_pad_nd") {
    const auto padding = call.Integers(1);
    if (std::ranges::any_of(padding, [](auto size) { return size < 0; }))
      return "XNNPACK takes no negative padding";
  }
  if (const auto weights_position = WeightsPosition(name)) {
    const ProgramTensor* weights = call.Tensor(*weights_position);
    if (call.IsDequantized(*weights_position) || call.IsTransposedConstant(*weights_position)) return "";
    if (name == "convolution" && weights != nullptr && weights->shape.size() > 4)
      return "XNNPACK takes convolutions of one and two dimensions";
    if (weights != nullptr && weights->data == ProgramTensor::Data::kNone)
      return name == "mm" ? "XNNPACK takes a product of two matrices only where one is constant"
                          : "XNNPACK takes it with constant weights only";
  }
  return "";
}

// "aten::add.out" -> "add" and "out".
std::pair<std::string_view, std::string_view> SplitOverload(std::string_view name) {
  if (const std::size_t space = name.rfind("::"); space != std::string_view::npos)
    name.remove_prefix(space + 2);
  const std::size_t dot = name.find('.');
  return {name.substr(0, dot), dot == std::string_view::npos ? std::string_view() : name.substr(dot + 1)};
}

// Returns whether a jump may leave the instruction out, or repeat it.
bool IsInBranch(const Instruction& instruction, const Method& method) {
  const auto index = static_cast<std::size_t>(std::max(0, instruction.index));
  return std::ranges::any_of(method.instructions, [&](const Instruction& jump) {
    if (jump.kind != Instruction::Kind::kJumpFalse || jump.chain != instruction.chain) return false;
    const auto [first, last] = std::minmax({static_cast<std::size_t>(std::max(0, jump.index)), jump.target});
    return first <= index && index < last;
  });
}

}  // namespace

bool IsSupportedByXnnpack(std::string_view name) {
  const std::string_view base_name = SplitOverload(name).first;
  return !base_name.empty() &&
         kSupportedOperators.find(fmt::format("|{}|", base_name)) != std::string_view::npos;
}

std::string NotDelegatedReason(const Instruction& kernel, const Method& method) {
  // Another backend's partitioner decided for unknown reasons.
  if (!method.delegates.empty() && std::ranges::none_of(method.delegates, &Delegate::IsXnnpack)) return "";
  const std::string& full_name = method.operators[kernel.target];
  const auto [name, overload] = SplitOverload(full_name);
  const KernelCall call(kernel, method);
  // The export turns a max_pool2d that the partitioner rejects into this operator.
  if (name == "max_pool2d_with_indices") {
    if (std::string reason = MaximumPoolingReason(call); !reason.empty()) return reason;
  }
  const ProgramTensor* first = call.Tensor(0);
  if (name == "max" && first != nullptr && IsSupportedType(first->type.name))
    return MaximumReason(overload, call);
  if (!IsSupportedByXnnpack(name)) return "XNNPACK has no such operator";
  std::vector<const ProgramTensor*> tensors;
  const auto add = [&](const ProgramValue& value) {
    if (value.tensor) tensors.push_back(&*value.tensor);
  };
  for (const std::size_t argument : kernel.arguments) {
    add(method.values[argument]);
    for (const std::size_t item : method.values[argument].items) add(method.values[item]);
  }
  for (const ProgramTensor* tensor : tensors) {
    if (!IsSupportedType(tensor->type.name)) return "XNNPACK takes no " + tensor->type.name;
  }
  for (const ProgramTensor* tensor : tensors) {
    if (tensor->dynamism == ProgramTensor::Shape::kUnbounded) return "a shape has no upper bound";
  }
  if (std::string reason = FormReason(name, overload, call, tensors); !reason.empty()) return reason;
  if (IsInBranch(kernel, method))
    return "XNNPACK's partitioner does not look inside branches and loops (torch.cond, torch.map)";
  if (method.delegates.empty()) return "the method has no XNNPACK delegate (was it exported for XNNPACK?)";
  return "";
}

}  // namespace etprof
