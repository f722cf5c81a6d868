#include "profile/analysis/categories.h"

#include <unordered_map>

#include "core/text/text.h"
#include "format/delegates/delegate.h"
#include "format/xnnpack/operator_name.h"

namespace etprof {
namespace {

// An operator's name without implementation details: without XNNPACK's layout, data types, microkernel kind,
// and number; without ExecuTorch's "native_call_", namespace, overload, and the leading underscore and
// trailing "_copy" or "_backward" of variants of an ATen operator. "native_call_permute_copy.out" ->
// "permute", "Convolution (NHWC, F32) IGEMM #1" -> "Convolution".
struct Stem {
  std::string text;
  std::string kind;  // XNNPACK's microkernel kind: "IGEMM", "DWConv", "Reduce2", or ""
};

// The implementation name (from oneDNN) shows whether a convolution of OpenVINO is depthwise or 1x1. XNNPACK
// runs 1x1 convolutions as fully connected layers, so they are GEMM for both backends.
Stem OpenvinoStem(const delegates::OpenvinoLayer& layer) {
  if (layer.type != "Convolution" && layer.type != "GroupConvolution") return {std::string(layer.type), ""};
  if (layer.executed.find("_1x1") != std::string_view::npos) return {"Fully Connected", ""};
  return {"Convolution", layer.executed.find("_dw") != std::string_view::npos ? "DWConv" : ""};
}

Stem ParseStem(std::string_view name) {
  if (const auto layer = delegates::ParseOpenvinoLayer(name)) return OpenvinoStem(*layer);
  if (const auto operator_name = xnnpack::ParseOperatorName(name)) {
    if (name.find(" (") != std::string_view::npos) return {operator_name->type, operator_name->kind};
    name = name.substr(0, name.rfind(" #"));
  }
  if (name.find(' ') != std::string_view::npos || name.starts_with("::")) return {std::string(name), ""};
  if (constexpr std::string_view kPrefix = "native_call_"; name.starts_with(kPrefix))
    name.remove_prefix(kPrefix.size());
  if (const std::size_t scope = name.rfind("::"); scope != std::string_view::npos &&
                                                  name != "Method::execute" && name != "Method::init" &&
                                                  name != "Program::load_method") {
    name.remove_prefix(scope + 2);
  }
  if (const std::size_t dot = name.find('.'); dot != std::string_view::npos && dot > 0)
    name = name.substr(0, dot);
  while (name.size() > 1 && name.front() == '_') name.remove_prefix(1);
  while (name.size() > 1 && name.back() == '_') name.remove_suffix(1);
  for (const std::string_view suffix : {"_copy", "_backward"})
    if (name.size() > suffix.size() && name.ends_with(suffix)) name.remove_suffix(suffix.size());
  return {std::string(name), ""};
}

struct CategoryRow {
  std::string_view category;
  OperatorGroup group;
  // Stems, separated by '|'. Capitalized stems are XNNPACK's (`xnn_operator_type_to_string`, and the names of
  // the unary and binary operators that it prints for its elementwise kernels). The others are from ATen,
  // ExecuTorch's own libraries, and, at the end of a row, other kernel libraries. Stems on separate lines are
  // only OpenVINO's (src/plugins/intel_cpu/src/cpu_types.cpp).
  std::string_view stems;
};

// All categories. ConvolutionCategory distinguishes convolutions by XNNPACK's microkernel kind.
constexpr CategoryRow kCategoryTable[] = {
    {"CONV_STANDARD", OperatorGroup::kConvolution,
     "Convolution|convolution|conv1d|conv2d|conv3d|quantized_conv"},
    {"CONV_DEPTHWISE", OperatorGroup::kConvolution, "Depthwise Convolution|depthwise_conv2d"},
    {"CONV_TRANSPOSED", OperatorGroup::kConvolution,
     "Deconvolution|"
     "conv_transpose1d|conv_transpose2d|conv_transpose3d|"
     "ConvolutionBackpropData|GroupConvolutionBackpropData"},
    {"GEMM", OperatorGroup::kGemm,
     "Fully Connected|Dynamic Fully Connected|Batch Matrix Multiply|"
     "addmm|bmm|baddbmm|linear|matmul|mm|mixed_linear|mixed_mm|dot|mv|addmv|quantized_linear|"
     "FullyConnected|MatMul|GatherMatmul"},
    // Matrix products take most of the time of fused attention kernels and of recurrent layers.
    {"ATTENTION", OperatorGroup::kGemm,
     "Scaled Dot-Product Attention|"
     "scaled_dot_product_attention|sdpa|sdpa_with_kv_cache|custom_sdpa|custom_quantized_sdpa|"
     "flash_attention|"
     "MHA|ScaledDotProductAttention|ScaledDotProductAttentionWithKVCache|PagedAttentionExtension"},
    {"RNN", OperatorGroup::kGemm,
     "lstm|gru|rnn_tanh|rnn_relu|lstm_cell|gru_cell|"
     "AUGRUCell|AUGRUSequence|GRUCell|GRUSequence|LSTMCell|LSTMSequence|RNNCell|RNNSequence"},
    {"POOL", OperatorGroup::kOther,
     "Average Pooling|Max Pooling|ArgMax Pooling|Argmax Pooling|Global Average Pooling|Global Sum Pooling|"
     "Unpooling|"
     "avg_pool1d|avg_pool2d|avg_pool3d|adaptive_avg_pool1d|adaptive_avg_pool2d|adaptive_avg_pool3d|"
     "adaptive_max_pool2d|max_pool2d|max_pool2d_with_indices|max_pool3d_with_indices|avg_pool|"
     "AdaptiveAvgPool|AdaptiveMaxPool|AvgPool|MaxPool|Pooling"},
    {"NORM", OperatorGroup::kOther,
     "Normalize|"
     "native_batch_norm|native_batch_norm_legit|native_batch_norm_legit_no_training|native_group_norm|"
     "native_layer_norm|batch_norm|group_norm|layer_norm|rms_norm|instance_norm|linalg_vector_norm|"
     "GroupNormalization|LRN|MVN|NormalizeL2|RMS|RMSNorm"},
    {"EMBEDDING", OperatorGroup::kDataMovement,
     "embedding|embedding_byte|embedding_2bit|embedding_4bit|embedding_xbit|embedding_bag"},
    {"ACTIVATION", OperatorGroup::kElementwise,
     "Clamp|ELU|GELU|ApproxGELU|HardSwish|LeakyReLU|Leaky ReLU|PReLU|ReLU|Sigmoid|TanH|Tanh|Softmax|"
     "elu|gelu|glu|hardsigmoid|hardswish|hardtanh|leaky_relu|log_softmax|logit|mish|prelu|relu|relu6|"
     "sigmoid|silu|softmax|softplus|tanh|native_dropout|"
     "Elu|Gelu|HSigmoid|HSwish|HardSigmoid|LogSoftmax|Mish|PRelu|Relu|Selu|SoftPlus|SoftSign|Swish"},
    {"ELEMENTWISE", OperatorGroup::kElementwise,
     "ATan2|Abs|Add|Bankders Rounding|Bankers Rounding|Binary Elementwise|Bitwise And|Bitwise Not|"
     "Bitwise Or|Bitwise Xor|Ceiling|Copy Sign|Cosine|Count Leading Zeros|Cube Root|Divide|Exp|Floor|Log|"
     "Maximum|Minimum|Modulus|Multiply|Negate|Population Count|Power|Reciprocal Square Root|Shift Left|"
     "Shift Right Arithmetic|Shift Right Logical|Sign|Sine|Square|Square Root|Squared Difference|Subtract|"
     "Truncation|Unary Elementwise|RoPE|Invalid Unary Op|Invalid Binary Op|"
     "abs|acos|acosh|add|addcmul|addcdiv|apply_rotary_emb|asin|asinh|atan|atan2|atanh|bitwise_and|"
     "bitwise_left_shift|bitwise_not|bitwise_or|bitwise_right_shift|bitwise_xor|ceil|clamp|conj_physical|"
     "cos|cosh|div|eq|erf|exp|expm1|floor|floor_divide|floordiv|fmod|ge|gt|isinf|isnan|le|log|log10|log1p|"
     "log2|logical_and|logical_not|logical_or|logical_xor|lt|masked_fill|maximum|minimum|mod|mul|ne|neg|"
     "pow|reciprocal|remainder|rope|round|rsqrt|rsub|sign|sin|sinh|sqrt|square|sub|sym_float|sym_int|"
     "sym_ite|sym_max|sym_min|sym_not|tan|truediv|trunc|where|quantized_add|quantized_mul|"
     "Ceil|Cos|Eltwise|Equal|Erf|FloorMod|Greater|GreaterEqual|Less|LessEqual|LogicalAnd|LogicalNot|"
     "LogicalOr|Math|Mod|NotEqual|PowerStatic|Select|Sin|Sqrt|SquaredDifference|Subgraph"},
    {"REDUCTION", OperatorGroup::kOther,
     "Mean|Mean Squared|Reduce Max|Reduce Min|Sum|"
     "all|amax|amin|any|argmax|argmin|cdist_forward|cumsum|max|mean|min|pdist_forward|prod|sort|sum|topk|"
     "var|var_mean|"
     "ArgMax|CumSum|ReduceL1|ReduceL2|ReduceLogSum|ReduceLogicalAnd|ReduceLogicalOr|ReduceMax|ReduceMean|"
     "ReduceMin|ReduceProd|ReduceSum|TopK"},
    {"RESHAPE", OperatorGroup::kDataMovement,
     "Static Reshape|Static Expand Dims|Split Dims|Fuse Dims|Reshape|"
     "et_view|flatten|reshape|squeeze|unsqueeze|view|view_as_real|"
     "Squeeze|Unsqueeze"},
    {"DATA_MOVEMENT", OperatorGroup::kDataMovement,
     "Constant Pad|Copy|Depth To Space|Pack LH|Slice|Space To Depth|Transpose|Concatenate|Channel Shuffle|"
     "alias|as_strided|arange|cat|clone|clone_dim_order|constant_pad_nd|copy|d2h|detach|diagonal|empty|"
     "empty_dim_order|et_copy_index|expand|fill|flip|full|full_like|gather|h2d|index|index_put|"
     "index_select|lift_fresh|local_scalar_dense|masked_scatter|masked_select|narrow|nonzero|ones|permute|"
     "pixel_shuffle|pixel_unshuffle|rand|randn|reflection_pad1d|reflection_pad2d|reflection_pad3d|repeat|"
     "repeat_interleave|replication_pad1d|replication_pad2d|replication_pad3d|roll|scalar_tensor|scatter|"
     "scatter_add|select|select_scatter|slice|slice_scatter|split|split_with_sizes|stack|sym_numel|"
     "sym_size|t|transpose|tril|triu|unbind|unfold|update_cache|zeros|"
     "Broadcast|Concat|DepthToSpace|Gather|GatherElements|GatherND|Pad|Reorder|Reverse|Roll|"
     "ScatterElementsUpdate|ScatterNDUpdate|ScatterUpdate|ShuffleChannels|SpaceToDepth|Split|StridedSlice|"
     "Tile|VariadicSplit"},
    {"RESIZE", OperatorGroup::kOther,
     "Resize Bilinear|"
     "grid_sampler_2d|upsample_bilinear2d|upsample_bilinear2d_aa|upsample_nearest2d|upsample_bicubic2d|"
     "GridSample|Interpolate"},
    // A change of data type reads and writes every element and computes almost nothing, so it moves data.
    {"QUANT", OperatorGroup::kDataMovement,
     "Convert|"
     "choose_qparams|choose_qparams_per_token_asymmetric|dequantize_per_channel|dequantize_per_tensor|"
     "dequantize_per_token|quantize_per_channel|quantize_per_tensor|quantize_per_token|to|to_dim_order|"
     "FakeQuantize"},
    // Fourier transforms fit no other category, but they count as known.
    {"OTHER", OperatorGroup::kOther, "fft_c2r|fft_r2c|fft_c2c"},
    {"framework", OperatorGroup::kFrameworkOverhead,
     "Method::execute|Method::init|Program::load_method|OPERATOR_CALL"},
    {"framework", OperatorGroup::kDelegateOverhead, "DELEGATE_CALL"},
};

// XNNPACK prints the kind of a convolution after the data types (`xnn_microkernel_type_to_string`). A GEMM
// convolution is 1x1 with stride 1, so pointwise; SPMM is the same with sparse weights; VMulCAddC multiplies
// and shifts each channel separately.
constexpr Category ConvolutionCategory(std::string_view kind) {
  if (kind == "DWConv" || kind == "VMulCAddC") return {"CONV_DEPTHWISE", OperatorGroup::kConvolution};
  if (kind == "GEMM" || kind == "SPMM") return {"CONV_POINTWISE", OperatorGroup::kConvolution};
  if (kind == "Subconv2D") return {"CONV_TRANSPOSED", OperatorGroup::kConvolution};
  return {"CONV_STANDARD", OperatorGroup::kConvolution};
}

const std::unordered_map<std::string, Category>& CategoryIndex() {
  static const std::unordered_map<std::string, Category> index = [] {
    std::unordered_map<std::string, Category> new_index;
    for (const CategoryRow& row : kCategoryTable) {
      for (const std::string_view stem : SplitAt(row.stems, '|'))
        new_index.emplace(std::string(stem), Category{row.category, row.group});
    }
    return new_index;
  }();
  return index;
}

}  // namespace

std::string OperatorStem(std::string_view operator_name) { return ParseStem(operator_name).text; }

Category Categorize(std::string_view operator_name) {
  const Stem stem = ParseStem(operator_name);
  const auto found = CategoryIndex().find(stem.text);
  if (found == CategoryIndex().end())
    return {.name = "OTHER", .group = OperatorGroup::kOther, .known = false};
  if (stem.text == "Convolution") return ConvolutionCategory(stem.kind);
  return found->second;
}

}  // namespace etprof
