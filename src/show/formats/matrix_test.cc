#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/golden_testing.h"
#include "report/example_run.h"
#include "show/formats.h"
#include "show/formats/formats_testing.h"
#include "show/formats/json/json.h"
#include "show/formats/report.h"
#include "show/formats/screen/terminal.h"
#include "show/subjects/run/report.h"
#include "show/subjects/run/report_parts.h"
#include "show/wording.h"

namespace etprof {
namespace {

using testing::StartsWith;

Report MakeThreadSweep() {
  RunData run;
  run.status = RunData::Status::kComplete;
  run.model_id = "net";
  std::vector<std::optional<Profile>> profiles;
  Nanoseconds latency = 5'000'000;
  for (const int threads : {1, 2, 4}) {
    run.experiments.push_back(example::MakeExperiment("on", latency));
    run.experiments.back().threads = threads;
    run.experiments.back().label = "on, " + std::to_string(threads);
    for (Launch& launch : run.experiments.back().launches) launch.peak_rss = 10'000'000 * threads;
    profiles.emplace_back(example::MakeProfile("on", 4'000'000 / threads));
    latency -= 1'200'000;
  }
  return Assemble(std::move(run), std::move(profiles));
}

show::Document MakeMatrixDocument(const Report& report) {
  show::Document document;
  document.title = "net";
  document.sections = {show::MakeMatrixSection(report, report.matrices[0])};
  return document;
}

std::string MatrixScreen(const TerminalOptions& options) {
  return read::RenderScreen(MakeMatrixDocument(MakeThreadSweep()), options);
}

void SetVerdictsOfOperators(stats::Verdict verdict, Report& report) {
  for (MatrixRow& row : report.matrices[0].operators) row.cells.back().verdict = verdict;
}

// Returns the lines of the list of operators that are no faster with more threads.
std::vector<std::string> OperatorsThatDoNotScale(const Report& report) {
  std::vector<std::string> lines;
  const show::Section section = show::MakeMatrixSection(report, report.matrices[0]);
  for (const auto& part : section.parts) {
    if (const auto* list = std::get_if<show::List>(&part)) {
      for (const show::List::Item& item : list->items) lines.push_back(ToText(item.text, {}));
    }
  }
  return lines;
}

// If the pairs share different launches with the baseline, each cost is that of all launches of its
// experiment.
TEST(RenderMatrix, ShowsCostsOfAllLaunchesIfThePairsShareDifferentOnes) {
  RunData run;
  std::vector<std::optional<Profile>> profiles;
  for (const char* const name : {"base", "partial", "whole"}) {
    run.experiments.push_back(example::MakeExperiment(name, 5'000'000));
    std::vector<Launch>& launches = run.experiments.back().launches;
    for (Launch& launch : launches) launch.peak_rss = launch.index < 6 ? 10'000'000 : 20'000'000;
    if (profiles.size() == 1) launches.resize(6);
    profiles.emplace_back();
    if (profiles.size() > 1) run.pairs.push_back({.candidate = profiles.size() - 1});
  }
  const Report report = Assemble(std::move(run), std::move(profiles));
  ASSERT_NE(report.matrices[0].costs[0].peak_memory.baseline,
            report.matrices[0].costs[1].peak_memory.baseline);
  std::ostringstream page;
  RenderDocumentMarkdown(MakeMatrixDocument(report), 1, page);
  EXPECT_THAT(page.str(),
              testing::ContainsRegex(R"(Peak memory[^\n]* 20\.0 MB [^\n]* 10\.0 MB [^\n]* 20\.0 MB )"))
      << page.str();
}

TEST(RenderMatrix, NamesKernelLogRunsThatAreNotCompared) {
  RunData run;
  std::vector<std::optional<Profile>> profiles;
  for (const char* const name : {"base", "a", "b", "log"}) {
    run.experiments.push_back(example::MakeExperiment(name, 5'000'000));
    profiles.emplace_back();
    if (profiles.size() > 1) run.pairs.push_back({.candidate = profiles.size() - 1});
  }
  run.experiments.back().trace_enabled = true;
  const Report report = Assemble(std::move(run), std::move(profiles));
  ASSERT_EQ(report.matrices.size(), 1U);
  EXPECT_EQ(report.matrices[0].candidates.size(), 2U);
  std::ostringstream page;
  RenderDocumentMarkdown(MakeMatrixDocument(report), 1, page);
  EXPECT_THAT(page.str(),
              testing::HasSubstr("Not compared: log is a kernel-log run, whose times are not latency."));
  EXPECT_THAT(report.warnings,
              testing::Contains("no comparison of base and log: log is a kernel-log run, whose "
                                "times are not latency"));
}

// Every number of threads has a column of times and a column of speedups with their efficiencies; memory has
// its growth. A narrow screen counts the columns that it hides; with --all they are in a table below.
// Operators that more threads do not speed up are listed.
TEST(RenderMatrix, ShowsSpeedupAndEfficiency) {
  Report slower = MakeThreadSweep();
  SetVerdictsOfOperators(stats::Verdict::kSlower, slower);
  ExpectGolden(
      "show/matrix",
      GoldenState("page", read::RenderPage(MakeMatrixDocument(MakeThreadSweep()))) +
          GoldenState("screen", MatrixScreen({})) +
          GoldenState("60 columns", MatrixScreen({.width = 60, .report_path = ""})) +
          GoldenState("60 columns with --all", MatrixScreen({.width = 60, .all = true, .report_path = ""})) +
          GoldenState("operators that are slower with 4 threads",
                      fmt::format("{}", fmt::join(OperatorsThatDoNotScale(slower), "\n"))));
}

TEST(RenderMatrix, IsInTheJsonAndInTheReport) {
  const Report report = MakeThreadSweep();
  const auto json = nlohmann::json::parse(read::RenderToString(RenderAnalysisJson, report));
  const auto& matrix = json["matrices"][0];
  EXPECT_EQ(matrix["kind"], "threads");
  EXPECT_EQ(matrix["candidates"][1]["threads"], 4);
  EXPECT_EQ(matrix["operators"].size(), report.experiments[0].operators.size());
  EXPECT_EQ(matrix["operators"][0]["key"], json["experiments"][0]["operators"][0]["key"]);
  for (const auto& row : matrix["operators"]) {
    for (std::size_t i = 0; i < 2; ++i) {
      const auto& cell = row["against"][i];
      const double threads = matrix["candidates"][i]["threads"].get<double>();
      EXPECT_NEAR(cell["efficiency"].get<double>() * threads, cell["ratio"].get<double>(), 1e-12);
    }
  }
  EXPECT_THAT(TableIds(show::MakeReportDocument(report)),
              testing::IsSupersetOf(TableIds(MakeMatrixDocument(report))));
}

// The golden file of ShowsSpeedupAndEfficiency checks the wording; this test checks the choice of operators.
TEST(RenderMatrix, NamesOperatorsThatDoNotScale) {
  Report report = MakeThreadSweep();
  EXPECT_FALSE(OperatorsThatDoNotScale(report).empty());
  SetVerdictsOfOperators(stats::Verdict::kSlower, report);
  EXPECT_EQ(OperatorsThatDoNotScale(report).size(), report.matrices[0].operators.size());
  for (const auto verdict :
       {stats::Verdict::kInconclusive, stats::Verdict::kContended, stats::Verdict::kFaster}) {
    SetVerdictsOfOperators(verdict, report);
    EXPECT_TRUE(OperatorsThatDoNotScale(report).empty());
  }
}

TEST(RenderMatrix, HidesInconclusiveValues) {
  Report report = MakeThreadSweep();
  TimeComparison& time_comparison = report.matrices[0].latency.cells[0];
  const auto cell = [&] {
    const show::Document document = MakeMatrixDocument(report);
    return show::ToText(read::FindRow(read::FindTable(document, "threads_0"), "Median latency").cells[3]);
  };
  EXPECT_THAT(cell(), testing::StartsWith("1.32x, 66"));
  time_comparison.verdict = stats::Verdict::kInconclusive;
  EXPECT_EQ(cell(), kUndefined);
  time_comparison.estimate.reset();
  EXPECT_THAT(cell(), testing::StartsWith("≈1.32x, 66"));
  time_comparison.verdict = stats::Verdict::kEmulated;
  EXPECT_EQ(cell(), kUndefined);
}

TEST(RenderMatrix, NeedsSeveralExperiments) {
  const Report pair = example::MakePairReport();
  EXPECT_THAT(TableIds(show::MakeReportDocument(pair)),
              testing::Not(testing::Contains(StartsWith("threads_"))));
  EXPECT_TRUE(nlohmann::json::parse(read::RenderToString(RenderAnalysisJson, pair))["matrices"].empty());
}

}  // namespace
}  // namespace etprof
