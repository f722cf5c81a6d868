#include "show/formats/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "core/golden_testing.h"
#include "core/text/escape.h"
#include "report/example_run.h"
#include "show/formats/formats_testing.h"
#include "show/subjects/run/report.h"
#include "show/wording.h"

namespace etprof {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string Screen(const Report& report, const TerminalOptions& options = {}) {
  return read::RenderToString(RenderTerminal, report, options);
}

// A report of three traces, whose convolutions take 4, 3, and 2 ms.
Report MakeThreeTraces() {
  RunData run = MakeEtdumpRun({"a.etdump", "b.etdump", "c.etdump"}, {});
  std::vector<std::optional<Profile>> profiles;
  for (const Nanoseconds convolution : {4'000'000, 3'000'000, 2'000'000})
    profiles.emplace_back(Attribute(example::MakeTrace(example::MakeInferences(8, convolution)), {}));
  return Assemble(std::move(run), std::move(profiles));
}

Report MakeRunWithoutTimes() {
  RunData run;
  run.experiments.resize(1);
  return Assemble(std::move(run), {});
}

// A pair has its verdict, findings, and tables of both variants. Each trace that is not compared has a
// column; columns that do not fit are counted.
TEST(ReportScreen, ShowsAnyNumberOfExperiments) {
  Report many = MakeThreeTraces();
  for (int i = 0; i < 6; ++i) many.experiments.push_back(many.experiments.front());
  ExpectGolden("show/report/screen",
               GoldenState("a pair", Screen(example::MakePairReport(), {.report_path = "runs/report.md"})) +
                   GoldenState("a pair in ASCII",
                               Screen(example::MakePairReport(), {.ascii = true, .report_path = ""})) +
                   GoldenState("a single trace", Screen(example::MakeBareEtdumpReport())) +
                   GoldenState("three traces", Screen(MakeThreeTraces())) +
                   GoldenState("nine traces in 60 columns", Screen(many, {.width = 60, .report_path = ""})) +
                   GoldenState("no times", Screen(MakeRunWithoutTimes())));
}

TEST(ReportScreen, KeepsToTheWidth) {
  for (const int width : {60, 66, 72, 80, 100, 120}) {
    for (const bool all : {false, true}) {
      TerminalOptions options;
      options.width = width;
      options.all = all;
      for (const Report& report : {example::MakePairReport(), example::MakeBareEtdumpReport()})
        read::ExpectWidth(Screen(report, options), width);
    }
  }
}

// Only the long form has the plots of latencies, every operator, categories, times by delegate, findings with
// their formula and evidence, and speedups of rows that take hardly any time.
TEST(ReportScreen, AllShowsEverything) {
  const Report report = example::MakePairReport();
  TerminalOptions options{.width = 120, .report_path = "runs/report.md"};
  const std::string short_text = Screen(report, options);
  options.all = true;
  const std::string full_text = Screen(report, options);
  EXPECT_THAT(short_text, HasSubstr("--all"));
  EXPECT_THAT(full_text, Not(HasSubstr("--all")));
  EXPECT_GT(report.findings.size(), 3U);
  ExpectGolden("show/report/screen_all",
               GoldenState("short form", short_text) + GoldenState("long form (--all)", full_text));
}

// The golden screen of a pair in ASCII has bars, too.
TEST(ReportScreen, UsesAsciiWithoutUtf8) {
  TerminalOptions options;
  options.ascii = true;
  options.report_path = "report.md";
  for (const bool all : {false, true}) {
    for (const int width : {60, 80, 120}) {
      options.all = all;
      options.width = width;
      const std::string screen = Screen(example::MakePairReport(), options);
      EXPECT_TRUE(std::all_of(screen.begin(), screen.end(),
                              [](char c) { return c == '\n' || (c >= 0x20 && c < 0x7f); }));
      EXPECT_THAT(screen, testing::StartsWith("net - xnnpack fp32"));
      EXPECT_THAT(screen, HasSubstr("-0.140"));
      for (const std::string& line : read::Lines(screen)) {
        EXPECT_LE(static_cast<int>(line.size()), width) << line;
        EXPECT_TRUE(line.empty() || line.back() != ' ') << line;
      }
    }
  }
}

TEST(ReportScreen, ColorsByVerdictOnly) {
  TerminalOptions options;
  options.colors = true;
  const Report report = example::MakePairReport();
  const std::string screen = Screen(report, options);
  const std::string answer = ToText(show::MakeReportDocument(report).answers.at(0).text, {});
  EXPECT_THAT(screen, HasSubstr("\033[32m" + answer + "\033[0m"));
  EXPECT_THAT(screen, HasSubstr("\033[32m3.99x\033[0m"));
  EXPECT_THAT(screen, HasSubstr(" same "));
  EXPECT_THAT(screen, Not(HasSubstr("msame")));
  EXPECT_THAT(screen, Not(HasSubstr("\033[31m")));
  EXPECT_THAT(Screen(example::MakePairReport()), Not(HasSubstr("\033")));
}

TEST(ReportScreen, RemovesControlCharacters) {
  RunData run;
  // ESC; the CSI of ISO 8859-1; a right-to-left override; an invalid UTF-8 byte.
  run.experiments = {example::MakeExperiment("evil\033[2Jname\n\xc2\x9b\xe2\x80\xae\xff", 5'000'000),
                     example::MakeExperiment("other", 5'000'000)};
  run.model_id = "m\033]0;x\a";
  run.warnings.push_back("w\033[1m");
  TerminalOptions options;
  options.all = true;
  const std::string screen = Screen(Assemble(std::move(run), {}), options);
  EXPECT_THAT(screen, HasSubstr("evil\\x1b[2Jname"));
  for (const char* const bad : {"\033", "\a", "\xc2\x9b", "\xe2\x80\xae", "\xff"})
    EXPECT_THAT(screen, Not(HasSubstr(bad)));
}

TEST(ReportScreen, AcceptsAnEmptyReport) { EXPECT_NO_THROW(Screen(Assemble({}, {}))); }

// Names with a common beginning and end keep the part that distinguishes them.
TEST(ReportScreen, NamesOfVariantsStayDifferent) {
  Report report = example::MakePairReport();
  ReportComparison& pair = report.comparisons[0];
  for (const auto& [experiment, label] : {std::pair{&report.experiments[0], "tv_resnet18_xnnpack_fp16"},
                                          std::pair{&report.experiments[1], "tv_resnet18_xnnpack_int8"}}) {
    experiment->label = label;
  }
  pair.comparison.baseline_label = report.experiments[0].label;
  pair.comparison.candidate_label = report.experiments[1].label;
  EXPECT_THAT(Screen(report), HasSubstr("…fp16  …int8"));
}

std::string Page(const Report& report) { return read::RenderToString(RenderMarkdown, report); }
std::string Brief(const Report& report) { return read::RenderToString(RenderBriefMarkdown, report); }

// The page leads from the verdict with its interval over findings, latencies, and time breakdowns to the
// conditions. An operator that has another name in the candidate has both names.
TEST(ReportPage, HasTheSectionsOfAComparison) {
  ExpectGolden("show/report/page", Page(example::MakePairReport()));
}

TEST(ReportPage, ShortFormAgreesWithTheLongForm) {
  const Report pair = example::MakePairReport();
  const std::string text = Brief(pair);
  EXPECT_THAT(text, testing::StartsWith("### net"));
  EXPECT_THAT(text, HasSubstr(ToText(show::MakeFindingTexts(pair, pair.findings.front()).text,
                                     show::LatencyRange(pair))
                                  .substr(0, 20)));
  ExpectGolden(
      "show/report/short_page",
      GoldenState("a pair", text) + GoldenState("a single trace", Brief(example::MakeBareEtdumpReport())));
  EXPECT_LT(text.size(), Page(pair).size() / 4);
  // Every folded part is closed.
  EXPECT_LT(text.find("<details>"), text.find("</details>"));
}

// A difference of a few nanoseconds must not print as 0.
TEST(ReportPage, NonzeroIsNeverPrintedAsZero) {
  Report report = example::MakePairReport();
  Comparison& comparison = report.comparisons[0].comparison;
  for (OperatorMatch& match : comparison.operators) {
    match.time_comparison.verdict = stats::Verdict::kSlower;
    if (match.baseline && match.candidate)
      match.candidate_total = match.baseline_total + comparison.candidate_runs;
  }
  EXPECT_THAT(Page(report), HasSubstr("| &gt;−0.001 |"));
}

// GitHub ends a table at the first line that is not a row, and drops cells beyond the heading's.
TEST(ReportPage, EveryRowHasAsManyCellsAsTheHeading) {
  std::ptrdiff_t cells = 0;
  for (const std::string& line :
       read::Lines(Page(example::MakePairReport()) + Page(example::MakeBareEtdumpReport()) +
                   Brief(example::MakePairReport()))) {
    if (!line.starts_with("|")) {
      cells = 0;
      continue;
    }
    std::ptrdiff_t bars = 0;
    for (std::size_t i = 0; i < line.size(); ++i) bars += line[i] == '|' && line[i - (i > 0 ? 1 : 0)] != '\\';
    if (cells == 0) cells = bars;
    EXPECT_EQ(bars, cells) << line;
  }
}

TEST(ReportPage, EscapesHostileNames) {
  RunData run;
  run.experiments = {example::MakeExperiment("a|b <img src=x onerror=y> `c`\n# d", 5'000'000),
                     example::MakeExperiment("<img src=y>", 5'000'000)};
  run.warnings.push_back("<script>alert(1)</script>");
  const std::string text = Page(Assemble(std::move(run), {}));
  EXPECT_THAT(text, Not(HasSubstr("<script")));
  EXPECT_THAT(text, Not(HasSubstr("<img")));
  EXPECT_THAT(text, Not(HasSubstr("\n# d")));
}

}  // namespace
}  // namespace etprof
