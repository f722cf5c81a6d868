#include "format/xnnpack/kernel_usage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/file/file.h"
#include "core/golden_testing.h"

namespace etprof::xnnpack {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

std::vector<std::string> KernelsWithStatus(const KernelUsage& usage, KernelStatus status) {
  std::vector<std::string> names;
  for (const LoggedKernel& kernel : usage.kernels)
    if (kernel.status == status) names.push_back(kernel.name);
  return names;
}

const OperatorKernel& FindOperator(const KernelUsage& usage, const std::string& name) {
  for (const OperatorKernel& op : usage.operators)
    if (op.name == name) return op;
  throw std::out_of_range(name);
}

TEST(FindKernelUsage, ReadsARealLog) {
  const KernelUsage usage = FindKernelUsage(ParseKernelLog(ReadTextFile(ETPROF_TEST_DATA "/toy_cnn.t1.log")));
  const std::string igemm = "xnn_f32_igemm_minmax_ukernel_7x32__avx512f_broadcast";
  for (const char* name : {"Convolution (NHWC, F32) IGEMM #1", "Convolution (NHWC, F32) IGEMM #2",
                           "Convolution (NHWC, F32) IGEMM #3"}) {
    EXPECT_EQ(FindOperator(usage, name).kernel, igemm);
    EXPECT_EQ(FindOperator(usage, name).calls, 20U);
  }
  // No other kernel is proven: no dwconv microkernel, although the log says "using dwconv unipass".
  EXPECT_THAT(KernelsWithStatus(usage, KernelStatus::kUsed), ElementsAre(igemm));
  // With one row and n = 10, any of four kernels may have run.
  const OperatorKernel& second = FindOperator(usage, "Fully Connected (NC, F32) GEMM #2");
  EXPECT_EQ(second.kernel, "");
  EXPECT_THAT(second.candidates, SizeIs(4));
  ExpectGolden("format/kernel_use_of_cut_log", second.reason + "\n");
  // For m = 1 XNNPACK logs mr = 1 for the microkernels of 7 rows and of 1 row.
  EXPECT_THAT(FindOperator(usage, "Fully Connected (NC, F32) GEMM #1").candidates,
              ElementsAre("xnn_f32_gemm_minmax_ukernel_1x32__avx512f_broadcast",
                          "xnn_f32_gemm_minmax_ukernel_7x32__avx512f_broadcast"));
  // Every kernel of the log has a known naming scheme.
  for (const LoggedKernel& kernel : usage.kernels) EXPECT_TRUE(kernel.parsed) << kernel.name;
  EXPECT_THAT(
      KernelsWithStatus(usage, KernelStatus::kSuperseded),
      ElementsAre("xnn_x8_transposec_ukernel__2x4_scalar_int", "xnn_x16_transposec_ukernel__2x4_scalar_int",
                  "xnn_x24_transposec_ukernel__1x2_scalar", "xnn_x32_transposec_ukernel__2x4_scalar_int",
                  "xnn_x64_transposec_ukernel__4x2_scalar_int", "xnn_x32_transposec_ukernel__4x4_sse",
                  "xnn_x8_transposec_ukernel__16x16_reuse_mov_sse2",
                  "xnn_x16_transposec_ukernel__8x8_reuse_multi_sse2",
                  "xnn_x64_transposec_ukernel__2x2_multi_mov_sse2"));
  // Logged for consistent arithmetic after the default kernel, which it does not supersede.
  EXPECT_THAT(KernelsWithStatus(usage, KernelStatus::kRegistered),
              Contains("xnn_f32_raddstoreexpminusmax_ukernel__avx512f_rr2_p5_u64_acc2"));
  EXPECT_THAT(KernelsWithStatus(usage, KernelStatus::kRegistered),
              Contains("xnn_f32_dwconv_minmax_ukernel_9p16c__avx512f"));
}

std::string UsingLine(const std::string& role, const std::string& kernel, const std::string& config,
                      int line = 1) {
  return "Note (XNNPACK): Using " + role + " microkernel '" + kernel + "'. (" + config +
         ", a/gemm-config.c:" + std::to_string(line) + ")\n";
}
std::string ReshapeAndRun(const std::string& type, const std::string& kind, int m, int n, int mr, int nr) {
  return "Debug (XNNPACK): reshaping operator 0 (" + type +
         ") (f, a.c:1)\nDebug (XNNPACK): Tile size for GEMM with "
         "num_groups=1, m=" +
         std::to_string(m) + ", n=" + std::to_string(n) + " and mr=" + std::to_string(mr) +
         ", nr=" + std::to_string(nr) +
         " set to [7, 32] (1 tiles) (f, a.c:1)\nDebug (XNNPACK): running operator 0:0 (" + type + " " + kind +
         ") (f, a.c:1)\n";
}

struct Proof {
  const char* type;
  const char* kind;
  int m, n, mr, nr;
  const char* kernel;  // empty: not proven
};

TEST(FindKernelUsage, ProvesByDataTypeKindAndTileTogether) {
  const std::string log =
      UsingLine("gemm", "xnn_f32_gemm_minmax_ukernel_1x16__avx2_broadcast", "init_f32_gemm_config") +
      UsingLine("gemm", "xnn_f32_gemm_minmax_ukernel_5x16__avx2_broadcast", "init_f32_gemm_config") +
      UsingLine("igemm", "xnn_f32_igemm_minmax_ukernel_5x16__avx2_broadcast", "init_f32_gemm_config") +
      UsingLine("gemm", "xnn_qs8_qc8w_gemm_minmax_fp32_ukernel_4x16c8__avx512vnni",
                "init_qs8_qc8w_gemm_config") +
      UsingLine("gemm", "xnn_qd8_f32_qc8w_gemm_minmax_ukernel_4x16c8__avx512vnni",
                "init_qd8_f32_qc8w_gemm_config") +
      UsingLine("gemm", "xnn_pqs8_qc8w_gemm_minmax_ukernel_32x32c4__neonsme2", "init_pqs8_qc8w_gemm_config") +
      UsingLine("igemm", "xnn_pf16_f16_igemm_minmax_fp16_ukernel_32x32c2__neonsme2", "init_pf16_gemm_config");
  for (const Proof& proof : {
           Proof{"Fully Connected (NC, F32)", "GEMM", 64, 64, 5, 16,
                 "xnn_f32_gemm_minmax_ukernel_5x16__avx2_broadcast"},
           Proof{"Convolution (NHWC, F32)", "GEMM", 64, 64, 5, 16,
                 "xnn_f32_gemm_minmax_ukernel_5x16__avx2_broadcast"},
           Proof{"Convolution (NHWC, F32)", "IGEMM", 64, 64, 5, 16,
                 "xnn_f32_igemm_minmax_ukernel_5x16__avx2_broadcast"},
           Proof{"Convolution (NHWC, QC8)", "GEMM", 64, 64, 4, 16,
                 "xnn_qs8_qc8w_gemm_minmax_fp32_ukernel_4x16c8__avx512vnni"},
           Proof{"Fully Connected (NC, QS8, QC8W)", "GEMM", 64, 64, 4, 16,
                 "xnn_qs8_qc8w_gemm_minmax_fp32_ukernel_4x16c8__avx512vnni"},
           Proof{"Fully Connected (NC, QDU8, F32, QC8W)", "GEMM", 64, 64, 4, 16,
                 "xnn_qd8_f32_qc8w_gemm_minmax_ukernel_4x16c8__avx512vnni"},
           Proof{"Fully Connected (NC, PQS8, QC8W)", "GEMM", 64, 64, 32, 32,
                 "xnn_pqs8_qc8w_gemm_minmax_ukernel_32x32c4__neonsme2"},
           Proof{"Convolution (NHWC, PF16)", "IGEMM", 64, 64, 32, 32,
                 "xnn_pf16_f16_igemm_minmax_fp16_ukernel_32x32c2__neonsme2"},
           // The operator has the size of the tile, so a larger tile would be logged in the same way; but
           // there is no larger tile.
           Proof{"Fully Connected (NC, F32)", "GEMM", 5, 16, 5, 16,
                 "xnn_f32_gemm_minmax_ukernel_5x16__avx2_broadcast"},
           // One row: the kernel with five rows would log the same.
           Proof{"Fully Connected (NC, F32)", "GEMM", 1, 64, 1, 16, ""},
           // Clipped to the size: one kernel agrees, but its own tile was not logged.
           Proof{"Fully Connected (NC, F32)", "GEMM", 3, 64, 3, 16, ""},
           // No kernel has this tile, data type, or kind.
           Proof{"Fully Connected (NC, F32)", "GEMM", 64, 64, 6, 16, ""},
           Proof{"Fully Connected (NC, F16)", "GEMM", 64, 64, 5, 16, ""},
           Proof{"Fully Connected (NC, QU8)", "GEMM", 64, 64, 4, 16, ""},
           Proof{"Convolution (NHWC, F32)", "DWConv", 64, 64, 5, 16, ""},
       }) {
    const KernelUsage usage = FindKernelUsage(
        ParseKernelLog(log + ReshapeAndRun(proof.type, proof.kind, proof.m, proof.n, proof.mr, proof.nr)));
    ASSERT_THAT(usage.operators, SizeIs(1));
    EXPECT_EQ(usage.operators[0].kernel, proof.kernel) << proof.type << " " << proof.kind << " " << proof.mr;
    EXPECT_EQ(usage.operators[0].reason.empty(), usage.operators[0].kernel != "");
    EXPECT_EQ(KernelsWithStatus(usage, KernelStatus::kUsed).size(),
              usage.operators[0].kernel.empty() ? 0U : 1U);
  }
}

TEST(FindKernelUsage, MicrokernelsForDifferentCoresAreNotSuperseded) {
  const std::string log = UsingLine("gemm", "xnn_f32_gemm_minmax_ukernel_6x8__asm_aarch64_neonfma_cortex_a75",
                                    "init_f32_gemm_config", 1) +
                          UsingLine("gemm", "xnn_f32_gemm_minmax_ukernel_6x8__asm_aarch64_neonfma_cortex_a53",
                                    "init_f32_gemm_config", 2);
  const KernelUsage usage =
      FindKernelUsage(ParseKernelLog(log + ReshapeAndRun("Fully Connected (NC, F32)", "GEMM", 64, 64, 6, 8)));
  EXPECT_THAT(KernelsWithStatus(usage, KernelStatus::kRegistered), SizeIs(2));
  EXPECT_THAT(usage.operators[0].candidates, SizeIs(2));
  EXPECT_EQ(usage.operators[0].reason, "several microkernels have its tile");
}

TEST(FindKernelUsage, SupersedesWithinOneFunctionAndSlot) {
  const auto find_superseded = [](const std::string& log) {
    return KernelsWithStatus(FindKernelUsage(ParseKernelLog(log)), KernelStatus::kSuperseded);
  };
  const std::string sse = "xnn_x32_transposec_ukernel__4x4_sse",
                    avx = "xnn_x32_transposec_ukernel__8x8_reuse_multi_avx";
  EXPECT_THAT(find_superseded(UsingLine("transposec", sse, "init_transpose_config") +
                              UsingLine("transposec", avx, "init_transpose_config")),
              ElementsAre(sse));
  // Another function, an _impl function (default and consistent arithmetic), or an unnamed function.
  EXPECT_THAT(find_superseded(UsingLine("transposec", sse, "init_a_config") +
                              UsingLine("transposec", avx, "init_b_config")),
              IsEmpty());
  EXPECT_THAT(find_superseded(UsingLine("transposec", sse, "init_a_config_impl") +
                              UsingLine("transposec", avx, "init_a_config_impl")),
              IsEmpty());
  EXPECT_THAT(find_superseded("Note (XNNPACK): Using transposec microkernel '" + sse +
                              "'.\nNote (XNNPACK): Using transposec microkernel '" + avx + "'.\n"),
              IsEmpty());
  // Another function still registers the first kernel.
  EXPECT_THAT(find_superseded(UsingLine("transposec", sse, "init_a_config") +
                              UsingLine("transposec", avx, "init_a_config") +
                              UsingLine("transposec", sse, "init_b_config")),
              IsEmpty());
  // Rows, taps, kernel sizes and widths are separate slots.
  for (const auto& [a, b] :
       {std::pair{"xnn_f32_gemm_minmax_ukernel_1x16__avx2_broadcast",
                  "xnn_f32_gemm_minmax_ukernel_5x16__avx2_broadcast"},
        std::pair{"xnn_f32_dwconv_minmax_ukernel_3p16c__avx512f",
                  "xnn_f32_dwconv_minmax_ukernel_9p16c__avx512f"},
        std::pair{"xnn_f32_dwconv2d_chw_ukernel_3x3p1__neon_2x4",
                  "xnn_f32_dwconv2d_chw_ukernel_5x5p2__neon_2x4"},
        std::pair{"xnn_f32_spmm_minmax_ukernel_16x1__sse", "xnn_f32_spmm_minmax_ukernel_16x2__sse"},
        std::pair{"xnn_f32_vadd_ukernel__sse_u8", "xnn_f32_vaddc_ukernel__sse_u8"},
        std::pair{"xnn_x8_transposec_ukernel__2x4_scalar_int", "xnn_x32_transposec_ukernel__4x4_sse"}}) {
    EXPECT_THAT(find_superseded(UsingLine("x", a, "init_x_config") + UsingLine("x", b, "init_x_config")),
                IsEmpty())
        << a;
  }
  EXPECT_THAT(
      find_superseded(UsingLine("dwconv", "xnn_f32_dwconv_minmax_ukernel_9p8c__avx", "init_x_config") +
                      UsingLine("dwconv", "xnn_f32_dwconv_minmax_ukernel_9p16c__avx512f", "init_x_config")),
      ElementsAre("xnn_f32_dwconv_minmax_ukernel_9p8c__avx"));
}

TEST(FindKernelUsage, KeepsMicrokernelsWithAnUnknownScheme) {
  const KernelUsage usage =
      FindKernelUsage(ParseKernelLog(UsingLine("frob", "xnn_new_thing", "init_x_config")));
  ASSERT_THAT(usage.kernels, SizeIs(1));
  EXPECT_FALSE(usage.kernels[0].parsed);
  EXPECT_EQ(usage.kernels[0].status, KernelStatus::kRegistered);
}

}  // namespace
}  // namespace etprof::xnnpack
