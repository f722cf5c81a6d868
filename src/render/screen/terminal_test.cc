#include "render/screen/terminal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "core/table.h"
#include "render/screen/terminal_text.h"
#include "report/example_run.h"
#include "say/wording.h"

namespace etprof {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string Screen(const Report& report, TerminalOptions options = {}) {
  std::ostringstream out;
  RenderTerminal(report, options, out);
  return out.str();
}

TEST(Terminal, ShowsAPairOnOneScreen) {
  TerminalOptions options;
  options.more = "runs/report.md";
  EXPECT_EQ(Screen(example::MakePair(), options),
            R"(net · xnnpack fp32 · 1 thread · linux-x86_64        10 launches x 4 rounds, 31 s

  off  5.004 ms  p99 5.008
  on   2.004 ms  p99 2.008   2.50x faster  [2.497, 2.497]
  median of clean untraced runs: 200 of 200; table from 40 traced runs

  costs  load 2.00 ms → 2.00 ms (same); first run 15.0 ms → 6.00 ms (−60%)

  mean self time             off          on     gain  share now
  Convolution           4.002 ms    1.002 ms    3.99x       47 %  ██████▏
  GEMM                  0.500 ms    0.500 ms     same       23 %  ███
  Data Movement         0.400 ms    0.400 ms     same       19 %  ██▍
  Other                 0.200 ms    0.200 ms     same      9.3 %  █▎
  Framework overhead    0.002 ms    0.002 ms               0.1 %
  Delegate overhead     0.040 ms    0.040 ms               1.9 %  ▎
  Tracer               −0.140 ms   −0.140 ms
  Median latency        5.004 ms    2.004 ms    2.50x

  next   Convolution: 1.002 of 2.144 ms (47%), 1 operator. Upper bound if
         eliminated: 1.88x.
         GEMM grew from 9.7% of an inference in off to 23% in on. Convolution is
         still the largest, at 47%.
         Data movement: 0.400 of 2.144 ms (19%), 2 transposes (0.400 ms). 2
         operators (0.400 ms) sit at a delegate boundary. Upper bound if
         eliminated: 1.23x.
  noise  known to ±0.01 %: smaller changes do not show in this measurement.
  more   runs/report.md
         --all shows everything here
)");
}

// Of the line of a group what stands behind its times: the gain, then its share.
std::string GainOnScreen(const Report& report, const std::string& group, bool all) {
  TerminalOptions options;
  options.all = all;
  const std::string screen = Screen(report, options);
  const std::size_t line = screen.find("  " + group + " ");
  const std::size_t times = screen.find(" ms  ", screen.find(" ms  ", line) + 1) + 5;
  const std::size_t text = screen.find_first_not_of(' ', times);
  return screen.substr(text, screen.find_first_of(" \n", text) - text);
}

// A speedup that the rounded times beside it contradict is not on one screen.
TEST(Terminal, ShowsNoGainThatItsTimesContradict) {
  Report report = example::MakePair();
  DeltaRow* gemm = nullptr;
  for (DeltaRow& row : report.comparisons[0].comparison.groups) {
    if (row.name == GroupName(Group::kGemm)) gemm = &row;
  }
  ASSERT_NE(gemm, nullptr);
  // 0.500 ms on both sides.
  gemm->quantity.verdict = stats::Verdict::kFaster;
  gemm->quantity.estimate->log_ratio = 0.07;
  EXPECT_EQ(GainOnScreen(report, "GEMM", false), "23");
  EXPECT_EQ(GainOnScreen(report, "GEMM", true), "1.07x");
  gemm->quantity.verdict = stats::Verdict::kInconclusive;
  EXPECT_EQ(GainOnScreen(report, "GEMM", false), kUndefined);
  // 4.002 ms to 1.002 ms.
  EXPECT_EQ(GainOnScreen(report, "Convolution", false), "3.99x");
  for (DeltaRow& row : report.comparisons[0].comparison.groups) {
    if (row.name == GroupName(Group::kConvolution)) row.quantity.verdict = stats::Verdict::kSlower;
  }
  EXPECT_EQ(GainOnScreen(report, "Convolution", false), "47");
}

// 40 us are 1.9 % of the candidate and less of the baseline.
TEST(Terminal, ShowsNoGainOfNextToNothing) {
  const Report report = example::MakePair();
  EXPECT_EQ(GainOnScreen(report, "Delegate overhead", false), "1.9");
  EXPECT_EQ(GainOnScreen(report, "Delegate overhead", true), "same");
  EXPECT_EQ(GainOnScreen(report, "Other", false), "same");
}

TEST(Terminal, ShowsALoneTrace) {
  const std::string screen = Screen(example::MakeBare());
  EXPECT_THAT(
      screen,
      HasSubstr("  latency  5.144 ms  max 5.146\n  median of 7 traced steady runs; 1 first left out\n"));
  EXPECT_THAT(screen, HasSubstr("  Mean to median        0.000 ms\n  Median latency        5.144 ms\n"));
  EXPECT_THAT(screen, HasSubstr("costliest of 5 operators"));
}

TEST(Terminal, KeepsToTheWidth) {
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

// What is not on one screen: each with something that only it says.
TEST(Terminal, AllOfIt) {
  TerminalOptions options;
  options.more = "runs/report.md";
  const Report report = example::MakePair();
  const std::string one = Screen(report, options);
  options.all = true;
  const std::string all = Screen(report, options);
  const std::vector<std::string> only_all = {
      "5.004 ms ▲",                                                       // the latencies as a plot
      "  Transpose (ND, X32) #2              0.100 ms  0.100 ms   same",  // every operator
      "  CONV_STANDARD     4.002      1.002",                             // categories
      "  portable                 0.200      0.200",                      // by delegate
      "= Amdahl 1967: 1 / (1 - share); share = mean self time",           // findings with their formula
      "         - Transpose (ND, X32): 2 operators, 0.400 ms\n",          // and evidence
  };
  for (const std::string& text : only_all) {
    EXPECT_THAT(all, HasSubstr(text));
    EXPECT_THAT(one, Not(HasSubstr(text)));
  }
  EXPECT_THAT(all, Not(HasSubstr("--all")));
  for (const Insight& insight : report.insights) EXPECT_FALSE(insight.formula.empty());
  EXPECT_GT(report.insights.size(), 3U);
  // And all that one screen has, line by line, but the hint.
  std::istringstream lines(one);
  std::size_t gain = std::string::npos;
  for (std::string line; std::getline(lines, line);) {
    if (line.find("--all") != std::string::npos) continue;
    if (const std::size_t heading = line.find("gain"); heading != std::string::npos) gain = heading;
    // One screen leaves out the gains of these, which are next to nothing.
    if (line.starts_with("  Framework overhead") || line.starts_with("  Delegate overhead"))
      line.replace(gain, 4, "same");
    EXPECT_THAT(all, HasSubstr(line + "\n"));
  }
}

TEST(Terminal, EveryPairHasItsVerdict) {
  RunData run = example::MakePair().run;
  run.experiments.push_back(example::MakeExperiment("slow", 2'004'000));
  run.experiments[2].label = "a name that is far too long for one line of it";
  for (const std::size_t baseline : {std::size_t{2}, std::size_t{0}}) {
    ComparePair pair;
    pair.baseline = baseline;
    pair.candidate = baseline == 2 ? 1 : 2;
    run.pairs.push_back(pair);
  }
  const std::string screen = Screen(Assemble(std::move(run), {}));
  EXPECT_THAT(screen, HasSubstr("2.50x faster than off  [2.497, 2.497]\n"));
  EXPECT_THAT(screen,
              HasSubstr("\n    same as a name that is far too long for one line of it  [1.002, 1.002]\n"));
  EXPECT_THAT(screen, HasSubstr("\n    2.49x faster than off  [2.492, 2.492]\n"));
}

// Two verdicts of one experiment stand in one column, whether there is room behind its latency or not.
TEST(Terminal, TheVerdictsOfAnExperimentStandInOneColumn) {
  RunData run = example::MakePair().run;
  run.experiments.push_back(example::MakeExperiment("a longer name", 5'004'000));
  run.experiments[2].label = "one with a longer name";
  std::swap(run.experiments[1], run.experiments[2]);  // the candidate of both comes last
  run.pairs.clear();
  for (const std::size_t baseline : {std::size_t{0}, std::size_t{1}}) {
    ComparePair pair;
    pair.baseline = baseline;
    pair.candidate = 2;
    run.pairs.push_back(pair);
  }
  const Report report = Assemble(std::move(run), {});
  std::set<std::size_t> columns;
  for (const int width : {80, 90, 120}) {
    TerminalOptions options;
    options.width = width;
    std::istringstream lines(Screen(report, options));
    std::set<std::size_t> at;
    int verdicts = 0;
    for (std::string line; std::getline(lines, line);) {
      const std::size_t found = line.find("x faster than ");
      if (found == std::string::npos || line.find("next") != std::string::npos) continue;
      ++verdicts;
      at.insert(found);
    }
    EXPECT_EQ(verdicts, 2) << width;
    EXPECT_EQ(at.size(), 1U) << width;
    columns.insert(at.begin(), at.end());
  }
  EXPECT_EQ(columns.size(), 2U);  // both cases were seen
}

// The first pair's interval says nothing of the others'.
TEST(Terminal, EachPairIsKnownAsFarAsItIs) {
  Report report = example::MakePair();
  report.noise_floor.reset();
  report.comparisons.front().half_width = 0.01;
  EXPECT_THAT(Screen(report), HasSubstr("known to ±1.0 %: smaller"));
  report.comparisons.resize(3, report.comparisons.front());
  report.comparisons[1].half_width = 0.055;
  report.comparisons[1].comparison.candidate_label = "avx2 on";
  report.comparisons[2].half_width.reset();
  TerminalOptions options;
  options.width = 120;
  EXPECT_THAT(Screen(report, options), HasSubstr("known to ±1.0 % (on), ±5.5 % (avx2 on): smaller"));
  report.comparisons.resize(6, report.comparisons.front());
  EXPECT_THAT(Screen(report, options),
              HasSubstr("known to ±1.0 % at best, ±5.5 % at worst (avx2 on): smaller"));
}

// Files that are not compared: a column each, and no column for what does not fit.
TEST(Terminal, SeveralTracesStandSideBySide) {
  RunData run = RunOfEtdumps({"a.etdump", "b.etdump", "c.etdump"}, {});
  std::vector<std::optional<Profile>> profiles;
  for (const Nanoseconds convolution : {4'000'000, 3'000'000, 2'000'000})
    profiles.emplace_back(Attribute(example::MakeTrace(example::Inferences(8, convolution)), {}));
  const Report report = Assemble(std::move(run), std::move(profiles));
  TerminalOptions options;
  const std::string screen = Screen(report, options);
  EXPECT_THAT(screen, HasSubstr("  mean self time             a         b         c\n"
                                "  Convolution         4.002 ms  3.002 ms  2.002 ms\n"));
  EXPECT_THAT(screen, HasSubstr("  Median latency      5.144 ms  4.144 ms  3.144 ms\n"));
  options.width = 60;
  EXPECT_THAT(Screen(report, options), HasSubstr("  1 more: the screen is not wide enough\n"));
}

TEST(Terminal, WithoutUtf8ItIsAscii) {
  TerminalOptions options;
  options.ascii = true;
  options.more = "report.md";
  for (const bool all : {false, true}) {
    for (const int width : {60, 80, 120}) {
      options.all = all;
      options.width = width;
      const std::string screen = Screen(example::MakePair(), options);
      EXPECT_TRUE(std::all_of(screen.begin(), screen.end(),
                              [](char c) { return c == '\n' || (c >= 0x20 && c < 0x7f); }));
      EXPECT_THAT(screen, HasSubstr("net - xnnpack fp32"));
      if (width == 80) {
        EXPECT_THAT(screen, HasSubstr("47 %  ####"));
      }
      EXPECT_THAT(screen, HasSubstr("load 2.00 ms -> 2.00 ms"));
      std::istringstream lines(screen);
      for (std::string line; std::getline(lines, line);) {
        EXPECT_LE(static_cast<int>(line.size()), width) << line;
        EXPECT_TRUE(line.empty() || line.back() != ' ') << line;
      }
    }
  }
}

TEST(TerminalText, AsciiKeepsTheColumns) {
  const std::string drawn = "█▉▊▋▌▍▎▏▁▂▃▄▅▆▇─┬┴│└▲•·—…≈µ";
  EXPECT_EQ(Ascii(drawn).size(), 27U);
  EXPECT_EQ(Ascii("known to ±1 µs: 1 → ∞"), "known to +-1 us: 1 -> inf");
  EXPECT_EQ(Ascii("模型 é \xff"), "???? ? ?");
  EXPECT_EQ(Ascii("\033[1mplain\033[0m"), "\033[1mplain\033[0m");
}

TEST(TerminalText, ANumberStaysWithItsUnit) {
  std::ostringstream out;
  WriteWrapped("", "takes 0.64 ms. It is 52 % of IGEMM #2, 3 of 40, [1, 2] ms", 0, 10, out);
  EXPECT_EQ(out.str(), "takes\n0.64 ms.\nIt is 52 %\nof\nIGEMM #2,\n3 of 40,\n[1, 2] ms\n");
  out.str("");
  WriteWrapped("", "by [1, 2] %", 0, 9, out);
  EXPECT_EQ(out.str(), "by\n[1, 2] %\n");
}

TEST(Terminal, ColorsByVerdictOnly) {
  TerminalOptions options;
  options.colors = true;
  const std::string screen = Screen(example::MakePair(), options);
  EXPECT_THAT(screen, HasSubstr("\033[32m2.50x faster\033[0m"));
  EXPECT_THAT(screen, HasSubstr(" same "));
  EXPECT_THAT(screen, Not(HasSubstr("\033[31m")));
  EXPECT_THAT(Screen(example::MakePair()), Not(HasSubstr("\033")));
  // In the tables too: a gain is green, what is the same is not.
  options.all = true;
  const std::string all = Screen(example::MakePair(), options);
  EXPECT_THAT(all, HasSubstr("\033[32m3.99x\033[0m"));
  EXPECT_THAT(all, HasSubstr("  same  "));
  EXPECT_THAT(all, Not(HasSubstr("msame")));
}

TEST(Terminal, LetsNoControlCharacterThrough) {
  RunData run;
  // ESC; the CSI of ISO 8859; a turn from right to left; a byte that is no UTF-8.
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

TEST(Terminal, SaysThatEmulatedTimesMeanNothing) {
  RunData run;
  run.experiments = {example::MakeExperiment("off", 5'000'000), example::MakeExperiment("on", 2'000'000)};
  for (ExperimentData& data : run.experiments) data.emulated = true;
  run.pairs.push_back({});
  run.pairs[0].candidate = 1;
  const std::string screen = Screen(Assemble(std::move(run), {}));
  EXPECT_THAT(screen, HasSubstr("emulated, times mean nothing"));
  EXPECT_THAT(screen, Not(HasSubstr("faster")));
}

TEST(Terminal, SurvivesNothing) {
  EXPECT_FALSE(Screen(Assemble({}, {})).empty());
  RunData run;
  run.experiments.resize(1);
  EXPECT_THAT(Screen(Assemble(std::move(run), {})), HasSubstr("no times"));
}

}  // namespace
}  // namespace etprof
