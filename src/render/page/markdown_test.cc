#include "render/page/markdown.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "core/escape.h"
#include "core/number.h"
#include "core/table.h"
#include "report/example_run.h"

namespace etprof {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string Text(const Report& report) {
  std::ostringstream out;
  RenderMarkdown(report, out);
  return out.str();
}

TEST(Markdown, HasTheSectionsOfAComparison) {
  const std::string text = Text(example::MakePair());
  for (const char* heading :
       {"## Conditions", "## Latency", "## Where the time goes: off and on", "### What gained most",
        "## What costs most: on", "## Delegated and portable: on", "## Kernels for matrices",
        "## What to do next", "## How far to trust this"}) {
    EXPECT_THAT(text, HasSubstr(heading));
  }
  EXPECT_THAT(
      text,
      HasSubstr(
          "**on against off: 2.50x faster** \\[2.497, 2.497\\] (95 % interval, 10 launches x 4 rounds)"));
  EXPECT_THAT(text, HasSubstr("| Convolution | 4.002 ms | 78 % | 1.002 ms | 47 % | 3.99x |"));
  EXPECT_THAT(text, HasSubstr("Convolution (NHWC, F32) IGEMM \\#1 → Convolution (NHWC, PF32) IGEMM \\#1"));
}

std::string Brief(const Report& report) {
  std::ostringstream out;
  RenderBriefMarkdown(report, out);
  return out.str();
}

// The lines of the table that begins with this heading.
std::vector<std::string> TableOf(const std::string& heading, const std::string& text) {
  std::istringstream lines(text.substr(std::min(text.find(heading), text.size())));
  std::vector<std::string> rows;
  for (std::string line; std::getline(lines, line) && line.starts_with("|");) rows.push_back(line);
  return rows;
}

TEST(Markdown, TheShortFormSaysTheSameInLessThanAQuarter) {
  const Report pair = example::MakePair();
  const std::string text = Brief(pair);
  EXPECT_THAT(text, HasSubstr("**on against off: 2.50x faster** \\[2.497, 2.497\\]"));
  EXPECT_GT(TableOf("| mean self time |", text).size(), 4U);
  EXPECT_EQ(TableOf("| mean self time |", text), TableOf("| mean self time |", Text(pair)));
  EXPECT_THAT(text, HasSubstr(pair.insights.front().text.substr(0, 20)));
  EXPECT_LT(text.size(), Text(pair).size() / 4);
  // What is folded is closed again.
  EXPECT_LT(text.find("<details>"), text.find("</details>"));
}

TEST(Markdown, TheShortFormOfWhatHasNoOtherSide) {
  const std::string text = Brief(example::MakeBare());
  EXPECT_EQ(TableOf("| experiment |", text).size(), 3U);
  EXPECT_THAT(text, Not(HasSubstr("<details>")));
}

// A model of microseconds is told in microseconds, in the units of the screen.
TEST(Markdown, TimesAreInTheUnitThatTheirTableNeeds) {
  RunData run;
  run.experiments = {example::MakeExperiment("off", 16'000), example::MakeExperiment("on", 15'000)};
  run.pairs.emplace_back();
  run.pairs[0].candidate = 1;
  const Report report = Assemble(std::move(run), {});
  const std::string median = FormatNumber(*report.experiments[0].latency.p50 / 1e3) + " µs";
  EXPECT_FALSE(median.starts_with("0."));
  EXPECT_THAT(Brief(report), HasSubstr("| off | " + median + " |"));
  EXPECT_THAT(Text(report), HasSubstr("| off | " + median + " |"));
  EXPECT_THAT(Text(report), HasSubstr("| on against off | " + median + " |"));
}

// Of a difference of some nanoseconds all digits may be small, and yet it is one.
TEST(Markdown, WhatIsNotZeroIsNotShownAsIt) {
  Report report = example::MakePair();
  Comparison& comparison = report.comparisons[0].comparison;
  ASSERT_FALSE(comparison.operators.empty());
  for (OperatorMatch& match : comparison.operators) {
    match.quantity.verdict = stats::Verdict::kSlower;
    match.quantity.estimate.emplace();
    if (match.baseline && match.candidate)
      match.candidate_total = match.baseline_total + comparison.candidate_runs;
  }
  const std::vector<std::string> rows = TableOf("| operator | before |", Text(report));
  ASSERT_GT(rows.size(), 2U);
  for (const std::string& row : rows) {
    for (const char* const zero : {" 0.00 ", " 0.000 ", " 0.0000 ", "−0.00 ", "−0.000 ", "−0.0000 "})
      EXPECT_THAT(row, Not(HasSubstr(zero)));
  }
}

TEST(Markdown, OperatorsOfOneNameAreToldApart) {
  Report report = example::MakePair();
  const std::string before = Text(report);
  EXPECT_THAT(before, Not(HasSubstr("(call ")));
  Profile& profile = *report.experiments[1].profile;
  const std::vector<OperatorRow>& rows = report.experiments[1].operators;
  ASSERT_GE(rows.size(), 2U);
  profile.operators[rows[1].op].name = profile.operators[rows[0].op].name;
  const std::string text = Text(report);
  for (const std::size_t i : {0U, 1U}) {
    const Operator& op = profile.operators[rows[i].op];
    EXPECT_THAT(text, HasSubstr(fmt::format("{} (call {})", EscapeMarkdown(op.name), op.call_index)));
  }
}

// What a reader gets who divides the two means: only where that is not the gain, it is said why.
TEST(Markdown, AGainThatIsNoQuotientSaysSo) {
  Report report = example::MakePair();
  EXPECT_THAT(Text(report), Not(HasSubstr("quotient")));
  for (OperatorMatch& match : report.comparisons[0].comparison.operators) {
    if (match.quantity.verdict == stats::Verdict::kFaster) match.quantity.estimate->log_ratio += 0.1;
  }
  EXPECT_THAT(Text(report),
              HasSubstr("A gain is the geometric mean of the launches' ratios, so it is not exactly "
                        "the quotient of the two means beside it.\n"));
  report.comparisons[0].comparison.pairing = Pairing::kUnpaired;
  EXPECT_THAT(Text(report), HasSubstr("A gain is the ratio of the runs' medians, so it is not exactly"));
}

// GitHub ends a table at the first line that is no row, and drops cells beyond the heading's.
TEST(Markdown, EveryRowOfATableHasItsHeadingsCells) {
  std::istringstream lines(Text(example::MakePair()) + Text(example::MakeBare()) +
                           Brief(example::MakePair()));
  std::ptrdiff_t cells = 0;
  for (std::string line; std::getline(lines, line);) {
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

TEST(Markdown, EscapesHostileNames) {
  RunData run;
  run.experiments = {example::MakeExperiment("a|b <img src=x onerror=y> `c`\n# d", 5'000'000)};
  run.warnings.push_back("<script>alert(1)</script>");
  const std::string text = Text(Assemble(std::move(run), {}));
  EXPECT_THAT(text, Not(HasSubstr("<script")));
  EXPECT_THAT(text, Not(HasSubstr("<img")));
  EXPECT_THAT(text, Not(HasSubstr("\n# d")));
}

TEST(Markdown, ShowsNoQuantileThatFewRunsCannotShow) {
  EXPECT_THAT(Text(example::MakeBare()), HasSubstr("| net | 5.14 ms | 5.14 ms | — | — |"));
}

}  // namespace
}  // namespace etprof
