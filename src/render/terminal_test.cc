#include "render/terminal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "core/table.h"
#include "report/example_run.h"

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
  median of 200 untraced runs; table from 40 traced runs

  costs  load 2.00 ms → 2.00 ms (same); first run 15.0 ms → 6.00 ms (2.50x less)

  mean self time             off          on     gain  share now
  Convolution           4.002 ms    1.002 ms    3.99x       47 %  ██████▏
  GEMM                  0.500 ms    0.500 ms     same       23 %  ███
  Data Movement         0.400 ms    0.400 ms     same       19 %  ██▍
  Other                 0.200 ms    0.200 ms     same      9.3 %  █▎
  Framework overhead    0.002 ms    0.002 ms     same      0.1 %
  Delegate overhead     0.040 ms    0.040 ms     same      1.9 %  ▎
  Tracer               -0.140 ms   -0.140 ms
  Median latency        5.004 ms    2.004 ms    2.50x

  next   Convolution takes 47 % of an inference: 1 operator, 1.00 ms.
         GEMM grew from 10 % to 23 % of an inference; Convolution is still the
         largest, at 47 %.
         Data Movement is 19 %: 2 transposes 0.40 ms. Were it free: 1.23x more
         at most. 0.40 ms of it (2 operators) at the edges of delegates.
  noise  known to ±0.01 %: smaller changes do not show in this measurement.
  more   runs/report.md
)");
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
    TerminalOptions options;
    options.width = width;
    for (const Report& report : {example::MakePair(), example::MakeBare()}) {
      std::istringstream lines(Screen(report, options));
      for (std::string line; std::getline(lines, line);)
        EXPECT_LE(DisplayWidth(line), std::max(width, 65)) << line;
    }
  }
}

TEST(Terminal, ColorsByVerdictOnly) {
  TerminalOptions options;
  options.colors = true;
  const std::string screen = Screen(example::MakePair(), options);
  EXPECT_THAT(screen, HasSubstr("\033[32m2.50x faster\033[0m"));
  EXPECT_THAT(screen, HasSubstr(" same "));
  EXPECT_THAT(screen, Not(HasSubstr("\033[31m")));
  EXPECT_THAT(Screen(example::MakePair()), Not(HasSubstr("\033")));
}

TEST(Terminal, LetsNoControlCharacterThrough) {
  RunData run;
  run.experiments = {example::MakeExperiment("evil\033[2Jname\n", 5'000'000)};
  run.model_id = "m\033]0;x\a";
  run.warnings.push_back("w\033[1m");
  const std::string screen = Screen(Assemble(std::move(run), {}));
  EXPECT_THAT(screen, Not(HasSubstr("\033")));
  EXPECT_THAT(screen, Not(HasSubstr("\a")));
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
