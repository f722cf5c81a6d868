#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "core/golden_testing.h"
#include "core/text/escape.h"
#include "report/ladder/example_ladder.h"
#include "show/formats.h"
#include "show/formats/csv/table_csv.h"
#include "show/formats/formats_testing.h"
#include "show/formats/json/json.h"
#include "show/formats/report.h"
#include "show/formats/screen/terminal.h"
#include "show/subjects/run/report.h"
#include "show/subjects/run/report_parts.h"

namespace etprof {
namespace {

using example::LadderPoint;
using example::MakeLadder;
using example::MakeSme2Points;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

std::vector<LadderPoint> OneThread() {
  std::vector<LadderPoint> points = MakeSme2Points();
  std::erase_if(points, [](const LadderPoint& point) { return point.threads != 1; });
  return points;
}

std::string RenderLadderScreen(const Report& report, int width = 80, bool all = false) {
  TerminalOptions options;
  options.width = width;
  options.all = all;
  return read::RenderToString(RenderTerminal, report, options);
}

std::string RenderAnswers(const Report& report) {
  std::string text;
  for (const show::Answer& answer : show::LadderAnswers(report)) {
    text += ToText(answer.text, show::LatencyRange(report)) + "|" +
            ToText(answer.precision, show::LatencyRange(report)) + "\n";
  }
  return text;
}

nlohmann::json ParseAnalysis(const Report& report) {
  return nlohmann::json::parse(read::RenderToString(RenderAnalysisJson, report));
}

// Renders sections of a report as a page, without parts above `max_visibility`.
std::string RenderSections(std::vector<show::Section> sections, show::Visibility max_visibility) {
  show::Document document;
  document.title = "net";
  document.sections = std::move(sections);
  return read::RenderToString(
      [&](std::ostream& out) { RenderDocumentMarkdown(document, 1, out, max_visibility); });
}

// A ladder whose margin is too small to call two levels the same.
Report MakeLadderWithTinyMargin() {
  RunData run = MakeLadder(OneThread()).run;
  run.schedule.margin = 1e-6;
  return Assemble(std::move(run), {});
}

Report MakeEmulatedLadder() {
  RunData run = MakeLadder(OneThread()).run;
  for (ExperimentData& data : run.experiments) data.emulated = true;
  return Assemble(std::move(run), {});
}

Report MakeLadderWithUnsupportedLevel() {
  std::vector<LadderPoint> points = OneThread();
  points[0].error = "it lacks \x1b[31m something";
  return MakeLadder(points);
}

// A ladder of one level that pays off at 1 thread. At 4 threads, its convolution takes `on_at_four`.
Report MakeLevelSpeedupsReport(Nanoseconds on_at_four) {
  return MakeLadder({{"off", "-sme2", {}, 1, 8'000'000},
                     {"on", "all", {"sme2"}, 1, 2'000'000},
                     {"off", "-sme2", {}, 4, 2'000'000},
                     {"on", "all", {"sme2"}, 4, on_at_four}},
                    7);
}

// The ladder's sections as a page: levels and settings with their speedups, also by level; the levels that
// have no effect, or whose effect is inconclusive with a tiny margin; the level that speeds up inference at
// one number of threads and slows it down at another; and the number of threads from which a level no longer
// speeds up inference.
TEST(MakeLadderSections, PageHasTheEffectOfEveryLevel) {
  const Report thread_dependent = MakeLadder(MakeSme2Points());
  EXPECT_FALSE(thread_dependent.ladder->thread_dependent_levels.empty());
  const Report tiny_margin = MakeLadderWithTinyMargin();
  ExpectGolden(
      "show/ladder_page",
      GoldenState("1 and 4 threads",
                  RenderSections(show::MakeLadderSections(thread_dependent), show::Visibility::kPage)) +
          GoldenState("tiny margin",
                      RenderSections(show::MakeLadderSections(tiny_margin), show::Visibility::kDefault)) +
          GoldenState("no effect at 4 threads",
                      RenderSections(show::MakeLevelSpeedupsSections(MakeLevelSpeedupsReport(2'000'000)),
                                     show::Visibility::kPage)));
}

// The answers name the effect of each level, and the fastest setting with the settings that are tied with it.
// Without evidence they make no claim: an inconclusive or contended level has no effect, but is not called
// the same either; a wide interval is not shown; and if no setting is significantly the fastest, the lowest
// median is named, whatever the ratios are.
TEST(MakeLadderSections, AnswersMakeNoClaimWithoutEvidence) {
  std::string answers = GoldenState("1 thread", RenderAnswers(MakeLadder(OneThread()))) +
                        GoldenState("1 and 4 threads", RenderAnswers(MakeLadder(MakeSme2Points())));
  Report report = MakeLadder(MakeSme2Points());
  for (auto& levels : report.ladder->latency.cells) {
    for (LadderCell& cell : levels) {
      if (cell.over_level_below) cell.over_level_below->verdict = stats::Verdict::kInconclusive;
    }
  }
  std::size_t tied = 0;
  for (LadderBest::OtherSetting& other : report.ladder->best->others) {
    // The last setting is significantly slower.
    const bool last = ++tied == report.ladder->best->others.size();
    other.best_comparison.verdict = last ? stats::Verdict::kFaster : stats::Verdict::kInconclusive;
    if (last) continue;
    other.best_comparison.estimate->log_low = -20;
    other.best_comparison.estimate->log_high = 20;
  }
  answers +=
      GoldenState("inconclusive levels, all settings but one tied in wide intervals", RenderAnswers(report));
  LadderBest::OtherSetting& contended = report.ladder->best->others.front();
  contended.best_comparison.verdict = stats::Verdict::kContended;
  answers += GoldenState("also a contended setting", RenderAnswers(report));
  report.ladder->best->others.back().best_comparison.verdict = stats::Verdict::kInconclusive;
  answers += GoldenState("no setting significantly the fastest", RenderAnswers(report));
  // The order follows the medians themselves, whatever the ratios are.
  report.ladder->latency.cells[contended.setting.threads][contended.setting.level].ns = 1e6;
  answers += GoldenState("another lowest median: sme at 4 threads, 1 ms", RenderAnswers(report));

  Report same = MakeLadder(OneThread());
  std::vector<LadderCell>& cells = same.ladder->latency.cells[0];
  for (LadderCell& cell : cells)
    if (cell.over_level_below) cell.over_level_below->verdict = stats::Verdict::kSame;
  answers += GoldenState("all levels the same", RenderAnswers(same));
  cells.back().over_level_below->verdict = stats::Verdict::kContended;
  answers += GoldenState("a contended level", RenderAnswers(same));
  for (LadderCell& cell : cells)
    if (cell.over_level_below) cell.over_level_below->verdict = stats::Verdict::kContended;
  answers += GoldenState("all levels contended", RenderAnswers(same));
  ExpectGolden("show/ladder_answers", answers);
}

TEST(MakeLadderSections, NamesTheLevelsThatHaveAnOperator) {
  Report report = MakeLadder(OneThread());
  LadderRow& row = report.ladder->operators.front();
  for (LadderCell& cell : row.cells[0]) cell.over_level_below.reset();
  const auto only = [&](std::initializer_list<bool> there) {
    std::size_t level = 0;
    for (const bool is : there) row.cells[0][level++].ns = is ? std::optional<double>(1) : std::nullopt;
    const show::Document document{.sections = show::MakeLadderSections(report)};
    return show::ToText(read::FindTable(document, "ladder_operators").rows.front().cells.back());
  };
  EXPECT_EQ(only({true, true, true}), "—");
  EXPECT_EQ(only({false, false, true}), "only sme2");
  EXPECT_EQ(only({false, true, true}), "only from sme");
  EXPECT_EQ(only({true, true, false}), "only up to sme");
  EXPECT_EQ(only({true, false, true}), "only neon and sme2");
}

TEST(RenderLadder, FitsTheScreen) {
  for (const auto& points : {OneThread(), MakeSme2Points()}) {
    for (const int width : {60, 80, 120}) {
      const std::string screen = RenderLadderScreen(MakeLadder(points), width);
      read::ExpectWidth(screen, width);
      std::vector<std::string> lines = read::Lines(screen);
      while (!lines.empty() && lines.back().empty()) lines.pop_back();
      EXPECT_LE(lines.size(), width < 80 ? 44U : 40U) << screen;
    }
  }
}

// Each level has its speedup and a bar, and operators that only some levels execute are named. A level that
// does not run has its error instead, without control characters. An emulated CPU has times, but neither
// speedups nor bars.
TEST(RenderLadder, ShowsLevelsSpeedupsAndBars) {
  const std::string unsupported = RenderLadderScreen(MakeLadderWithUnsupportedLevel());
  EXPECT_THAT(unsupported, Not(HasSubstr("\x1b")));
  const std::string emulated = RenderLadderScreen(MakeEmulatedLadder());
  EXPECT_THAT(emulated, Not(HasSubstr("█")));
  ExpectGolden("show/ladder_screen",
               GoldenState("1 thread", RenderLadderScreen(MakeLadder(OneThread()))) +
                   GoldenState("1 and 4 threads", RenderLadderScreen(MakeLadder(MakeSme2Points()))) +
                   GoldenState("a level that does not run", unsupported) +
                   GoldenState("emulated CPU", emulated));
}

TEST(RenderLadder, EmulatedTimesGiveNoSpeedup) {
  const auto ladder = ParseAnalysis(MakeEmulatedLadder())["ladder"];
  EXPECT_TRUE(ladder["best"].is_null());
  EXPECT_TRUE(ladder["latency"]["cells"][2]["over_below"]["ratio"].is_null());
}

TEST(RenderLadder, JsonCsvAndMarkdownAgree) {
  const Report report = MakeLadder(MakeSme2Points());
  const auto ladder = ParseAnalysis(report)["ladder"];
  EXPECT_EQ(ladder["levels"].size(), 3u);
  const auto& cells = ladder["latency"]["cells"];
  ASSERT_EQ(cells.size(), 6u);
  EXPECT_TRUE(cells[0]["over_below"].is_null());
  EXPECT_EQ(cells[5]["level"], "sme2");
  EXPECT_EQ(cells[5]["threads"], 4);
  EXPECT_EQ(cells[5]["over_below"]["verdict"], "slower");
  EXPECT_NEAR(cells[5]["efficiency"].get<double>() * 4,
              cells[5]["over_fewest_threads"]["ratio"].get<double>(), 1e-12);
  EXPECT_EQ(ladder["best"]["threads"], 4);
  EXPECT_EQ(ladder["swings"][0]["helps_at_threads"], nlohmann::json({1}));

  const std::string table = read::RenderToString(RenderReportTableCsv, report, "ladder");
  const std::size_t rows =
      1 + ladder["groups"].size() + ladder["categories"].size() + ladder["operators"].size();
  EXPECT_EQ(static_cast<std::size_t>(std::count(table.begin(), table.end(), '\n')), 1 + 6 * rows);

  // The page has every section of the ladder, whose text is a golden file.
  const std::string markdown = read::RenderToString(RenderMarkdown, report);
  for (const show::Section& section : show::MakeLadderSections(report))
    EXPECT_THAT(markdown, HasSubstr("\n## " + section.title + "\n"));
  const std::string header = read::RenderToString(RenderReportTableCsv, example::MakePairReport(), "ladder");
  EXPECT_THAT(header, StartsWith("model_id,level,threads,what,name,key,ms,over_below,"));
  EXPECT_EQ(std::count(header.begin(), header.end(), '\n'), 1);
}

TEST(MakeLevelSpeedupsSections, ListsTheThreadsAtWhichALevelStopsHelping) {
  // At 4 threads the convolution is equally fast, not slower, so the ladder does not list the level. The
  // golden page of the ladder has the texts.
  const std::vector<show::Section> stops =
      show::MakeLevelSpeedupsSections(MakeLevelSpeedupsReport(2'000'000));
  ASSERT_EQ(stops.size(), 1u);
  EXPECT_EQ(stops[0].visibility, show::Visibility::kBrief);
  const auto* list = std::get_if<show::List>(&stops[0].parts.front());
  ASSERT_NE(list, nullptr);
  ASSERT_EQ(list->items.size(), 2u);
  const std::vector<show::Section> pays = show::MakeLevelSpeedupsSections(MakeLevelSpeedupsReport(500'000));
  ASSERT_EQ(pays.size(), 1u);
  EXPECT_EQ(pays[0].visibility, show::Visibility::kDefault);
  const auto* table = std::get_if<show::Table>(&pays[0].parts.front());
  ASSERT_NE(table, nullptr);
  EXPECT_EQ(table->rows.front().cells.front().text, "Median latency");
  const auto row = ParseAnalysis(MakeLevelSpeedupsReport(2'000'000))["isa_threads"][0]["latency"];
  EXPECT_EQ(row["no_longer_from_threads"], 4);
  EXPECT_EQ(row["gain"][1]["verdict"], "same");
}

}  // namespace
}  // namespace etprof
