#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/golden_testing.h"
#include "core/json/json_members.h"
#include "core/text/csv_reader.h"
#include "show/formats.h"
#include "show/formats/csv/table_csv.h"
#include "show/formats/formats_testing.h"
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

std::string RenderKernelsPage(const KernelReport& report) {
  return read::RenderPage(show::MakeKernelsDocument(report));
}
std::string RenderKernelsScreen(const KernelReport& report, const TerminalOptions& options = {}) {
  return read::RenderScreen(show::MakeKernelsDocument(report), options);
}

TEST(RenderKernelsCsv, HasTheKitsColumnsFirst) {
  const std::string text = read::RenderToString(RenderKernelsCsv, MakeKernelReport().views[0]);
  EXPECT_THAT(text, testing::StartsWith(
                        "model_id,kernel_name,category,count,dtype,xnn_op,variant,ukernel_shape,arch_chain,"
                        "has_sme,has_sme2,status,"));
  ExpectGolden("show/kernels_csv", text);
  CsvReader reader(text, "x.csv");
  std::vector<std::string_view> fields;
  int rows = 0;
  while (reader.Next(fields)) ++rows;
  EXPECT_EQ(rows, 39);  // the header, and one row per microkernel
}

// An operator has its kernel if the log proves it, else the number of kernels that are possible. Superseded
// kernels are folded. A filter leaves out the operators and kernels without the text, such as "dwconv".
TEST(RenderKernelsMarkdown, SeparatesProvenFromUnproven) {
  const std::string text = RenderKernelsPage(MakeKernelReport());
  KernelReport report = MakeKernelReport();
  report.title = "Mine";
  FilterKernels("GEMM", report);
  const std::string filtered = RenderKernelsPage(report);
  EXPECT_THAT(filtered, testing::StartsWith("# Mine\n"));
  EXPECT_THAT(filtered, Not(HasSubstr("dwconv")));
  EXPECT_THAT(filtered, HasSubstr("gemm"));
  ExpectGolden("show/kernels_page", GoldenState("all kernels", text) + GoldenState("filter GEMM", filtered));
}

TEST(RenderKernelsTerminal, FitsAndHidesControlCharacters) {
  KernelReport report = MakeKernelReport();
  report.views[0].label = "a\x1b[31m";
  const std::string screen =
      RenderKernelsScreen(report, {.width = 100, .colors = false, .report_path = "there"});
  EXPECT_THAT(screen, Not(HasSubstr("\x1b")));
  ExpectGolden("show/kernels_screen",
               GoldenState("100 columns", screen) +
                   GoldenState("80 columns, no report", RenderKernelsScreen(MakeKernelReport())));
}

TEST(RenderKernelsTerminal, NamesAreCompleteOnAPipe) {
  const KernelReport report = MakeKernelReport();
  const std::string screen = RenderKernelsScreen(report);
  for (const xnnpack::LoggedKernel& kernel : report.views[0].usage.kernels) {
    if (kernel.status == xnnpack::KernelStatus::kSuperseded) continue;
    EXPECT_THAT(screen, testing::ContainsRegex("  " + kernel.name + " +" + GetName(kernel.status)));
  }
}

TEST(KernelsJson, IsValidJsonForAnyName) {
  KernelReport report = MakeKernelReport();
  report.views[0].usage.kernels[0].name = "\xff\"\n";
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
