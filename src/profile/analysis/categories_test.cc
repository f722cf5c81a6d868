#include "profile/analysis/categories.h"

#include <gtest/gtest.h>

namespace etprof {
namespace {

struct Case {
  const char* name;
  const char* category;
  Group group;
};

class CategorizeNames : public testing::TestWithParam<Case> {};

TEST_P(CategorizeNames, FindsTheCategory) {
  const Category category = Categorize(GetParam().name);
  EXPECT_EQ(category.name, GetParam().category) << GetParam().name;
  EXPECT_EQ(category.group, GetParam().group) << GetParam().name;
  EXPECT_TRUE(category.known) << GetParam().name;
}

INSTANTIATE_TEST_SUITE_P(
    Xnnpack, CategorizeNames,
    testing::Values(Case{"Convolution (NHWC, F32) IGEMM #1", "CONV_STANDARD", Group::kConvolution},
                    Case{"Convolution (NHWC, F32) GEMM #12", "CONV_POINTWISE", Group::kConvolution},
                    Case{"Convolution (NHWC, QC8) DWConv #3", "CONV_DEPTHWISE", Group::kConvolution},
                    Case{"Convolution (NHWC, PQS8, QS8, QC8W) IGEMM #1", "CONV_STANDARD",
                         Group::kConvolution},
                    Case{"Deconvolution (NHWC, F32) IGEMM #1", "CONV_TRANSPOSED", Group::kConvolution},
                    Case{"Fully Connected (NC, PF32) GEMM #1", "GEMM", Group::kGemm},
                    Case{"Batch Matrix Multiply (NC, F32) GEMM #1", "GEMM", Group::kGemm},
                    Case{"Transpose (ND, X32) #1", "DATA_MOVEMENT", Group::kDataMovement},
                    Case{"Pack LH (X32) #1", "DATA_MOVEMENT", Group::kDataMovement},
                    Case{"Static Reshape (NC) #1", "RESHAPE", Group::kDataMovement},
                    Case{"Convert (NC, F32, QP8) #1", "QUANT", Group::kDataMovement},
                    Case{"Mean (ND) Reduce2 #1", "REDUCTION", Group::kOther},
                    Case{"Invalid Unary Op #1", "ELEMENTWISE", Group::kElementwise},
                    Case{"Softmax (NC, F32) #1", "ACTIVATION", Group::kElementwise},
                    // Older XNNPACK gave elementwise operators a data type.
                    Case{"Add (ND, F32) #1", "ELEMENTWISE", Group::kElementwise}));

INSTANTIATE_TEST_SUITE_P(
    ExecuTorch, CategorizeNames,
    testing::Values(Case{"native_call_permute_copy.out", "DATA_MOVEMENT", Group::kDataMovement},
                    Case{"aten::_softmax.out", "ACTIVATION", Group::kElementwise},
                    Case{"aten::_to_copy.out", "QUANT", Group::kDataMovement},
                    Case{"dim_order_ops::_to_dim_order_copy.out", "QUANT", Group::kDataMovement},
                    Case{"native_call_convolution.out", "CONV_STANDARD", Group::kConvolution},
                    Case{"native_call_add.out", "ELEMENTWISE", Group::kElementwise},
                    Case{"quantized_decomposed::quantize_per_tensor.out", "QUANT", Group::kDataMovement},
                    Case{"aten::copy_", "DATA_MOVEMENT", Group::kDataMovement},
                    Case{"llama::sdpa_with_kv_cache.out", "ATTENTION", Group::kGemm},
                    Case{"Method::execute", "framework", Group::kFrameworkOverhead},
                    Case{"OPERATOR_CALL", "framework", Group::kFrameworkOverhead},
                    Case{"DELEGATE_CALL", "framework", Group::kDelegateOverhead}));

TEST(Categorize, MarksUnknownNames) {
  for (const char* name : {"", "native_call_", "my_ops::wobble.out", "Frobnicate (NC, F32) #1", "#", " (",
                           "::", ".", "____", "native_call_.out", "17"}) {
    const Category category = Categorize(name);
    EXPECT_EQ(category.name, "OTHER") << name;
    EXPECT_EQ(category.group, Group::kOther) << name;
    EXPECT_FALSE(category.known) << name;
  }
}

TEST(Categories, CategorizesOpenvinoLayers) {
  EXPECT_EQ(Categorize("Convolution: a (brgconv_avx512_f32)").name, "CONV_STANDARD");
  EXPECT_EQ(Categorize("Convolution: a (jit_avx2_1x1_f32)").name, "GEMM");
  EXPECT_EQ(Categorize("GroupConvolution: a (brgconv_avx512_dw_f32)").name, "CONV_DEPTHWISE");
  EXPECT_EQ(Categorize("GroupConvolution: a (brgconv_avx512_f32)").name, "CONV_STANDARD");
  EXPECT_EQ(Categorize("FullyConnected: a (brgemm_avx512_f32)").group, Group::kGemm);
  EXPECT_EQ(Categorize("Reorder: a (jit_uni_f32)").group, Group::kDataMovement);
  EXPECT_EQ(Categorize("Subgraph: a (jit_avx512_f32)").group, Group::kElementwise);
  EXPECT_FALSE(Categorize("NoSuchLayer: a (ref_f32)").known);
}

}  // namespace
}  // namespace etprof
