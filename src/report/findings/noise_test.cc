#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>

#include "format/etdump/testing.h"
#include "report/example_run.h"

namespace etprof {
namespace {

// The device restarted between two launches, so its clock restarted, and it is slower since.
TEST(Noise, OrdersLaunchesByIndexNotByClock) {
  Report example_report = example::MakePairReport();
  RunData run = example_report.run;
  constexpr int kRestarted = 5;
  for (Launch& launch : run.experiments[1].launches) {
    for (std::size_t i = 0; i < launch.bursts.size(); ++i) {
      Burst& burst = launch.bursts[i];
      burst.start = 1'000'000'000LL * ((launch.index < kRestarted ? 1000 : 0) + 10 * launch.index) +
                    static_cast<Nanoseconds>(i);
      if (launch.index < kRestarted) continue;
      for (Nanoseconds& latency : burst.recorded) latency += latency / 2;
    }
  }
  std::vector<std::optional<Profile>> profiles;
  for (ReportExperiment& experiment : example_report.experiments)
    profiles.push_back(std::move(experiment.profile));
  const Report report = Assemble(std::move(run), std::move(profiles));
  const auto found = std::ranges::find(report.findings, finding::LatencyStep::kKind, &Finding::kind);
  ASSERT_NE(found, report.findings.end());
  const auto& step = std::get<finding::LatencyStep>(found->details);
  EXPECT_LT(step.before_ns, step.after_ns);
}

// Latency of launches with 7 rounds, with 1% of noise between bursts. `launch_factor` and `burst_factor`
// multiply the times of a launch, and of a burst by its number.
Report MakeReportOfLaunches(int launches, unsigned seed,
                            const std::function<double(std::mt19937&)>& launch_factor,
                            const std::function<double(int)>& burst_factor) {
  std::mt19937 generator(seed);
  std::normal_distribution<double> noise(0, 0.01);
  RunData run;
  run.experiments = {example::MakeExperiment("on", 2'000'000)};
  ExperimentData& data = run.experiments[0];
  data.launches.resize(static_cast<std::size_t>(launches));
  int number = 0;
  for (Launch& launch : data.launches) {
    const double factor = launch_factor(generator);
    launch.bursts.resize(7);
    for (int round = 0; round < 7; ++round) {
      Burst& burst = launch.bursts[static_cast<std::size_t>(round)];
      burst.round = round;
      burst.recorded.assign(
          3, static_cast<Nanoseconds>(2e6 * factor * burst_factor(number++) * std::exp(noise(generator))));
    }
  }
  return Assemble(std::move(run), std::vector<std::optional<Profile>>(1));
}

// The number of findings that blame the machine for a change of the latency.
std::ptrdiff_t CountMachineFindings(const Report& report) {
  return std::ranges::count_if(report.findings, [](const Finding& finding) {
    return std::visit(
        [](const auto& details) {
          if constexpr (requires { details.may_be_processes; }) return !details.may_be_processes;
          return false;
        },
        finding.details);
  });
}

// The memory layout makes every process an effect of its own. In few launches it looks like a step or a
// drift.
TEST(Noise, DoesNotBlameTheMachineForEffectsOfProcesses) {
  const auto process_effect = [](std::mt19937& generator) {
    return std::exp(std::normal_distribution<double>(0, 0.03)(generator));
  };
  std::ptrdiff_t blamed = 0, found = 0;
  for (const int launches : {2, 3, 5, 10}) {
    for (unsigned seed = 1; seed <= 50; ++seed) {
      const Report report = MakeReportOfLaunches(launches, seed, process_effect, [](int) { return 1.0; });
      blamed += CountMachineFindings(report);
      found += std::ranges::count(report.findings, finding::LatencyStep::kKind, &Finding::kind);
    }
  }
  EXPECT_GE(found, 20);
  EXPECT_LE(blamed, 4);  // of 200 reports
}

TEST(Noise, BlamesTheMachineForStepsWithinALaunch) {
  const auto same_process = [](std::mt19937&) { return 1.0; };
  for (const int launches : {3, 5, 10}) {
    const int middle = launches / 2 * 7 + 3;
    for (unsigned seed = 1; seed <= 10; ++seed) {
      const Report report = MakeReportOfLaunches(launches, seed, same_process,
                                                 [&](int number) { return number < middle ? 1.0 : 1.2; });
      EXPECT_EQ(CountMachineFindings(report), 1) << launches << ", seed " << seed;
    }
  }
}

// Decode steps of an LLM, in which attention grows with the position, and linear layers by `linear_growth` ns
// per step.
Report MakeDecodeReport(Nanoseconds linear_growth) {
  handmade::TraceBuilder builder;
  Nanoseconds at = 0;
  for (Nanoseconds step = 0; step < 200; ++step) {
    const Nanoseconds linear = 5'000'000 + step * linear_growth, attention = 100'000 + step * 40'000;
    builder.Block("Execute")
        .Framework(0, "native_call_linear.out", at + 10, at + 10 + linear)
        .Framework(0, "OPERATOR_CALL", at + 5, at + 15 + linear)
        .Framework(1, "llama::custom_sdpa.out", at + 20 + linear, at + 20 + linear + attention)
        .Framework(1, "OPERATOR_CALL", at + 17 + linear, at + 24 + linear + attention)
        .Framework(-1, "Method::execute", at, at + 40 + linear + attention);
    at += 100 + linear + attention;
  }
  RunData run = MakeEtdumpRun({"llama.etdump"}, {});
  std::vector<std::optional<Profile>> profiles;
  profiles.emplace_back(Attribute(builder.Take(), {}));
  return Assemble(std::move(run), std::move(profiles));
}

const finding::ConfinedOperators* FindConfinedOperatorsIn(const Report& report) {
  for (const Finding& finding : report.findings) {
    if (const auto* trend = std::get_if<finding::LatencyTrend>(&finding.details)) return &trend->operators;
    if (const auto* step = std::get_if<finding::LatencyStep>(&finding.details)) return &step->operators;
  }
  return nullptr;
}

TEST(Noise, ConfinesTheChangeOfOneOperator) {
  const Report report = MakeDecodeReport(0);
  const finding::ConfinedOperators* confined = FindConfinedOperatorsIn(report);
  ASSERT_NE(confined, nullptr);
  ASSERT_EQ(confined->size(), 1U);
  EXPECT_EQ(report.experiments[0].profile->operators[confined->front().op].name, "llama::custom_sdpa.out");
}

TEST(Noise, DoesNotConfineTheChangeOfAllOperators) {
  const Report report = MakeDecodeReport(50'000);
  const finding::ConfinedOperators* confined = FindConfinedOperatorsIn(report);
  ASSERT_NE(confined, nullptr);
  EXPECT_TRUE(confined->empty());
}

}  // namespace
}  // namespace etprof
