#include "format/xnnpack/operator_name.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace etprof::xnnpack {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(ParseOperatorName, ParsesAllParts) {
  const auto name = ParseOperatorName("Convolution (NHWC, PQS8, QS8, QC8W) IGEMM #12");
  ASSERT_TRUE(name);
  EXPECT_EQ(name->type, "Convolution");
  EXPECT_EQ(name->layout, "NHWC");
  EXPECT_THAT(name->data_types, ElementsAre("PQS8", "QS8", "QC8W"));
  EXPECT_EQ(name->kind, "IGEMM");
  EXPECT_EQ(name->number, 12U);
}

TEST(ParseOperatorName, ParsesOtherForms) {
  const auto reshape = ParseOperatorName("Static Reshape (NC) #1");
  ASSERT_TRUE(reshape);
  EXPECT_EQ(reshape->layout, "NC");
  EXPECT_THAT(reshape->data_types, IsEmpty());
  EXPECT_EQ(reshape->kind, "");
  const auto pack = ParseOperatorName("Pack LH (X32)");
  ASSERT_TRUE(pack);
  EXPECT_EQ(pack->layout, "");
  EXPECT_THAT(pack->data_types, ElementsAre("X32"));
  EXPECT_FALSE(pack->number);
  const auto unary = ParseOperatorName("Invalid Unary Op #1");
  ASSERT_TRUE(unary);
  EXPECT_EQ(unary->type, "Invalid Unary Op");
  EXPECT_EQ(unary->number, 1U);
  const auto depth = ParseOperatorName("Depth To Space (NCHW2NHWC, X16)");
  ASSERT_TRUE(depth);
  EXPECT_EQ(depth->layout, "NCHW2NHWC");
  EXPECT_EQ(ParseOperatorName("Scaled Dot-Product Attention (NHTC, F16)")->type,
            "Scaled Dot-Product Attention");
}

TEST(ParseOperatorName, RefusesOtherNames) {
  for (const char* text : {"", " ", "native_call_add.out", "Method::execute", "DELEGATE_CALL", " (F32)", "#1",
                           " #1", "Add #", "Add #x", "Add #99999999999"}) {
    EXPECT_FALSE(ParseOperatorName(text)) << text;
  }
}

TEST(DataTypes, AreDistinguishedFromOtherWords) {
  for (const char* type :
       {"f16", "f32",  "bf16", "qs8",  "qu8", "qd8", "qdu8", "qc8", "qc8w", "qc4w", "qb4w",
        "qp8", "pf16", "pf32", "pqs8", "s8",  "u8",  "s32",  "x8",  "x24",  "xx",   "f32acc"}) {
    EXPECT_TRUE(IsDataType(type)) << type;
  }
  for (const char* word : {"", "gemm", "nhwc", "fp32", "lut32norm", "rsum2", "x", "f", "x2m", "vcvt",
                           "conv2d", "p32", "avx512f", "rndnu16"}) {
    EXPECT_FALSE(IsDataType(word)) << word;
  }
}

TEST(PackedTypes, RunOnKleidiai) {
  struct Case {
    const char* name;
    bool kleidiai, sme;
  };
  for (const Case& c : {Case{"Convolution (NHWC, PF32) IGEMM #1", true, true},
                        Case{"Fully Connected (NC, PF16) GEMM #1", true, true},
                        Case{"Fully Connected (NC, PQS8, QC8W) GEMM #1", true, true},
                        Case{"Fully Connected (NC, QP8, F32, QC4W) GEMM #1", true, false},
                        Case{"Convert (NC, F32, QP8) #1", false, false},
                        Case{"Fully Connected (NC, QS8, QC8W) GEMM #1", false, false},
                        Case{"Fully Connected (NC, F32) GEMM #1", false, false},
                        Case{"Softmax (NC, F32) #1", false, false}}) {
    const auto name = ParseOperatorName(c.name);
    ASSERT_TRUE(name) << c.name;
    EXPECT_EQ(RunsOnKleidiai(*name), c.kleidiai) << c.name;
    EXPECT_EQ(NeedsSme(*name), c.sme) << c.name;
  }
}

TEST(OperatorName, ConvertsOlderNamesToCurrentNames) {
  EXPECT_EQ(ModernOperatorName("Transpose (ND, X32) Transpose #12"), "Transpose (ND, X32) #12");
  for (const char* const other :
       {"Transpose (ND, X32) #1", "Transpose", "Transpose (ND, X32", "Convolution (NHWC, F32) IGEMM #1",
        "native_call_transpose_copy.int_out", "Mean (ND) Reduce2 #1", ""})
    EXPECT_EQ(ModernOperatorName(other), other);
}

}  // namespace
}  // namespace etprof::xnnpack
