#include "report/kernels/kernels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "core/error.h"
#include "core/file/file.h"
#include "format/etdump/reader.h"

namespace etprof {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using xnnpack::KernelStatus;

const std::string kData = ETPROF_TEST_DATA;
const std::string kIgemm = "xnn_f32_igemm_minmax_ukernel_7x32__avx512f_broadcast";

Profile ReadProfile(const std::string& file) { return Attribute(ReadEtdumpFile(kData + "/" + file), {}); }

class Kernels : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::filesystem::path Write(const std::string& name, const std::string& text) {
    WriteFileAtomically(folder_ / name, text);
    return folder_ / name;
  }
  std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("etprof_kernels_test_" + std::to_string(::getpid()));
};

TEST_F(Kernels, ReadsARealLogAndItsEtdump) {
  KernelView view = ReadKernelView(kData + "/toy_cnn.t1.log");
  EXPECT_EQ(view.label, "toy_cnn.t1");
  EXPECT_EQ(view.Count(KernelStatus::kUsed), 1U);
  EXPECT_EQ(view.Count(KernelStatus::kSuperseded), 9U);
  EXPECT_FALSE(view.etdump_agrees);
  CompareWithProfile(ReadProfile("toy_cnn.t1.etdump"), view);
  EXPECT_EQ(view.etdump_agrees, true);
  CompareWithProfile(ReadProfile("sme2_emulated/toy_cnn.sme2_on.etdump"), view);
  EXPECT_EQ(view.etdump_agrees, false);
}

TEST_F(Kernels, KernelsOfTheKitsTableAreRegistered) {
  // The kit lists registered kernels without a status.
  const KernelView view = ReadKernelView(
      Write("net_kernels.csv", "model_id,kernel_name,category,count,dtype\nnet," + kIgemm + ",GEMM,3,f32\n"));
  EXPECT_EQ(view.label, "net");
  EXPECT_EQ(view.model_id, "net");
  ASSERT_THAT(view.usage.kernels, SizeIs(1));
  EXPECT_EQ(view.usage.kernels[0].count, 3U);
  EXPECT_EQ(view.usage.kernels[0].status, KernelStatus::kRegistered);
}

TEST_F(Kernels, RefusesAMissingFile) { EXPECT_THROW(ReadKernelView(folder_ / "none.log"), Error); }

TEST_F(Kernels, ComparesLogsByStatusAndOperator) {
  const std::string text = ReadTextFile(kData + "/toy_cnn.t1.log");
  std::string on;  // the same log as if SME2 existed
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at) + 1;
    std::string line = text.substr(at, end - at);
    const auto replace = [&](const std::string& from, const std::string& to) {
      if (const std::size_t found = line.find(from); found != std::string::npos)
        line.replace(found, from.size(), to);
    };
    replace("(Convolution (NHWC, F32)", "(Convolution (NHWC, PF32)");
    replace("mr=7, nr=32", "mr=32, nr=32");
    replace(kIgemm, "xnn_pf32_igemm_minmax_ukernel_32x32__neonsme2");
    on += line;
    at = end;
  }
  KernelReport report;
  report.views = {ReadKernelView(kData + "/toy_cnn.t1.log", "sme2_off"),
                  ReadKernelView(Write("on.log", on), "sme2_on")};
  CompareSme2OffWithOn(report);
  ASSERT_TRUE(report.comparison);
  EXPECT_EQ(report.comparison->unchanged.size(), 37U);
  ASSERT_THAT(report.comparison->kernels, SizeIs(2));
  EXPECT_EQ(report.comparison->kernels[0].kernel, kIgemm);
  EXPECT_EQ(report.comparison->kernels[0].baseline, KernelStatus::kUsed);
  EXPECT_FALSE(report.comparison->kernels[0].candidate);
  EXPECT_EQ(report.comparison->kernels[1].candidate, KernelStatus::kUsed);
  EXPECT_TRUE(report.comparison->kernels[1].parsed->HasSme2());
  ASSERT_THAT(report.comparison->operators, SizeIs(10));
  EXPECT_EQ(report.comparison->operators[1].candidate, "Convolution (NHWC, PF32) IGEMM #1");
  EXPECT_EQ(report.comparison->operators[1].candidate_kernel,
            "xnn_pf32_igemm_minmax_ukernel_32x32__neonsme2");

  // The filter also applies to the counts.
  KernelReport dwconv = report;
  FilterKernels("dwconv", dwconv);
  EXPECT_EQ(dwconv.comparison->unchanged.size(), dwconv.views[0].usage.kernels.size());
  EXPECT_THAT(dwconv.comparison->kernels, IsEmpty());
  FilterKernels("GEMM", report);
  for (const xnnpack::LoggedKernel& kernel : report.views[0].usage.kernels)
    EXPECT_THAT(kernel.name, HasSubstr("gemm"));
  EXPECT_THAT(report.views[0].usage.operators, SizeIs(5));
  EXPECT_THAT(report.comparison->operators, SizeIs(5));
}

TEST_F(Kernels, ComparesOnlyOffWithOn) {
  KernelReport report;
  report.views = {ReadKernelView(kData + "/toy_cnn.t1.log", "a"),
                  ReadKernelView(kData + "/toy_cnn.t1.log", "b")};
  CompareSme2OffWithOn(report);
  EXPECT_FALSE(report.comparison);
  report.views[0].label = "convnext";
  report.views[1].label = "offline";
  CompareSme2OffWithOn(report);
  EXPECT_FALSE(report.comparison);
}

TEST_F(Kernels, FindsOperatorsThatChangeWithTheMask) {
  struct Case {
    const char* model;
    std::size_t changed, kleidiai;
  };
  for (const Case& c : {Case{"toy_cnn", 5, 5}, Case{"toy_fp16", 5, 5}, Case{"toy_q8", 5, 5}}) {
    const std::string stem = std::string("sme2_emulated/") + c.model;
    const OperatorEvidence evidence = CompareOperatorNames(
        ReadProfile(stem + ".sme2_off.etdump"), ReadProfile(stem + ".sme2_on.etdump"), "off", "on");
    EXPECT_EQ(evidence.CountKleidiai(&OperatorEvidence::Row::baseline_kleidiai), 0U) << c.model;
    EXPECT_EQ(evidence.CountKleidiai(&OperatorEvidence::Row::candidate_kleidiai), c.kleidiai) << c.model;
    EXPECT_EQ(evidence.changed.size(), c.changed) << c.model;
    for (const OperatorEvidence::Row& row : evidence.changed) {
      EXPECT_TRUE(row.candidate_sme) << row.candidate;
      EXPECT_FALSE(row.baseline_kleidiai) << row.baseline;
      EXPECT_NE(row.baseline, row.candidate);
    }
    EXPECT_GT(evidence.unchanged.size(), 0U);
    KernelReport report;
    report.evidence = {evidence};
    FilterKernels("fully connected", report);
    EXPECT_EQ(report.evidence[0].changed.size(), 2U) << c.model;
    EXPECT_EQ(report.evidence[0].CountKleidiai(&OperatorEvidence::Row::candidate_kleidiai), 2U) << c.model;
    EXPECT_EQ(report.evidence[0].unchanged.size(), 0U) << c.model;
  }
  // A profile compared with itself has no changes.
  const Profile same = ReadProfile("sme2_emulated/toy_cnn.sme2_on.etdump");
  const OperatorEvidence unchanged = CompareOperatorNames(same, same, "a", "b");
  EXPECT_THAT(unchanged.changed, IsEmpty());
  EXPECT_EQ(unchanged.unchanged.size(), 11U);
}

}  // namespace
}  // namespace etprof
