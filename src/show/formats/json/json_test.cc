#include "show/formats/json/json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "report/example_run.h"
#include "show/formats/formats_testing.h"
#include "show/formats/report.h"

namespace etprof {
namespace {

nlohmann::json Analysis(const Report& report) {
  return nlohmann::json::parse(read::RenderToString(RenderAnalysisJson, report));
}

TEST(AnalysisJson, RowsAddUpExactlyToTheWhole) {
  const nlohmann::json json = Analysis(example::MakePairReport());
  for (const auto& experiment : json["experiments"]) {
    for (const char* table : {"groups", "categories", "places"}) {
      std::int64_t sum = 0;
      for (const auto& row : experiment[table]["rows"]) sum += row["total_ns"].get<std::int64_t>();
      EXPECT_EQ(sum, experiment[table]["total_ns"].get<std::int64_t>()) << table;
    }
    std::int64_t operators = experiment["operators_rest"]["total_ns"].get<std::int64_t>();
    for (const auto& row : experiment["operators"]) operators += row["total_ns"].get<std::int64_t>();
    EXPECT_EQ(operators, experiment["groups"]["total_ns"].get<std::int64_t>());
  }
}

TEST(AnalysisJson, RowsAddUpExactlyToTheDelta) {
  const nlohmann::json comparison = Analysis(example::MakePairReport())["comparisons"][0];
  const auto& whole = comparison["whole"];
  for (const char* table : {"groups", "categories", "operators"}) {
    for (const char* key : {"baseline_total_ns", "candidate_total_ns", "delta_numerator_ns"}) {
      std::int64_t sum = 0;
      for (const auto& row : comparison[table]) sum += row[key].get<std::int64_t>();
      EXPECT_EQ(sum, whole[key].get<std::int64_t>()) << table << ' ' << key;
    }
  }
  // (1 - 4) ms for every one of 40 x 40 pairs of runs.
  EXPECT_EQ(whole["delta_numerator_ns"].get<std::int64_t>(), -3'000'000LL * 40 * 40);
  EXPECT_EQ(comparison["delta_denominator"].get<std::int64_t>(), 40 * 40);
}

TEST(AnalysisJson, HasTheKitsKeys) {
  const nlohmann::json json = Analysis(example::MakePairReport());
  EXPECT_EQ(json["schema_version"], 1);
  EXPECT_NEAR(json["per_etdump"][0]["category_totals_ms"]["Convolution"].get<double>(), 40 * 4.002002, 1e-3);
  EXPECT_GT(json["category_totals_ms"]["Convolution"].get<double>(), 200);
  EXPECT_TRUE(json["csv_files"].is_array());
}

TEST(AnalysisJson, UndefinedValuesAreNull) {
  RunData run;
  run.experiments.resize(1);
  run.experiments[0].name = "bad \xff\x01 name";
  const nlohmann::json json = Analysis(Assemble(std::move(run), {}));
  const auto& experiment = json["experiments"][0];
  EXPECT_TRUE(experiment["latency_ms"]["p50"].is_null());
  EXPECT_TRUE(experiment["latency_from"].is_null());
  EXPECT_TRUE(experiment["latency_interval_ms"].is_null());
  EXPECT_TRUE(json["noise_floor"].is_null());
}

TEST(PipelineSummary, HasOneLinePerExperiment) {
  const nlohmann::json json =
      nlohmann::json::parse(read::RenderToString(RenderPipelineSummaryJson, example::MakePairReport()));
  EXPECT_EQ(json["results"].size(), 2u);
  EXPECT_EQ(json["comparisons"][0]["verdict"], "faster");
  const std::string markdown = read::RenderToString(RenderPipelineSummaryMarkdown, example::MakePairReport());
  EXPECT_NE(markdown.find("| on | 2.004 |"), std::string::npos) << markdown;
}

}  // namespace
}  // namespace etprof
