#include "analysis/delegable.h"

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

}  // namespace

bool XnnpackCanTake(std::string_view name) {
  if (const std::size_t space = name.rfind("::"); space != std::string_view::npos)
    name.remove_prefix(space + 2);
  name = name.substr(0, name.find('.'));
  return std::find(kXnnpackTakes.begin(), kXnnpackTakes.end(), name) != kXnnpackTakes.end();
}

}  // namespace etprof
