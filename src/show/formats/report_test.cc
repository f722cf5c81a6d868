#include "show/formats/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "core/text/escape.h"
#include "report/example_run.h"
#include "show/subjects/run/report.h"
#include "show/wording.h"

namespace etprof {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string Screen(const Report& report, TerminalOptions options = {}) {
  std::ostringstream out;
  RenderTerminal(report, options, out);
  return out.str();
}

TEST(ReportScreen, ShowsAPair) {
  TerminalOptions options;
  options.report_path = "runs/report.md";
  EXPECT_EQ(Screen(example::MakePair(), options),
            R"(net · xnnpack fp32 · 1 thread · linux-x86_64

on is 2.50x faster than off   95% CI [2.497, 2.497]
10 interleaved launches x 4 rounds in 31 s

  Findings, largest potential saving first
  1. Convolution: 1.002 of 2.144 ms (47%), 1 operator. Upper bound if
     eliminated: 1.88x.
  2. GEMM grew from 9.7% of an inference in off to 23% in on. Convolution is
     still the largest, at 47%.
  3. Data Movement: 0.400 of 2.144 ms (19%), 2 transposes (0.400 ms). 2
     operators (0.400 ms) sit at a delegate boundary. Upper bound if eliminated:
     1.23x.

  Latency, ms  median    p99  runs
  off           5.004  5.008   200
  on            2.004  2.008   200

  Startup & memory      off    on  change
  Load, ms             2.00  2.00    same
  First inference, ms  15.0  6.00    −60%

  Self time, ms        off      on  speedup  % of total
  Convolution        4.002   1.002    3.99x         47%  ████████████████
  GEMM               0.500   0.500     same         23%  ████████
  Data Movement      0.400   0.400     same         19%  ██████▍
  Other              0.200   0.200     same        9.3%  ███▎
  2 smaller groups   0.042   0.042                 2.0%  ▋
  Traced total       5.144   2.144
  Tracing overhead  −0.140  −0.140
  Median latency     5.004   2.004    2.50x

  precision  ±0.01% (half-width of the 95% CI): smaller differences are not
             resolved.
  report     runs/report.md
             —: inconclusive. Use --all for every operator, finding, and note.
)");
}

TEST(ReportScreen, ShowsASingleTrace) {
  const std::string screen = Screen(example::MakeBare());
  EXPECT_THAT(
      screen,
      HasSubstr("  Traced total        5.144\n  Mean to median    >−0.001\n  Median latency      5.144\n"));
  EXPECT_THAT(screen, HasSubstr("  runs       median of 7 traced steady runs, tracing overhead included; 1"));
  EXPECT_THAT(screen, HasSubstr("Operator, ms "));
}

TEST(ReportScreen, KeepsToTheWidth) {
  for (const int width : {60, 66, 72, 80, 100, 120}) {
    for (const bool all : {false, true}) {
      TerminalOptions options;
      options.width = width;
      options.all = all;
      for (const Report& report : {example::MakePair(), example::MakeBare()}) {
        std::istringstream lines(Screen(report, options));
        for (std::string line; std::getline(lines, line);) EXPECT_LE(DisplayWidth(line), width) << line;
      }
    }
  }
}

// The long form shows parts that the short form lacks; a text identifies each of them.
TEST(ReportScreen, AllShowsEverything) {
  const Report report = example::MakePair();
  TerminalOptions options{.width = 120, .report_path = "runs/report.md"};
  const std::string short_text = Screen(report, options);
  options.all = true;
  const std::string full_text = Screen(report, options);
  const std::vector<std::string> only_in_full_text = {
      "5.004 ms ▲",                // the plot of the latencies
      "  Transpose (ND, X32) #2",  // every operator
      "  CONV_STANDARD",           // categories
      "  By delegate\n",
      "How: Amdahl 1967: 1 / (1 - share); share = mean self time",            // findings with their formula
      "       Transpose (ND, X32): 2 operators, 0.400 ms\n",                  // findings with their evidence
      "  Delegate overhead    0.040           0.8%   0.040  0.000     same",  // speedups of rows that take
                                                                              // hardly any time
  };
  for (const std::string& text : only_in_full_text) {
    EXPECT_THAT(full_text, HasSubstr(text));
    EXPECT_THAT(short_text, Not(HasSubstr(text)));
  }
  EXPECT_THAT(short_text, HasSubstr("Use --all for every operator"));
  EXPECT_THAT(full_text, Not(HasSubstr("--all")));
  EXPECT_GT(report.insights.size(), 3U);
}

// Each trace that is not compared has a column; columns that do not fit are dropped.
TEST(ReportScreen, ShowsSeveralTracesSideBySide) {
  RunData run = MakeEtdumpRun({"a.etdump", "b.etdump", "c.etdump"}, {});
  std::vector<std::optional<Profile>> profiles;
  for (const Nanoseconds convolution : {4'000'000, 3'000'000, 2'000'000})
    profiles.emplace_back(Attribute(example::MakeTrace(example::MakeInferences(8, convolution)), {}));
  const Report report = Assemble(std::move(run), std::move(profiles));
  TerminalOptions options;
  const std::string screen = Screen(report, options);
  EXPECT_THAT(screen, HasSubstr("  Self time, ms             a        b        c\n"
                                "  Convolution           4.002    3.002    2.002\n"));
  EXPECT_THAT(screen, HasSubstr("  Median latency        5.144    4.144    3.144\n"));
  Report many = report;
  for (int i = 0; i < 6; ++i) many.experiments.push_back(report.experiments.front());
  options.width = 60;
  EXPECT_THAT(Screen(many, options), HasSubstr(" columns hidden: the terminal is too narrow\n"));
}

TEST(ReportScreen, UsesAsciiWithoutUtf8) {
  TerminalOptions options;
  options.ascii = true;
  options.report_path = "report.md";
  for (const bool all : {false, true}) {
    for (const int width : {60, 80, 120}) {
      options.all = all;
      options.width = width;
      const std::string screen = Screen(example::MakePair(), options);
      EXPECT_TRUE(std::all_of(screen.begin(), screen.end(),
                              [](char c) { return c == '\n' || (c >= 0x20 && c < 0x7f); }));
      EXPECT_THAT(screen, HasSubstr("net - xnnpack fp32"));
      if (width == 80 && !all) {
        EXPECT_THAT(screen, HasSubstr("47%  ################"));
      }
      EXPECT_THAT(screen, HasSubstr("-0.140"));
      std::istringstream lines(screen);
      for (std::string line; std::getline(lines, line);) {
        EXPECT_LE(static_cast<int>(line.size()), width) << line;
        EXPECT_TRUE(line.empty() || line.back() != ' ') << line;
      }
    }
  }
}

TEST(ReportScreen, ColorsByVerdictOnly) {
  TerminalOptions options;
  options.colors = true;
  const std::string screen = Screen(example::MakePair(), options);
  EXPECT_THAT(screen, HasSubstr("\033[32mon is 2.50x faster than off\033[0m"));
  EXPECT_THAT(screen, HasSubstr("\033[32m3.99x\033[0m"));
  EXPECT_THAT(screen, HasSubstr(" same "));
  EXPECT_THAT(screen, Not(HasSubstr("msame")));
  EXPECT_THAT(screen, Not(HasSubstr("\033[31m")));
  EXPECT_THAT(Screen(example::MakePair()), Not(HasSubstr("\033")));
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

TEST(ReportScreen, AcceptsAnEmptyReport) {
  EXPECT_NO_THROW(Screen(Assemble({}, {})));
  RunData run;
  run.experiments.resize(1);
  EXPECT_THAT(Screen(Assemble(std::move(run), {})), HasSubstr("no times"));
}

// Names with a common beginning and end keep the part that distinguishes them.
TEST(ReportScreen, NamesOfVariantsStayDifferent) {
  Report report = example::MakePair();
  ReportComparison& pair = report.comparisons[0];
  for (const auto& [experiment, label] : {std::pair{&report.experiments[0], "tv_resnet18_xnnpack_fp16"},
                                          std::pair{&report.experiments[1], "tv_resnet18_xnnpack_int8"}}) {
    experiment->label = label;
  }
  pair.comparison.baseline_label = report.experiments[0].label;
  pair.comparison.candidate_label = report.experiments[1].label;
  EXPECT_THAT(Screen(report), HasSubstr("…fp16  …int8"));
}

std::string Page(const Report& report) {
  std::ostringstream out;
  RenderMarkdown(report, out);
  return out.str();
}
std::string Brief(const Report& report) {
  std::ostringstream out;
  RenderBriefMarkdown(report, out);
  return out.str();
}

TEST(ReportPage, HasTheSectionsOfAComparison) {
  const std::string text = Page(example::MakePair());
  std::size_t at = 0;
  for (const char* heading :
       {"\n## Findings", "\n## Latency\n", "\n## Startup and memory\n", "\n## Self time by group\n",
        "\n## Largest speedups\n", "\n## Most expensive operators: on\n", "\n## Measurement quality\n",
        "\n## Conditions\n", "\n## Delegated and portable: on\n", "\n## Kernels for matrices\n"}) {
    const std::size_t found = text.find(heading, at);
    ASSERT_NE(found, std::string::npos) << heading << text;
    at = found;
  }
  EXPECT_THAT(text, HasSubstr("**on is 2.50x faster than off** 95% CI \\[2.497, 2.497\\]\n\n"
                              "10 interleaved launches x 4 rounds in 31 s\n"));
  EXPECT_THAT(text, HasSubstr("| Convolution | 4.002 | 78% | 1.002 | 3.000 | 3.99x |"));
  EXPECT_THAT(text, HasSubstr("Convolution (NHWC, F32) IGEMM \\#1 → Convolution (NHWC, PF32) IGEMM \\#1"));
}

TEST(ReportPage, ShortFormAgreesWithTheLongForm) {
  const Report pair = example::MakePair();
  const std::string text = Brief(pair);
  EXPECT_THAT(text, testing::StartsWith("### net"));
  EXPECT_THAT(text, HasSubstr("**on is 2.50x faster than off** 95% CI \\[2.497, 2.497\\]"));
  EXPECT_THAT(text, HasSubstr("| Convolution | 4.002 | 1.002 | 3.99x | 47% |"));
  EXPECT_THAT(text, HasSubstr(TextOf(show::MakeFindingTexts(pair, pair.insights.front()).text,
                                     show::LatencySpan(pair))
                                  .substr(0, 20)));
  EXPECT_LT(text.size(), Page(pair).size() / 4);
  // Every folded part is closed.
  EXPECT_LT(text.find("<details>"), text.find("</details>"));
  EXPECT_THAT(Brief(example::MakeBare()), HasSubstr("| Latency, ms | median |"));
}

// A difference of a few nanoseconds must not print as 0.
TEST(ReportPage, NonzeroIsNeverPrintedAsZero) {
  Report report = example::MakePair();
  Comparison& comparison = report.comparisons[0].comparison;
  for (OperatorMatch& match : comparison.operators) {
    match.quantity.verdict = stats::Verdict::kSlower;
    if (match.baseline && match.candidate)
      match.candidate_total = match.baseline_total + comparison.candidate_runs;
  }
  EXPECT_THAT(Page(report), HasSubstr("| &gt;−0.001 |"));
}

// GitHub ends a table at the first line that is not a row, and drops cells beyond the heading's.
TEST(ReportPage, EveryRowHasAsManyCellsAsTheHeading) {
  std::istringstream lines(Page(example::MakePair()) + Page(example::MakeBare()) +
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
