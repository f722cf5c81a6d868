#include "format/xnnpack/microkernel.h"

#include <gtest/gtest.h>

namespace etprof::xnnpack {
namespace {

struct Expected {
  const char* name;
  const char* family;
  const char* op;
  const char* data_types;
  const char* activation;
  const char* requantization;
  const char* shape;
  const char* isa;
  const char* variant;
  int elements = 0, accumulators = 0;  // 0: absent
  bool assembly = false, scalable = false;
};

class MicrokernelNames : public testing::TestWithParam<Expected> {};

// The expected parts were written by hand.
TEST_P(MicrokernelNames, AreParsed) {
  const Expected& expected = GetParam();
  const auto kernel = ParseMicrokernel(expected.name);
  ASSERT_TRUE(kernel) << expected.name;
  EXPECT_EQ(kernel->name, expected.name);
  EXPECT_EQ(FamilyName(kernel->family), expected.family);
  EXPECT_EQ(kernel->op, expected.op);
  EXPECT_EQ(kernel->DataTypes(), expected.data_types);
  EXPECT_EQ(kernel->activation, expected.activation);
  EXPECT_EQ(kernel->requantization, expected.requantization);
  EXPECT_EQ(kernel->shape, expected.shape);
  EXPECT_EQ(kernel->Isa(), expected.isa);
  EXPECT_EQ(kernel->variant, expected.variant);
  EXPECT_EQ(kernel->elements.value_or(0), expected.elements);
  EXPECT_EQ(kernel->accumulators.value_or(0), expected.accumulators);
  EXPECT_EQ(kernel->assembly, expected.assembly);
  EXPECT_EQ(kernel->scalable, expected.scalable);
}

INSTANTIATE_TEST_SUITE_P(
    Xnnpack, MicrokernelNames,
    testing::Values(
        Expected{"xnn_f32_igemm_minmax_ukernel_7x32__avx512f_broadcast", "igemm", "igemm", "f32", "minmax",
                 "", "7x32", "avx512f", "broadcast"},
        Expected{"xnn_f32_gemm_minmax_ukernel_6x8__asm_aarch64_neonfma_cortex_a53_prfm", "gemm", "gemm",
                 "f32", "minmax", "", "6x8", "aarch64_neonfma", "cortex_a53_prfm", 0, 0, true},
        Expected{"xnn_f32_gemm_relu_ukernel_4x2c4__wasmsimd_arm", "gemm", "gemm", "f32", "relu", "", "4x2c4",
                 "wasmsimd", "arm"},
        Expected{"xnn_f32_gemm_ukernel_1x4__scalar", "gemm", "gemm", "f32", "", "", "1x4", "scalar", ""},
        Expected{"xnn_f32_gemminc_minmax_ukernel_4x8s4__sse", "gemm", "gemminc", "f32", "minmax", "", "4x8s4",
                 "sse", ""},
        Expected{"xnn_f32_gemm_minmax_ukernel_7x4v__rvv", "gemm", "gemm", "f32", "minmax", "", "7x4v", "rvv",
                 "", 0, 0, false, true},
        Expected{"xnn_bf16_gemm_minmax_ukernel_4x8c2__neonbf16_bfdot_lane_ld128", "gemm", "gemm", "bf16",
                 "minmax", "", "4x8c2", "neonbf16", "bfdot_lane_ld128"},
        Expected{"xnn_f16_f32acc_gemm_minmax_ukernel_4x16__avx2_broadcast", "gemm", "gemm", "f16_f32acc",
                 "minmax", "", "4x16", "avx2", "broadcast"},
        Expected{"xnn_qs8_qc8w_gemm_minmax_fp32_ukernel_4x16c4__asm_aarch64_neondot_cortex_a55", "gemm",
                 "gemm", "qs8_qc8w", "minmax", "fp32", "4x16c4", "aarch64_neondot", "cortex_a55", 0, 0, true},
        Expected{"xnn_qs8_qc8w_igemm_minmax_fp32_ukernel_2x8c2s4__neonv8_mlal", "igemm", "igemm", "qs8_qc8w",
                 "minmax", "fp32", "2x8c2s4", "neonv8", "mlal"},
        Expected{"xnn_qu8_gemm_minmax_rndnu_ukernel_4x8__neon_mlal_lane", "gemm", "gemm", "qu8", "minmax",
                 "rndnu", "4x8", "neon", "mlal_lane"},
        Expected{"xnn_qd8_f16_qc8w_igemm_minmax_ukernel_4x16c8__neoni8mm", "igemm", "igemm", "qd8_f16_qc8w",
                 "minmax", "", "4x16c8", "neoni8mm", ""},
        Expected{"xnn_qd8_f32_qb4w_gemm_minmax_ukernel_4x16c4__neondot", "gemm", "gemm", "qd8_f32_qb4w",
                 "minmax", "", "4x16c4", "neondot", ""},
        Expected{"xnn_qp8_f32_qc4w_gemm_minmax_ukernel_16x64c4__neonsme2", "gemm", "gemm", "qp8_f32_qc4w",
                 "minmax", "", "16x64c4", "neonsme2", ""},
        Expected{"xnn_qp8_f32_qc4w_gemm_minmax_ukernel_8x8c16s2__neoni8mm_mstep4", "gemm", "gemm",
                 "qp8_f32_qc4w", "minmax", "", "8x8c16s2", "neoni8mm", "mstep4"},
        Expected{"xnn_pf32_gemm_minmax_ukernel_32x32__neonsme2", "gemm", "gemm", "pf32", "minmax", "",
                 "32x32", "neonsme2", ""},
        Expected{"xnn_pf16_f16_igemm_minmax_fp16_ukernel_32x32c2__neonsme", "igemm", "igemm", "pf16_f16",
                 "minmax", "fp16", "32x32c2", "neonsme", ""},
        Expected{"xnn_pqs8_qc8w_igemm_minmax_fp32_ukernel_32x32c4__neonsme2", "igemm", "igemm", "pqs8_qc8w",
                 "minmax", "fp32", "32x32c4", "neonsme2", ""},
        Expected{"xnn_f32_dwconv_minmax_ukernel_9p16c__avx512f_acc2", "dwconv", "dwconv", "f32", "minmax", "",
                 "9p16c", "avx512f", "", 0, 2},
        Expected{"xnn_qs8_qc8w_dwconv_minmax_fp32_ukernel_6f6m7l16c8s8r__avx2_mul16_add16_vpunpck", "dwconv",
                 "dwconv", "qs8_qc8w", "minmax", "fp32", "6f6m7l16c8s8r", "avx2", "mul16_add16_vpunpck"},
        Expected{"xnn_f32_dwconv2d_chw_ukernel_3x3s2p1__neonfma_2x4_acc2", "dwconv", "dwconv2d_chw", "f32",
                 "", "", "3x3s2p1_2x4", "neonfma", "", 0, 2},
        Expected{"xnn_f32_vmulcaddc_minmax_ukernel_c4__sse_2x", "dwconv", "vmulcaddc", "f32", "minmax", "",
                 "c4_2x", "sse", ""},
        Expected{"xnn_f32_conv_hwc2chw_ukernel_3x3s2p1c3x4__neonfma_2x2", "conv", "conv_hwc2chw", "f32", "",
                 "", "3x3s2p1c3x4_2x2", "neonfma", ""},
        Expected{"xnn_f32_spmm_minmax_ukernel_32x2__aarch64_neonfma", "spmm", "spmm", "f32", "minmax", "",
                 "32x2", "aarch64_neonfma", ""},
        Expected{"xnn_f32_spmm_minmax_ukernel_16x1__neonfma_pipelined", "spmm", "spmm", "f32", "minmax", "",
                 "16x1", "neonfma", "pipelined"},
        Expected{"xnn_f32_argmaxpool_ukernel_9p8x__neon_c4", "pool", "argmaxpool", "f32", "", "", "9p8x_c4",
                 "neon", ""},
        Expected{"xnn_s8_maxpool_minmax_ukernel_9p__neon_u16", "pool", "maxpool", "s8", "minmax", "", "9p",
                 "neon", "", 16},
        Expected{"xnn_f16_pavgpool_minmax_ukernel_9p8x__avx2_c8", "pool", "pavgpool", "f16", "minmax", "",
                 "9p8x_c8", "avx2", ""},
        Expected{"xnn_f32_ibilinear_ukernel__sse_c8", "resize", "ibilinear", "f32", "", "", "c8", "sse", ""},
        Expected{"xnn_f32_ibilinear_chw_ukernel__neonfma_p8", "resize", "ibilinear_chw", "f32", "", "", "p8",
                 "neonfma", ""},
        Expected{"xnn_f32_rsum_ukernel__avx512f_u32_acc2", "reduce", "rsum", "f32", "", "", "", "avx512f", "",
                 32, 2},
        Expected{"xnn_f32_rdsum_ukernel_7p7x__avx512f_u64", "reduce", "rdsum", "f32", "", "", "7p7x",
                 "avx512f", "", 64},
        Expected{"xnn_f16_f32acc_rsum2_ukernel__avx512skx_u128_acc8", "reduce", "rsum2", "f16_f32acc", "", "",
                 "", "avx512skx", "", 128, 8},
        Expected{"xnn_f32_raddstoreexpminusmax_ukernel__avx512f_rr2_p5_u64_acc2", "softmax",
                 "raddstoreexpminusmax", "f32", "", "", "", "avx512f", "rr2_p5", 64, 2},
        Expected{"xnn_f32_vgelu_ukernel__avx512f_rational_12_10_div_u32", "activation", "vgelu", "f32", "",
                 "", "", "avx512f", "rational_12_10_div", 32},
        Expected{"xnn_f16_vtanh_ukernel__aarch64_neonfp16arith_expm1minus_rr1_p3h2ts_div_u16", "activation",
                 "vtanh", "f16", "", "", "", "aarch64_neonfp16arith", "expm1minus_rr1_p3h2ts_div", 16},
        Expected{"xnn_f32_vsqrt_ukernel__scalar_sqrt_u8", "unary", "vsqrt", "f32", "", "", "", "scalar",
                 "sqrt", 8},
        Expected{"xnn_f32_vexp_ukernel__sse2fma_rational_3_2_div_u4", "unary", "vexp", "f32", "", "", "",
                 "sse2fma", "rational_3_2_div", 4},
        Expected{"xnn_f32_vmulc_ukernel__rvv_u8v", "binary", "vmulc", "f32", "", "", "", "rvv", "", 8, 0,
                 false, true},
        Expected{"xnn_qs8_vmul_minmax_rndnu_ukernel__neon_ld128_u16", "binary", "vmul", "qs8", "minmax",
                 "rndnu", "", "neon", "ld128", 16},
        Expected{"xnn_f32_vrcopysignc_ukernel__avx_u24", "binary", "vrcopysignc", "f32", "", "", "", "avx",
                 "", 24},
        Expected{"xnn_f16_f32_vcvt_ukernel__f16c_u16", "convert", "vcvt", "f16_f32", "", "", "", "f16c", "",
                 16},
        Expected{"xnn_x8_packq_f32qp8_ukernel__aarch64_neon_u2", "convert", "packq", "f32_qp8", "", "", "",
                 "aarch64_neon", "", 2},
        Expected{"xnn_x32_transposec_ukernel__8x8_reuse_multi_avx", "transpose", "transposec", "x32", "", "",
                 "8x8", "avx", "reuse_multi"},
        Expected{"xnn_x24_transposec_ukernel__4x4_aarch64_neon_tbl128", "transpose", "transposec", "x24", "",
                 "", "4x4", "aarch64_neon", "tbl128"},
        Expected{"xnn_xx_transposev_ukernel__1x1_scalar_memcpy", "transpose", "transposev", "xx", "", "",
                 "1x1", "scalar", "memcpy"},
        Expected{"xnn_xx_copy_ukernel__scalar_memcpy", "move", "copy", "xx", "", "", "", "scalar", "memcpy"},
        Expected{"xnn_x8_lut_ukernel__avx512vbmi_vpermx2b_u256", "move", "lut", "x8", "", "", "",
                 "avx512vbmi", "vpermx2b", 256},
        Expected{"xnn_x32_zip_x3_ukernel__neon", "move", "zip_x3", "x32", "", "", "", "neon", ""},
        Expected{"xnn_x32_packw_gemm_goi_ukernel_x16s4__avx_u4_prfm", "pack", "packw_gemm_goi", "x32", "", "",
                 "x16s4", "avx", "prfm", 4},
        Expected{"xnn_qs8_to_qu8_packw_gemm_goi_ukernel_x16c8__avx512vnni", "pack", "packw_gemm_goi",
                 "qs8_qu8", "", "", "x16c8", "avx512vnni", ""},
        Expected{"xnn_x32_packb_gemm_ukernel_2c1s1r__scalar_float", "pack", "packb_gemm", "x32", "", "",
                 "2c1s1r", "scalar", "float"},
        Expected{"xnn_x32_pack_lh_ukernel__neonsme2", "pack", "pack_lh", "x32", "", "", "", "neonsme2", ""}));

INSTANTIATE_TEST_SUITE_P(
    Kleidiai, MicrokernelNames,
    testing::Values(
        Expected{"kai_matmul_clamp_f32_f32p2vlx1_f32p2vlx1b_2vlx2vl_sme2_mopa", "gemm", "matmul_clamp",
                 "f32_f32p2vlx1_f32p2vlx1b", "", "", "2vlx2vl", "sme2", "mopa", 0, 0, false, true},
        Expected{"kai_run_matmul_clamp_f32_qai8dxp1x8_qsi4cxp4x8_1x4x32_neon_dotprod", "gemm", "matmul_clamp",
                 "f32_qai8dxp1x8_qsi4cxp4x8", "", "", "1x4x32", "neon_dotprod", ""},
        Expected{"kai_get_rhs_packed_offset_matmul_clamp_f16_f16_f16p2vlx2b_1x16vl_sme2_dot", "gemm",
                 "matmul_clamp", "f16_f16_f16p2vlx2b", "", "", "1x16vl", "sme2", "dot", 0, 0, false, true},
        Expected{"kai_run_imatmul_clamp_f32_f32p2vlx1_f32p2vlx1b_2vlx2vl_sme_mopa", "igemm", "imatmul_clamp",
                 "f32_f32p2vlx1_f32p2vlx1b", "", "", "2vlx2vl", "sme", "mopa", 0, 0, false, true},
        Expected{"kai_run_lhs_quant_pack_qai8dxp_f32", "pack", "lhs_quant_pack", "qai8dxp_f32", "", "", "",
                 "", ""},
        Expected{"kai_get_bias_offset_rhs_imatmul_pack_kxn_x32p2vlx1b_x32_x32_sme", "pack",
                 "rhs_imatmul_pack_kxn", "x32p2vlx1b_x32_x32", "", "", "", "sme", ""}));

TEST(ParseMicrokernel, GivesRowsAndColumns) {
  const auto kernel = ParseMicrokernel("xnn_qs8_qc8w_igemm_minmax_fp32_ukernel_2x8c2s4__neonv8_mlal");
  ASSERT_TRUE(kernel);
  EXPECT_EQ(kernel->mr, 2);
  EXPECT_EQ(kernel->nr, 8);
  EXPECT_EQ(kernel->kr, 2);
  EXPECT_EQ(kernel->sr, 4);
  EXPECT_FALSE(ParseMicrokernel("xnn_f32_dwconv_minmax_ukernel_9p16c__avx512f")->mr);
}

TEST(ParseMicrokernel, RecognizesSme) {
  const auto level = [](const char* name) {
    const auto kernel = ParseMicrokernel(name);
    return kernel->HasSme2() ? 2 : kernel->HasSme() ? 1 : 0;
  };
  EXPECT_EQ(level("xnn_pf32_gemm_minmax_ukernel_32x32__neonsme2"), 2);
  EXPECT_EQ(level("xnn_pf32_gemm_minmax_ukernel_32x32__neonsme"), 1);
  EXPECT_EQ(level("kai_matmul_clamp_f32_f32p2vlx1_f32p2vlx1b_2vlx2vl_sme2_mopa"), 2);
  EXPECT_EQ(level("kai_matmul_clamp_f16_f16_f16p2vlx2b_1x8vl_sme_mla"), 1);
  EXPECT_EQ(level("xnn_f32_gemm_minmax_ukernel_6x8__neonfma_dup_ld64"), 0);
}

TEST(ParseMicrokernel, ShapeFallsBackOnElements) {
  EXPECT_EQ(ParseMicrokernel("xnn_f32_vadd_ukernel__avx512f_u32")->Shape(), "u32");
  EXPECT_EQ(ParseMicrokernel("xnn_f32_vmulc_ukernel__rvv_u8v")->Shape(), "u8v");
  EXPECT_EQ(ParseMicrokernel("xnn_xx_copy_ukernel__scalar_memcpy")->Shape(), "");
}

TEST(ParseMicrokernel, RefusesOtherNames) {
  for (const char* name : {"",
                           "x",
                           "xnn_",
                           "xnn__ukernel__",
                           "xnn_ukernel",
                           "xnn_f32_gemm_minmax_ukernel",
                           "xnn_f32_gemm_minmax_ukernel_",
                           "xnn_f32_gemm_minmax_ukernel_7x32",
                           "xnn_f32_gemm_minmax_ukernel_7x32__",
                           "xnn_f32_gemm_minmax_ukernel__7x32",
                           "xnn_f32_gemm_minmax_ukernelx7__sse",
                           "xnn_gemm_ukernel_7x32__sse",
                           "xnn_f32_ukernel_7x32__sse",
                           "xnn_f32_frobnicate_ukernel__sse",
                           "xnn_init_f32_gemm_config",
                           "kai_",
                           "kai_commit_za",
                           "kai_matmul_clamp",
                           "kai_get_sme_vector_length_u8",
                           "kai_matmul_clamp_f32_f32",
                           "memcpy"}) {
    EXPECT_FALSE(ParseMicrokernel(name)) << name;
  }
}

TEST(ParseMicrokernel, IgnoresHugeNumbers) {
  const auto kernel =
      ParseMicrokernel("xnn_f32_gemm_minmax_ukernel_99999999999999999999x8__sse_u99999999999999999999");
  ASSERT_TRUE(kernel);
  EXPECT_FALSE(kernel->mr);
  EXPECT_FALSE(kernel->elements);
}

}  // namespace
}  // namespace etprof::xnnpack
