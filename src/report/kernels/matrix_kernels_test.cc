#include "report/kernels/matrix_kernels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "format/etdump/reader.h"

namespace etprof {
namespace {

using Used = KleidiaiUsage::Kernels;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

const std::string kTraces = ETPROF_TEST_DATA;

Profile ReadModelProfile(const std::string& file) {
  return Attribute(ReadEtdumpFile(kTraces + "/" + file), {});
}

// A profile in which each matrix multiplication is joined to a node with `usage`.
Profile MakeJoinedProfile(const std::string& file, const KleidiaiUsage& usage) {
  Profile profile = ReadModelProfile(file);
  profile.program.emplace();
  profile.program->operators.resize(profile.operators.size());
  for (std::size_t op = 0; op < profile.operators.size(); ++op) {
    const std::string& type = profile.operators[op].type;
    if (type.starts_with("Convolution") || type.starts_with("Fully"))
      profile.program->operators[op].kleidiai = usage;
  }
  return profile;
}

protocol::IsaState MakeIsaState(std::vector<std::string> detected, std::vector<std::string> enabled) {
  protocol::IsaState isa;
  isa.detected = std::move(detected);
  isa.enabled = std::move(enabled);
  return isa;
}

TEST(FindMatrixKernels, NamesShowTheKernels) {
  const auto on = FindMatrixKernels(ReadModelProfile("sme2_emulated/toy_cnn.sme2_on.etdump"), std::nullopt);
  ASSERT_THAT(on, SizeIs(1));
  EXPECT_EQ(on[0].kernels, Used::kSme);
  EXPECT_THAT(on[0].operators,
              SizeIs(5));  // three convolutions and two fully connected layers, without packing
  EXPECT_GT(on[0].mean_ns, 0);
  EXPECT_EQ(on[0].reason, "");
  EXPECT_TRUE(RanOnArm(ReadModelProfile("sme2_emulated/toy_cnn.sme2_on.etdump"), std::nullopt));
  // Without KleidiAI's operators, only the features show that the CPU is an Arm CPU.
  const Profile off = ReadModelProfile("sme2_emulated/toy_cnn.sme2_off.etdump");
  EXPECT_FALSE(RanOnArm(off, std::nullopt));
  EXPECT_FALSE(RanOnArm(off, MakeIsaState({"avx2", "avx512fp16"}, {"avx2"})));
  EXPECT_TRUE(RanOnArm(off, MakeIsaState({"dotprod", "fp16"}, {"dotprod"})));
}

TEST(FindMatrixKernels, ReportsTheMachinesReason) {
  const Profile off = MakeJoinedProfile("sme2_emulated/toy_cnn.sme2_off.etdump", {Used::kSme, "", ""});
  const std::vector<std::string> all = {"dotprod", "fp16", "sme", "sme2"}, less = {"dotprod", "fp16"};
  const auto reason = [&](const protocol::IsaState& isa) {
    const auto rows = FindMatrixKernels(off, isa);
    EXPECT_THAT(rows, SizeIs(1));
    EXPECT_EQ(rows.at(0).kernels, Used::kXnnpack);
    EXPECT_EQ(rows.at(0).change, "");
    return rows.at(0).reason;
  };
  EXPECT_EQ(reason(MakeIsaState(all, less)), "SME2 was masked");
  EXPECT_EQ(reason(MakeIsaState(less, less)), "the CPU has no SME2");
  EXPECT_EQ(reason(MakeIsaState(all, all)), "by its types it could: why it did not is not known");
}

TEST(FindMatrixKernels, ReportsTheNodesReason) {
  const KleidiaiUsage usage = {Used::kXnnpack, "weights are quantized per tensor",
                               "quantize weights per channel"};
  const auto isa = MakeIsaState({"sme", "sme2"}, {"sme", "sme2"});
  const auto rows = FindMatrixKernels(MakeJoinedProfile("sme2_emulated/toy_q8.sme2_off.etdump", usage), isa);
  ASSERT_THAT(rows, SizeIs(1));
  EXPECT_EQ(rows[0].reason, usage.reason);
  EXPECT_EQ(rows[0].change, usage.change);
  // If KleidiAI's kernels ran nevertheless, the name shows it.
  const auto ran = FindMatrixKernels(MakeJoinedProfile("sme2_emulated/toy_q8.sme2_on.etdump", usage), isa);
  ASSERT_THAT(ran, SizeIs(1));
  EXPECT_EQ(ran[0].kernels, Used::kSme);
  EXPECT_EQ(ran[0].reason, "");
}

// A watched run in which each operator of the profile called a function with this name.
WatchData MakeWatchData(const Profile& profile, const std::string& function) {
  WatchData watch{"forward", {}};
  watch.reply.threads = 1;
  watch.reply.architecture = "aarch64";
  // The function's code: fmla v0.4s, v1.4s, v2.4s; its callee's code: fmopa za0.s, p0/m, p0/m, z0.s, z1.s
  const bool sme = function.find("_sme") != std::string::npos;
  watch.reply.functions = {{function, 0x1000, 4, "20cc224e", sme ? "00008180" : ""}};
  for (const Operator& op : profile.operators) {
    if (op.key.kind != SpanKind::kBackend) continue;
    protocol::WatchedOperator watched{
        {1, 10, 10, 1, {{}}},
        {op.key.chain, op.key.instruction, "backend", op.key.ordinal, op.key.occurrence},
        op.name,
        {{0, false, {1}}}};
    watch.reply.operators.push_back(watched);
  }
  return watch;
}

TEST(FindMatrixKernels, ObservationsOverrideNames) {
  const Profile on = ReadModelProfile("sme2_emulated/toy_cnn.sme2_on.etdump");
  const WatchData as_named =
      MakeWatchData(on, "kai_run_matmul_clamp_f32_f32p2vlx1_f32p2vlx1b_2vlx2vl_sme_mopa");
  auto rows = FindMatrixKernels(on, std::nullopt, MakeWatchedRows(as_named));
  ASSERT_FALSE(rows.empty());
  EXPECT_EQ(rows[0].kernels, KleidiaiUsage::Kernels::kSme);
  EXPECT_EQ(rows[0].observed_code, "SME");
  EXPECT_FALSE(rows[0].contradicts);
  EXPECT_THAT(ListSmeOperators(on, rows), Contains("Convolution (NHWC, PF32) IGEMM (3 operators)"));

  const WatchData other = MakeWatchData(on, "");
  rows = FindMatrixKernels(on, std::nullopt, MakeWatchedRows(other));
  ASSERT_FALSE(rows.empty());
  EXPECT_EQ(rows[0].kernels, KleidiaiUsage::Kernels::kXnnpack);
  EXPECT_EQ(rows[0].observed_code, "NEON");
  EXPECT_TRUE(rows[0].contradicts);
  EXPECT_THAT(ListSmeOperators(on, rows), Not(Contains(HasSubstr("GEMM"))));
  // Observed SME kernels are listed even if no name implies them.
  const Profile off = ReadModelProfile("sme2_emulated/toy_cnn.sme2_off.etdump");
  EXPECT_THAT(ListSmeOperators(off, FindMatrixKernels(off, std::nullopt)), IsEmpty());
  const WatchData seen = MakeWatchData(off, "kai_run_matmul_clamp_f32_f32p2vlx1_f32p2vlx1b_2vlx2vl_sme_mopa");
  EXPECT_THAT(ListSmeOperators(off, FindMatrixKernels(off, std::nullopt, MakeWatchedRows(seen))),
              Not(IsEmpty()));
}

}  // namespace
}  // namespace etprof
