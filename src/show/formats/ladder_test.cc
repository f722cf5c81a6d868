#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "core/text/escape.h"
#include "report/ladder/example_ladder.h"
#include "show/formats/csv/table_csv.h"
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

std::string ScreenOfLadder(const Report& report, int width = 80, bool all = false) {
  TerminalOptions options;
  options.width = width;
  options.all = all;
  std::ostringstream out;
  RenderTerminal(report, options, out);
  return out.str();
}

std::string AnswersOf(const Report& report) {
  std::string text;
  for (const show::Answer& answer : show::LadderAnswers(report)) {
    text += TextOf(answer.text, show::LatencySpan(report)) + "|" +
            TextOf(answer.precision, show::LatencySpan(report)) + "\n";
  }
  return text;
}

std::string PageOf(const Report& report) {
  std::ostringstream out;
  RenderMarkdown(report, out);
  return out.str();
}

TEST(MakeLadderSections, AnswerNamesTheEffectOfLevelsAndTheFastestSetting) {
  EXPECT_THAT(
      AnswersOf(MakeLadder(OneThread())),
      StartsWith(
          "sme2 speeds up inference: 2.87x over sme.|\nFastest: sme2, 3.175 ms.|2.87x faster than sme [2."));
  const std::string both = AnswersOf(MakeLadder(MakeSme2Points()));
  EXPECT_THAT(both, StartsWith("sme2 speeds up inference: 2.88x over sme at 1 thread. "
                               "sme2 slows down inference at 4 threads (0.59x).|\n"));
  EXPECT_THAT(both, HasSubstr(" at 4 threads, 3.0"));
  EXPECT_THAT(both, HasSubstr("The same within 1%: "));
}

TEST(MakeLadderSections, ReportsLevelsThatHelpAndHurt) {
  const Report report = MakeLadder(MakeSme2Points());
  ASSERT_FALSE(report.ladder->thread_dependent_levels.empty());
  const std::string page = PageOf(report);
  EXPECT_THAT(page, HasSubstr("- sme2 speeds up Convolution at 1 thread (4.00x) but slows it down at 4 "
                              "threads (0.50x).\n"));
}

TEST(MakeLadderSections, ReportsLevelsWithoutEffect) {
  EXPECT_THAT(PageOf(MakeLadder(OneThread())), HasSubstr("\nSame within 1%: sme.\n"));
  // With a smaller margin, the result is inconclusive.
  RunData run = MakeLadder(OneThread()).run;
  run.schedule.margin = 1e-6;
  EXPECT_THAT(PageOf(Assemble(std::move(run), {})),
              HasSubstr("\nInconclusive for sme; increase --max-seconds.\n"));
}

TEST(MakeLadderSections, MakesNoClaimWithoutEvidence) {
  Report report = MakeLadder(MakeSme2Points());
  for (auto& levels : report.ladder->latency.cells) {
    for (LadderCell& cell : levels) {
      if (cell.over_below) cell.over_below->verdict = stats::Verdict::kInconclusive;
    }
  }
  std::size_t tied = 0;
  for (LadderBest::Other& other : report.ladder->best->others) {
    // The last one is significantly slower.
    const bool last = ++tied == report.ladder->best->others.size();
    other.against.verdict = last ? stats::Verdict::kFaster : stats::Verdict::kInconclusive;
    if (last) continue;
    other.against.estimate->log_low = -20;
    other.against.estimate->log_high = 20;
  }
  const std::string some = AnswersOf(report);
  EXPECT_THAT(some, StartsWith("No level changes latency significantly.|\nFastest: "));
  EXPECT_THAT(some, HasSubstr("Statistically tied with: "));
  EXPECT_THAT(some.substr(0, some.find("faster than")), Not(HasSubstr("[")))
      << "an interval over the whole world";
  LadderBest::Other& contended = report.ladder->best->others.front();
  contended.against.verdict = stats::Verdict::kContended;
  EXPECT_THAT(AnswersOf(report), HasSubstr(" Not compared, contended: sme at 4 threads. "));
  report.ladder->best->others.back().against.verdict = stats::Verdict::kInconclusive;
  EXPECT_THAT(AnswersOf(report),
              HasSubstr("\nNone of 6 settings is significantly the fastest.|Lowest median: "));
  // The order follows the medians themselves, whatever the ratios are.
  report.ladder->latency.cells[contended.setting.threads][contended.setting.level].ns = 1e6;
  EXPECT_THAT(AnswersOf(report), HasSubstr("Lowest median: sme at 4 threads, 1.000 ms."));
}

TEST(MakeLadderSections, ContendedLevelIsNotTheSame) {
  Report report = MakeLadder(OneThread());
  std::vector<LadderCell>& cells = report.ladder->latency.cells[0];
  for (LadderCell& cell : cells)
    if (cell.over_below) cell.over_below->verdict = stats::Verdict::kSame;
  EXPECT_THAT(AnswersOf(report), StartsWith("No level changes latency by more than 1%."));
  cells.back().over_below->verdict = stats::Verdict::kContended;
  EXPECT_THAT(AnswersOf(report), StartsWith("No level changes latency significantly."));
}

TEST(MakeLadderSections, NamesTheLevelsThatHaveAnOperator) {
  Report report = MakeLadder(OneThread());
  LadderRow& row = report.ladder->operators.front();
  for (LadderCell& cell : row.cells[0]) cell.over_below.reset();
  const auto only = [&](std::initializer_list<bool> there) {
    std::size_t level = 0;
    for (const bool is : there) row.cells[0][level++].ns = is ? std::optional<double>(1) : std::nullopt;
    const std::vector<show::Section> sections = show::MakeLadderSections(report);
    for (const auto& part : sections.front().parts) {
      const auto* table = std::get_if<show::Table>(&part);
      if (table != nullptr && table->id == "ladder_operators")
        return show::TextOf(table->rows.front().cells.back());
    }
    return std::string("no such table");
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
      const std::string screen = ScreenOfLadder(MakeLadder(points), width);
      std::istringstream lines(screen);
      std::string line;
      int count = 0, last = 0;  // the blank line at the end does not belong to the table
      while (std::getline(lines, line)) {
        EXPECT_LE(DisplayWidth(line), width) << line;
        ++count;
        if (!line.empty()) last = count;
      }
      EXPECT_LE(last, width < 80 ? 44 : 40) << screen;
    }
  }
}

TEST(RenderLadder, ShowsLevelsGainsAndBars) {
  const std::string screen = ScreenOfLadder(MakeLadder(OneThread()));
  EXPECT_THAT(
      screen,
      HasSubstr(
          "\nsme2 speeds up inference: 2.87x over sme.\nFastest: sme2, 3.175 ms.   2.87x faster than sme ["));
  EXPECT_THAT(screen, HasSubstr("█"));
  EXPECT_THAT(screen, HasSubstr("same"));
  EXPECT_THAT(screen, HasSubstr("only sme2"));
  EXPECT_THAT(screen, HasSubstr("Kernels outside of XNNPACK take"));
  EXPECT_THAT(ScreenOfLadder(MakeLadder(MakeSme2Points())),
              HasSubstr("    sme2 speeds up Convolution at 1 thread (4.00x) but"));
}

TEST(RenderLadder, UnsupportedLevelIsALine) {
  std::vector<LadderPoint> points = OneThread();
  points[0].error = "it lacks \x1b[31m something";
  const std::string screen = ScreenOfLadder(MakeLadder(points));
  EXPECT_THAT(screen, HasSubstr("does not run"));
  EXPECT_THAT(screen, HasSubstr("neon does not run: it lacks \\x1b[31m something"));
  EXPECT_THAT(screen, Not(HasSubstr("\x1b")));
}

TEST(RenderLadder, EmulatedTimesGiveNoSpeedup) {
  RunData run = MakeLadder(OneThread()).run;
  for (ExperimentData& data : run.experiments) data.emulated = true;
  const Report report = Assemble(std::move(run), {});
  const std::string screen = ScreenOfLadder(report);
  EXPECT_THAT(screen, HasSubstr("Emulated CPU: "));
  EXPECT_THAT(screen, Not(HasSubstr("2.8")));
  EXPECT_THAT(screen, Not(HasSubstr("█")));
  std::ostringstream json;
  RenderAnalysisJson(report, json);
  const auto ladder = nlohmann::json::parse(json.str())["ladder"];
  EXPECT_TRUE(ladder["best"].is_null());
  EXPECT_TRUE(ladder["latency"]["cells"][2]["over_below"]["ratio"].is_null());
}

TEST(RenderLadder, JsonCsvAndMarkdownAgree) {
  const Report report = MakeLadder(MakeSme2Points());
  std::ostringstream text;
  RenderAnalysisJson(report, text);
  const auto ladder = nlohmann::json::parse(text.str())["ladder"];
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

  std::ostringstream csv;
  RenderReportTableCsv(report, "ladder", csv);
  const std::string table = csv.str();
  const std::size_t rows =
      1 + ladder["groups"].size() + ladder["categories"].size() + ladder["operators"].size();
  EXPECT_EQ(static_cast<std::size_t>(std::count(table.begin(), table.end(), '\n')), 1 + 6 * rows);

  std::ostringstream markdown;
  RenderMarkdown(report, markdown);
  EXPECT_THAT(markdown.str(), HasSubstr("## ISA ladder"));
  EXPECT_THAT(markdown.str(), HasSubstr("## ISA ladder by level, 4 threads"));
  EXPECT_THAT(markdown.str(), HasSubstr("| Convolution | 8.0"));
  std::ostringstream none;
  RenderReportTableCsv(example::MakePair(), "ladder", none);
  EXPECT_THAT(none.str(), StartsWith("model_id,level,threads,what,name,key,ms,over_below,"));
  const std::string header = none.str();
  EXPECT_EQ(std::count(header.begin(), header.end(), '\n'), 1);
}

TEST(MakePayoffSections, ListsTheThreadsAtWhichALevelStopsPayingOff) {
  const auto report_of = [](Nanoseconds on_at_four) {
    return MakeLadder({{"off", "-sme2", {}, 1, 8'000'000},
                       {"on", "all", {"sme2"}, 1, 2'000'000},
                       {"off", "-sme2", {}, 4, 2'000'000},
                       {"on", "all", {"sme2"}, 4, on_at_four}},
                      7);
  };
  // Equally fast at 4 threads: this is no swing, so the ladder does not list it.
  const std::vector<show::Section> stops = show::MakePayoffSections(report_of(2'000'000));
  ASSERT_EQ(stops.size(), 1u);
  EXPECT_EQ(stops[0].title, "on compared with off by threads");
  EXPECT_EQ(stops[0].level, show::Level::kBrief);
  const auto* list = std::get_if<show::List>(&stops[0].parts.front());
  ASSERT_NE(list, nullptr);
  ASSERT_EQ(list->items.size(), 2u);
  EXPECT_THAT(TextOf(list->items[0].text, {}),
              HasSubstr("on no longer speeds up inference from 4 threads on: 1 thread "));
  EXPECT_EQ(TextOf(list->items[1].text, {}),
            "on no longer speeds up Convolution (NHWC, F32) IGEMM #1 from 4 threads on: 1 thread 4.00x, 4 "
            "threads same");
  const std::vector<show::Section> pays = show::MakePayoffSections(report_of(500'000));
  ASSERT_EQ(pays.size(), 1u);
  EXPECT_EQ(pays[0].level, show::Level::kUsual);
  const auto* table = std::get_if<show::Table>(&pays[0].parts.front());
  ASSERT_NE(table, nullptr);
  EXPECT_EQ(table->rows.front().cells.front().text, "Median latency");
  std::ostringstream json;
  RenderAnalysisJson(report_of(2'000'000), json);
  const auto row = nlohmann::json::parse(json.str())["isa_threads"][0]["latency"];
  EXPECT_EQ(row["no_longer_from_threads"], 4);
  EXPECT_EQ(row["gain"][1]["verdict"], "same");
}

}  // namespace
}  // namespace etprof
