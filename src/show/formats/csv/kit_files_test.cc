#include "show/formats/csv/kit_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "report/example_run.h"
#include "show/formats/csv/csv_table.h"
#include "show/formats/csv/table_csv.h"
#include "show/formats/formats_testing.h"

namespace etprof {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

// Parses CSV into rows, of which the first is the header.
read::Rows ParseCsvRows(const std::string& text) {
  read::ParsedTable table = read::ParseCsv(text);
  table.rows.insert(table.rows.begin(), table.header);
  return table.rows;
}

template <typename Render, typename... Values>
read::Rows RenderCsvRows(const Render& render, const Values&... values) {
  return ParseCsvRows(read::RenderToString(render, values...));
}

double Sum(const read::Rows& rows, std::size_t column) {
  double sum = 0;
  for (std::size_t i = 1; i < rows.size(); ++i) sum += std::stod(rows[i][column]);
  return sum;
}

TEST(CategorySummary, SharesAddUpToTheWhole) {
  const Report report = example::MakePairReport();
  const auto rows = RenderCsvRows(RenderCategorySummaryCsv, report.experiments[0]);
  EXPECT_THAT(rows[0], ElementsAre("category", "total_ms", "avg_ms", "pct_of_e2e", "operator_count", "runs"));
  EXPECT_EQ(rows[1][0], "CONV_STANDARD") << "the costliest comes first";
  EXPECT_NEAR(Sum(rows, 3), 100, 1e-9);
  EXPECT_NEAR(Sum(rows, 2), *report.experiments[0].MeanExecute() / 1e6, 1e-9);
}

TEST(OperatorDetails, SeparatesOperatorsOfTheSameName) {
  const Report report = example::MakePairReport();
  const auto rows = RenderCsvRows(RenderOperatorDetailsCsv, report.experiments[0]);
  EXPECT_EQ(rows.size(), 1 + report.experiments[0].profile->operators.size());
  EXPECT_NEAR(Sum(rows, 4), 100, 1e-9);
  EXPECT_THAT(rows[1][0], StartsWith("Convolution"));
  EXPECT_EQ(rows[1][5], std::to_string(report.experiments[0].common_runs)) << "one event a run";
}

TEST(OperatorDetails, EndsWithTruncatedTime) {
  // The kernel span exceeds its call by 200 ns.
  Trace trace = example::MakeTrace({{{{"mean.out", 1000}}, {}, 0, 10}});
  trace.end[0] += 200;
  Report report = example::MakeBareEtdumpReport();
  report.experiments[0].profile = Attribute(trace, {});
  report.experiments[0].groups = ByGroup(*report.experiments[0].profile);
  report.experiments[0].common_runs = 1;
  const auto rows = RenderCsvRows(RenderOperatorDetailsCsv, report.experiments[0]);
  EXPECT_EQ(rows.back()[0], "Clipped");
  EXPECT_LT(std::stod(rows.back()[2]), 0);
  EXPECT_NEAR(Sum(rows, 4), 100, 1e-9);
}

TEST(OtherTopOps, HasOnlyOperatorsWithoutCategory) {
  EXPECT_EQ(RenderCsvRows(RenderOtherTopOpsCsv, example::MakePairReport().experiments[0]).size(), 1u);
  Report report = example::MakeBareEtdumpReport();
  report.experiments[0].profile->operators[0].category = Categorize("an operator of tomorrow");
  const auto rows = RenderCsvRows(RenderOtherTopOpsCsv, report.experiments[0]);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[1][1], "OTHER");
}

TEST(E2eLatency, CoversOnlyMethodExecute) {
  const Report report = example::MakePairReport();
  const auto rows = RenderCsvRows(RenderE2eLatencyCsv, report, report.experiments[0]);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_THAT(std::vector<std::string>(rows[0].begin(), rows[0].begin() + 6),
              ElementsAre("model_name", "num_runs", "total_ms", "avg_ms", "min_ms", "max_ms"));
  EXPECT_NEAR(std::stod(rows[1][3]), *report.experiments[0].MeanExecute() / 1e6, 1e-12);
  EXPECT_LE(std::stod(rows[1][4]), std::stod(rows[1][3]));
  EXPECT_GE(std::stod(rows[1][5]), std::stod(rows[1][3]));
  EXPECT_EQ(rows[1][8], "untraced");
}

TEST(Comparison, ColumnsAreNamedByTheVariants) {
  const Report report = example::MakePairReport();
  const auto rows = RenderCsvRows(RenderComparisonCsv, report.comparisons[0]);
  EXPECT_THAT(std::vector<std::string>(rows[0].begin(), rows[0].begin() + 6),
              ElementsAre("category", "off_ms", "on_ms", "speedup", "off_pct", "on_pct"));
  EXPECT_NEAR(Sum(rows, 4), 100, 1e-9);
  EXPECT_NEAR(Sum(rows, 5), 100, 1e-9);
  EXPECT_NEAR(Sum(rows, 1), *report.experiments[0].MeanExecute() / 1e6, 1e-9);
  for (const auto& row : rows) {
    if (row[0] == "CONV_STANDARD") {
      EXPECT_NEAR(std::stod(row[3]), 4, 0.02);
      EXPECT_EQ(row.back(), "faster");
    }
  }
}

// Timings of an emulated CPU are not meaningful, so no file has a ratio of them with an interval.
TEST(KitFiles, HaveNoRatioForAnEmulatedCpu) {
  Report report = example::MakePairReport();
  report.comparisons[0].comparison.latency.verdict = stats::Verdict::kEmulated;
  for (DeltaRow& row : report.comparisons[0].comparison.categories)
    row.time_comparison.verdict = stats::Verdict::kEmulated;
  const std::string robust = read::RenderToString(RenderRobustComparisonJson, report, report.comparisons[0]);
  EXPECT_TRUE(nlohmann::json::parse(robust)["ratio"].is_null());
  int emulated = 0;
  for (const read::Rows& rows : {RenderCsvRows(RenderComparisonCsv, report.comparisons[0]),
                                 RenderCsvRows(RenderReportTableCsv, report, "comparison")}) {
    const auto ratio = std::ranges::find(rows[0], "ratio") - rows[0].begin();
    const auto verdict = std::ranges::find(rows[0], "verdict") - rows[0].begin();
    for (const auto& row : rows) {
      if (row[static_cast<std::size_t>(verdict)] != "emulated") continue;
      ++emulated;
      for (const auto column : {ratio, ratio + 1, ratio + 2})
        EXPECT_EQ(row[static_cast<std::size_t>(column)], "");
    }
  }
  EXPECT_GE(emulated, 4);
}

TEST(RobustFiles, UndefinedValuesAreNull) {
  Report report = example::MakeBareEtdumpReport();
  report.experiments[0].latency = {};
  const auto json =
      nlohmann::json::parse(read::RenderToString(RenderRobustStatsJson, report, report.experiments[0]));
  EXPECT_EQ(json["count"], 0);
  EXPECT_TRUE(json["median_ms"].is_null());
  EXPECT_TRUE(json["outliers"]["percentage"].is_null());
  EXPECT_TRUE(json["outliers"]["bounds"]["upper"].is_null());
}

TEST(RobustFiles, HaveTheReportsVerdict) {
  const Report report = example::MakePairReport();
  const auto json =
      nlohmann::json::parse(read::RenderToString(RenderRobustComparisonJson, report, report.comparisons[0]));
  EXPECT_EQ(json["config1"]["name"], "off");
  EXPECT_NEAR(json["speedup"]["median_based"].get<double>(), 2.5, 0.01);
  EXPECT_THAT(json["speedup"]["description"].get<std::string>(), HasSubstr("faster"));
  EXPECT_EQ(json["verdict"], "faster");
}

}  // namespace
}  // namespace etprof
