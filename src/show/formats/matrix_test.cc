#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "report/example_run.h"
#include "show/formats/json/json.h"
#include "show/formats/report.h"
#include "show/formats/screen/terminal.h"
#include "show/subjects/run/report_parts.h"
#include "show/wording.h"

namespace etprof {
namespace {

using testing::HasSubstr;
using testing::Not;

Report Sweep() {
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

std::string Rendered(void (*render)(const Report&, std::ostream&), const Report& report) {
  std::ostringstream out;
  render(report, out);
  return out.str();
}

TEST(RenderMatrix, ShowsSpeedupAndEfficiencyInEveryFormat) {
  const Report report = Sweep();
  const std::string markdown = Rendered(RenderMarkdown, report);
  EXPECT_THAT(markdown, HasSubstr("## Threads: on"));
  EXPECT_THAT(markdown, HasSubstr("| self time, ms | 1 thread | 2 threads |  | 4 threads |  |"));
  EXPECT_THAT(markdown, HasSubstr("| 3.99x, &gt;99%"));
  EXPECT_THAT(markdown, HasSubstr("| GEMM | 0.500 | 0.500 | 1.0"));
  EXPECT_THAT(markdown, HasSubstr("| Peak memory | 10.0 MB | 20.0 MB | +100% | 40.0 MB | +300% |"));
  std::ostringstream screen;
  RenderTerminal(report, {}, screen);
  EXPECT_THAT(screen.str(), HasSubstr("  Threads: on\n"));
  EXPECT_THAT(screen.str(), HasSubstr("3.99x, >99%"));
  const auto json = nlohmann::json::parse(Rendered(RenderAnalysisJson, report));
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
}

TEST(RenderMatrix, NamesOperatorsThatDoNotScale) {
  Report report = Sweep();
  const auto stuck = [&] {
    std::vector<std::string> lines;
    const std::vector<show::Section> sections = {show::MakeMatrixSection(report, report.matrices[0])};
    for (const auto& part : sections.front().parts) {
      const auto* list = std::get_if<show::List>(&part);
      if (list == nullptr || list->title != "No faster with more threads") continue;
      for (const show::List::Item& item : list->items) lines.push_back(TextOf(item.text, {}));
    }
    return lines;
  };
  const auto before = stuck();
  ASSERT_FALSE(before.empty());
  EXPECT_THAT(before, testing::Each(HasSubstr(": as fast with 4 threads as with 1")));
  for (MatrixRow& row : report.matrices[0].operators) row.against.back().verdict = stats::Verdict::kSlower;
  EXPECT_THAT(stuck(), testing::Each(HasSubstr(": slower with 4 threads than with 1")));
  for (const auto verdict :
       {stats::Verdict::kInconclusive, stats::Verdict::kContended, stats::Verdict::kFaster}) {
    for (MatrixRow& row : report.matrices[0].operators) row.against.back().verdict = verdict;
    EXPECT_TRUE(stuck().empty());
  }
}

TEST(RenderMatrix, HidesInconclusiveValues) {
  Report report = Sweep();
  Quantity& quantity = report.matrices[0].latency.against[0];
  const auto cell = [&] {
    const std::vector<show::Section> sections = {show::MakeMatrixSection(report, report.matrices[0])};
    for (const auto& part : sections.front().parts) {
      if (const auto* table = std::get_if<show::Table>(&part)) {
        for (const show::Row& row : table->rows) {
          if (show::TextOf(row.cells[0]) == "Median latency") return show::TextOf(row.cells[3]);
        }
      }
    }
    return std::string("no such row");
  };
  EXPECT_THAT(cell(), testing::StartsWith("1.32x, 66"));
  quantity.verdict = stats::Verdict::kInconclusive;
  EXPECT_EQ(cell(), kUndefined);
  quantity.estimate.reset();
  EXPECT_THAT(cell(), testing::StartsWith("≈1.32x, 66"));
  quantity.verdict = stats::Verdict::kEmulated;
  EXPECT_EQ(cell(), kUndefined);
}

TEST(RenderMatrix, NarrowScreenReportsHiddenColumns) {
  TerminalOptions options;
  options.width = 60;
  std::ostringstream narrow;
  RenderTerminal(Sweep(), options, narrow);
  EXPECT_THAT(narrow.str(), HasSubstr("hidden: the terminal is too narrow"));
}

TEST(RenderMatrix, AllShowsTablesBelowEachOther) {
  TerminalOptions options;
  options.width = 60;
  options.all = true;
  std::ostringstream narrow;
  RenderTerminal(Sweep(), options, narrow);
  const std::string screen = narrow.str();
  EXPECT_THAT(screen, testing::ContainsRegex("self time, ms +1 thread +2 threads\n"));
  EXPECT_THAT(screen, testing::ContainsRegex("self time, ms +4 threads\n"));
  EXPECT_THAT(screen, testing::ContainsRegex("Median latency +2.6[0-9]+ +1.92x, 48"));
  const std::size_t begin = screen.find("  Threads: on"), end = screen.find("  Findings");
  EXPECT_THAT(screen.substr(begin, end - begin), Not(HasSubstr("hidden")));
}

TEST(RenderMatrix, NeedsSeveralExperiments) {
  const Report pair = example::MakePair();
  EXPECT_THAT(Rendered(RenderMarkdown, pair), Not(HasSubstr("Threads: ")));
  EXPECT_TRUE(nlohmann::json::parse(Rendered(RenderAnalysisJson, pair))["matrices"].empty());
}

}  // namespace
}  // namespace etprof
