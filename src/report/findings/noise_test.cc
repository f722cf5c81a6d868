#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "format/etdump/testing.h"
#include "report/example_run.h"

namespace etprof {
namespace {

// The device restarted between two launches, so its clock restarted, and it is slower since.
TEST(Noise, OrdersLaunchesByIndexNotByClock) {
  Report example_report = example::MakePair();
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
