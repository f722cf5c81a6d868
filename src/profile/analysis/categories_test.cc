#include "profile/analysis/categories.h"

#include <gtest/gtest.h>

namespace etprof {
namespace {

struct Case {
  const char* name;
  const char* category;
  OperatorGroup group;
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
    testing::Values(
        Case{"Convolution (NHWC, F32) IGEMM #1", "CONV_STANDARD", OperatorGroup::kConvolution},
        Case{"Convolution (NHWC, F32) GEMM #12", "CONV_POINTWISE", OperatorGroup::kConvolution},
        Case{"Convolution (NHWC, QC8) DWConv #3", "CONV_DEPTHWISE", OperatorGroup::kConvolution},
        Case{"Convolution (NHWC, PQS8, QS8, QC8W) IGEMM #1", "CONV_STANDARD", OperatorGroup::kConvolution},
        Case{"Deconvolution (NHWC, F32) IGEMM #1", "CONV_TRANSPOSED", OperatorGroup::kConvolution},
        Case{"Fully Connected (NC, PF32) GEMM #1", "GEMM", OperatorGroup::kGemm},
        Case{"Batch Matrix Multiply (NC, F32) GEMM #1", "GEMM", OperatorGroup::kGemm},
        Case{"Transpose (ND, X32) #1", "DATA_MOVEMENT", OperatorGroup::kDataMovement},
        Case{"Pack LH (X32) #1", "DATA_MOVEMENT", OperatorGroup::kDataMovement},
        Case{"Static Reshape (NC) #1", "RESHAPE", OperatorGroup::kDataMovement},
        Case{"Convert (NC, F32, QP8) #1", "QUANT", OperatorGroup::kDataMovement},
        Case{"Mean (ND) Reduce2 #1", "REDUCTION", OperatorGroup::kOther},
        Case{"Invalid Unary Op #1", "ELEMENTWISE", OperatorGroup::kElementwise},
        Case{"Softmax (NC, F32) #1", "ACTIVATION", OperatorGroup::kElementwise},
        // Older XNNPACK gave elementwise operators a data type.
        Case{"Add (ND, F32) #1", "ELEMENTWISE", OperatorGroup::kElementwise}));

INSTANTIATE_TEST_SUITE_P(
    ExecuTorch, CategorizeNames,
    testing::Values(Case{"native_call_permute_copy.out", "DATA_MOVEMENT", OperatorGroup::kDataMovement},
                    Case{"aten::_softmax.out", "ACTIVATION", OperatorGroup::kElementwise},
                    Case{"aten::_to_copy.out", "QUANT", OperatorGroup::kDataMovement},
                    Case{"dim_order_ops::_to_dim_order_copy.out", "QUANT", OperatorGroup::kDataMovement},
                    Case{"native_call_convolution.out", "CONV_STANDARD", OperatorGroup::kConvolution},
                    Case{"native_call_add.out", "ELEMENTWISE", OperatorGroup::kElementwise},
                    Case{"quantized_decomposed::quantize_per_tensor.out", "QUANT",
                         OperatorGroup::kDataMovement},
                    Case{"aten::copy_", "DATA_MOVEMENT", OperatorGroup::kDataMovement},
                    Case{"llama::sdpa_with_kv_cache.out", "ATTENTION", OperatorGroup::kGemm},
                    Case{"Method::execute", "framework", OperatorGroup::kFrameworkOverhead},
                    Case{"OPERATOR_CALL", "framework", OperatorGroup::kFrameworkOverhead},
                    Case{"DELEGATE_CALL", "framework", OperatorGroup::kDelegateOverhead}));

TEST(Categorize, MarksUnknownNames) {
  for (const char* name : {"", "native_call_", "my_ops::wobble.out", "Frobnicate (NC, F32) #1", "#", " (",
                           "::", ".", "____", "native_call_.out", "17"}) {
    const Category category = Categorize(name);
    EXPECT_EQ(category.name, "OTHER") << name;
    EXPECT_EQ(category.group, OperatorGroup::kOther) << name;
    EXPECT_FALSE(category.known) << name;
  }
}

TEST(Categories, CategorizesOpenvinoLayers) {
  EXPECT_EQ(Categorize("Convolution: a (brgconv_avx512_f32)").name, "CONV_STANDARD");
  EXPECT_EQ(Categorize("Convolution: a (jit_avx2_1x1_f32)").name, "GEMM");
  EXPECT_EQ(Categorize("GroupConvolution: a (brgconv_avx512_dw_f32)").name, "CONV_DEPTHWISE");
  EXPECT_EQ(Categorize("GroupConvolution: a (brgconv_avx512_f32)").name, "CONV_STANDARD");
  EXPECT_EQ(Categorize("FullyConnected: a (brgemm_avx512_f32)").group, OperatorGroup::kGemm);
  EXPECT_EQ(Categorize("Reorder: a (jit_uni_f32)").group, OperatorGroup::kDataMovement);
  EXPECT_EQ(Categorize("Subgraph: a (jit_avx512_f32)").group, OperatorGroup::kElementwise);
  EXPECT_FALSE(Categorize("NoSuchLayer: a (ref_f32)").known);
}

}  // namespace
}  // namespace etprof
