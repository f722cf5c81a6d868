#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "report/example_run.h"

namespace etprof {
namespace {

// A device that restarted between two launches: its clock began anew, and it is slower since.
TEST(Noise, LaunchesFollowEachOtherWhateverTheClockOfTheDevice) {
  Report made = example::MakePair();
  RunData run = made.run;
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
  for (ReportExperiment& experiment : made.experiments) profiles.push_back(std::move(experiment.profile));
  const Report report = Assemble(std::move(run), std::move(profiles));
  const auto found = std::ranges::find(report.insights, finding::LatencyStep::kKind, &Insight::kind);
  ASSERT_NE(found, report.insights.end());
  const auto& step = std::get<finding::LatencyStep>(found->what);
  EXPECT_LT(step.before_ns, step.after_ns);
}

}  // namespace
}  // namespace etprof
