#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "core/json/json_members.h"
#include "core/text/csv_reader.h"
#include "show/formats.h"
#include "show/formats/csv/table_csv.h"
#include "show/subjects.h"

namespace etprof {
namespace {

using testing::HasSubstr;
using testing::Not;

KernelReport MakeKernelReport() {
  KernelReport report;
  report.model_id = "toy_cnn";
  report.views = {ReadKernelView(ETPROF_TEST_DATA "/toy_cnn.t1.log", "traced", "toy_cnn")};
  return report;
}

std::string RenderKernelText(void (*render)(const KernelReport&, std::ostream&), const KernelReport& report) {
  std::ostringstream out;
  render(report, out);
  return out.str();
}

void Markdown(const KernelReport& report, std::ostream& out) {
  RenderDocumentMarkdown(show::MakeKernelsDocument(report), 1, out);
}

TEST(RenderKernelsCsv, HasTheKitsColumnsFirst) {
  std::ostringstream out;
  RenderKernelsCsv(MakeKernelReport().views[0], out);
  const std::string text = out.str();
  EXPECT_THAT(text, testing::StartsWith(
                        "model_id,kernel_name,category,count,dtype,xnn_op,variant,ukernel_shape,arch_chain,"
                        "has_sme,has_sme2,status,"));
  EXPECT_THAT(
      text,
      HasSubstr("\ntoy_cnn,xnn_f32_igemm_minmax_ukernel_7x32__avx512f_broadcast,CONV,1,f32,igemm,broadcast,"
                "7x32,avx512f,0,0,used,3,,minmax,,init_f32_igemm_config,gemm-config.c:1469\n"));
  EXPECT_THAT(
      text,
      HasSubstr(
          "xnn_x32_transposec_ukernel__4x4_sse,DATA_MOVEMENT,1,x32,transposec,,4x4,sse,0,0,superseded,0,"
          "xnn_x32_transposec_ukernel__8x8_reuse_multi_avx,"));
  CsvReader reader(text, "x.csv");
  std::vector<std::string_view> fields;
  int rows = 0;
  while (reader.Next(fields)) ++rows;
  EXPECT_EQ(rows, 39);  // the header, and one row per microkernel
}

TEST(RenderKernelsMarkdown, SeparatesProvenFromUnproven) {
  const std::string text = RenderKernelText(Markdown, MakeKernelReport());
  EXPECT_THAT(text, testing::StartsWith("# Kernels of toy\\_cnn\n"));
  EXPECT_THAT(text, HasSubstr("| Convolution (NHWC, F32) IGEMM \\#1 | 7x32 of 12544x32 | xnn\\_f32\\_igemm"));
  EXPECT_THAT(text, HasSubstr("Fully Connected (NC, F32) GEMM \\#2 | 1x10 of 1x10 | not proven: one of 4"));
  EXPECT_THAT(text, HasSubstr("<details><summary>Superseded</summary>"));
  KernelReport report = MakeKernelReport();
  report.title = "Mine";
  FilterKernels("GEMM", report);
  const std::string filtered = RenderKernelText(Markdown, report);
  EXPECT_THAT(filtered, testing::StartsWith("# Mine\n"));
  EXPECT_THAT(filtered, Not(HasSubstr("dwconv")));
  EXPECT_THAT(filtered, HasSubstr("gemm"));
}

TEST(RenderKernelsTerminal, FitsAndHidesControlCharacters) {
  KernelReport report = MakeKernelReport();
  report.views[0].label = "a\x1b[31m";
  std::ostringstream out;
  RenderDocumentTerminal(show::MakeKernelsDocument(report),
                         {.width = 100, .colors = false, .report_path = "there"}, out);
  EXPECT_THAT(out.str(),
              HasSubstr("38 microkernels: 1 proven to have run, 28 registered (use unknown), 9 superseded."));
  EXPECT_THAT(out.str(), Not(HasSubstr("\x1b")));
  EXPECT_THAT(out.str(), HasSubstr("not proven: one of 4"));
}

TEST(RenderKernelsTerminal, NamesAreCompleteOnAPipe) {
  const KernelReport report = MakeKernelReport();
  std::ostringstream out;
  RenderDocumentTerminal(show::MakeKernelsDocument(report), {}, out);
  for (const xnnpack::LoggedKernel& kernel : report.views[0].use.kernels) {
    if (kernel.status == xnnpack::KernelStatus::kSuperseded) continue;
    EXPECT_THAT(out.str(), testing::ContainsRegex("  " + kernel.name + " +" + GetName(kernel.status)));
  }
  EXPECT_THAT(out.str(), HasSubstr("not proven: XNNPACK prints tiles of matrix products\n"));
}

TEST(KernelsJson, IsValidJsonForAnyName) {
  KernelReport report = MakeKernelReport();
  report.views[0].use.kernels[0].name = "\xff\"\n";
  const nlohmann::json json = nlohmann::json::parse(JsonText(ToJson(report)));
  EXPECT_EQ(json.at("schema_version"), 1);
  EXPECT_EQ(json.at("logs")[0].at("kernels").size(), 38U);
  EXPECT_EQ(json.at("logs")[0].at("operators")[1].at("kernel"),
            "xnn_f32_igemm_minmax_ukernel_7x32__avx512f_broadcast");
  EXPECT_EQ(json.at("logs")[0].at("kernels")[1].at("superseded_by"),
            "xnn_x8_transposec_ukernel__32x32_reuse_switch_avx2");
}

}  // namespace
}  // namespace etprof
