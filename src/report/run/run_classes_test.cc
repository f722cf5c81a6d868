#include "report/run/run_classes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "format/etdump/testing.h"
#include "report/example_run.h"

namespace etprof {
namespace {

using handmade::TraceBuilder;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;

struct RunTimes {
  Nanoseconds linear = 5'000'000, attention = 1'000'000;
  bool has_attention = true;
};

// A report on a trace of runs whose operators take `get_times(run)`, counted from 0.
Report MakeRunsReport(std::size_t runs, const std::function<RunTimes(std::size_t)>& get_times) {
  TraceBuilder builder;
  Nanoseconds at = 0;
  for (std::size_t run = 0; run < runs; ++run) {
    const RunTimes times = get_times(run);
    Nanoseconds end = at + 10 + times.linear;
    builder.Block("Execute")
        .Framework(0, "native_call_linear.out", at + 10, end)
        .Framework(0, "OPERATOR_CALL", at + 5, end + 5);
    if (times.has_attention) {
      builder.Framework(1, "llama::custom_sdpa.out", end + 10, end + 10 + times.attention)
          .Framework(1, "OPERATOR_CALL", end + 8, end + 12 + times.attention);
      end += 12 + times.attention;
    }
    builder.Framework(-1, "Method::execute", at, end + 10);
    at = end + 1000;
  }
  RunData data = MakeEtdumpRun({"llama.etdump"}, {});
  std::vector<std::optional<Profile>> profiles;
  profiles.emplace_back(Attribute(builder.Take(), {}));
  return Assemble(std::move(data), std::move(profiles));
}

std::vector<std::string> ListClassNames(const Report& report) {
  std::vector<std::string> names;
  for (const RunClass& run_class : report.experiments[0].run_classes) names.push_back(run_class.name);
  return names;
}

TEST(RunClasses, CutsGrowthIntoRanges) {
  const Report report = MakeRunsReport(201, [](std::size_t run) {
    return RunTimes{.attention = 100'000 + 40'000 * static_cast<Nanoseconds>(run)};
  });
  EXPECT_THAT(ListClassNames(report),
              ElementsAre("runs 2-51", "runs 52-101", "runs 102-151", "runs 152-201"));
  const ReportExperiment& experiment = report.experiments[0];
  EXPECT_EQ(experiment.latency.n, 200);
  EXPECT_EQ(experiment.latency.p50, std::nullopt);
  EXPECT_EQ(experiment.tracer, std::nullopt);
  // Runs 26 and 27 of the file are in the middle of the first range.
  EXPECT_NEAR(*experiment.run_classes[0].latency.p50, 5e6 + 100e3 + 25.5 * 40e3, 100);
}

TEST(RunClasses, FindsDifferentOperators) {
  const Report report =
      MakeRunsReport(60, [](std::size_t run) { return RunTimes{.has_attention = run % 3 == 0}; });
  EXPECT_THAT(ListClassNames(report), ElementsAre("1 operator (40 runs)", "2 operators (19 runs)"));
  EXPECT_NEAR(*report.experiments[0].run_classes[1].latency.p50, 6e6, 100);
}

TEST(RunClasses, SeparatesInputSizes) {
  const Report report = MakeRunsReport(60, [](std::size_t run) {
    return RunTimes{.attention = (run % 2 == 0 ? 1'000'000 : 3'000'000) + static_cast<Nanoseconds>(run)};
  });
  EXPECT_THAT(ListClassNames(report), ElementsAre("faster (29 runs)", "slower (30 runs)"));
}

// The classes contain every run even if only some runs are sampled and every second run differs.
TEST(RunClasses, SeparatesInputSizesOfManyRuns) {
  const auto is_small = [](std::size_t run) { return run % 2 == 0; };
  const Report alternating = MakeRunsReport(
      8001, [&](std::size_t run) { return RunTimes{.attention = is_small(run) ? 1'000'000 : 3'000'000}; });
  EXPECT_THAT(ListClassNames(alternating), ElementsAre("faster (4,000 runs)", "slower (4,000 runs)"));
  const Report changed = MakeRunsReport(
      8001, [](std::size_t run) { return RunTimes{.attention = run < 3001 ? 1'000'000 : 3'000'000}; });
  EXPECT_THAT(ListClassNames(changed), ElementsAre("runs 2-3001", "runs 3002-8001"));
}

TEST(RunClasses, SplitsRunsWhereInputSizeChanges) {
  const Report report = MakeRunsReport(61, [](std::size_t run) {
    return RunTimes{.attention = (run < 31 ? 1'000'000 : 3'000'000) + static_cast<Nanoseconds>(run % 7)};
  });
  EXPECT_THAT(ListClassNames(report), ElementsAre("runs 2-31", "runs 32-61"));
}

// Between prefill and decode steps all operators change, by factors that a slower machine does not cause.
TEST(RunClasses, SeparatesPrefillFromDecodeSteps) {
  const Report report = MakeRunsReport(60, [](std::size_t run) {
    return run % 4 == 0 ? RunTimes{.linear = 20'000'000, .attention = 30'000'000} : RunTimes{};
  });
  EXPECT_THAT(ListClassNames(report), ElementsAre("faster (45 runs)", "slower (14 runs)"));
}

// Other processes lengthen a random operator.
TEST(RunClasses, DisturbedRunsAreNoClass) {
  const Report report = MakeRunsReport(101, [](std::size_t run) {
    RunTimes times;
    if (run % 20 == 7) times.attention += 10'000'000;
    if (run % 20 == 17) times.linear += 10'000'000;
    return times;
  });
  EXPECT_THAT(ListClassNames(report), IsEmpty());
}

// A slower machine, noise, and small changes give no classes.
TEST(RunClasses, EqualWorkHasNoClasses) {
  const auto classes = [](const std::function<double(std::size_t)>& factor_of_linear,
                          const std::function<double(std::size_t)>& factor_of_attention) {
    return ListClassNames(MakeRunsReport(201, [&](std::size_t run) {
      return RunTimes{.linear = static_cast<Nanoseconds>(5e6 * factor_of_linear(run)),
                      .attention = static_cast<Nanoseconds>(1e6 * factor_of_attention(run))};
    }));
  };
  const auto drift = [](std::size_t run) { return 1 + 0.002 * static_cast<double>(run); };
  const auto throttled = [](std::size_t run) { return run < 100 ? 1.0 : 1.5; };
  const auto clocks = [](std::size_t run) { return run % 2 == 0 ? 1.0 : 1.5; };
  const auto same = [](std::size_t) { return 1.0; };
  EXPECT_THAT(classes(drift, drift), IsEmpty());
  EXPECT_THAT(classes(throttled, throttled), IsEmpty());
  EXPECT_THAT(classes(clocks, clocks), IsEmpty());
  EXPECT_THAT(classes(same, same), IsEmpty());
  // A change must be at least a tenth of the latency.
  EXPECT_THAT(classes(same, [](std::size_t run) { return run < 100 ? 1.0 : 1.5; }), IsEmpty());
  EXPECT_THAT(classes(same, [](std::size_t run) { return run < 100 ? 1.0 : 1.7; }).size(), 2U);
  for (unsigned seed = 0; seed < 20; ++seed) {
    std::mt19937 random(seed);
    const auto noise = [&](std::size_t) { return 1 + 0.3 * static_cast<double>(random() % 1000) / 1000; };
    EXPECT_THAT(classes(noise, noise), IsEmpty()) << seed;
  }
}

// Fences around all runs would leave out the slower class.
TEST(RunClasses, SelfTimesIncludeEveryClass) {
  const Report report = MakeRunsReport(101, [](std::size_t run) {
    return run % 5 == 0 ? RunTimes{.linear = 50'000'000, .attention = 30'000'000} : RunTimes{};
  });
  const ReportExperiment& experiment = report.experiments[0];
  ASSERT_THAT(ListClassNames(report), ElementsAre("faster (80 runs)", "slower (20 runs)"));
  EXPECT_EQ(experiment.common_runs, 100);
  // Both operators are in this group.
  const auto gemm_mean = [](const Breakdown& groups) {
    return *groups.rows[static_cast<std::size_t>(OperatorGroup::kGemm)].Mean(groups);
  };
  EXPECT_EQ(gemm_mean(experiment.groups), 0.8 * 6e6 + 0.2 * 80e6);
  EXPECT_EQ(gemm_mean(experiment.run_classes[0].groups), 6e6);
  EXPECT_EQ(gemm_mean(experiment.run_classes[1].groups), 80e6);
  for (const RunClass& run_class : experiment.run_classes) {
    Nanoseconds sum = 0;
    for (const AdditiveRow& row : run_class.groups.rows) sum += row.total;
    EXPECT_EQ(sum, run_class.groups.total);
  }
}

// Different operators are different work, however few the runs are.
TEST(RunClasses, SeparatesFewRunsByTheirOperators) {
  const auto class_names = [](std::size_t runs, const std::function<RunTimes(std::size_t)>& get_times) {
    return ListClassNames(MakeRunsReport(runs, get_times));
  };
  const auto alternating = [](std::size_t run) { return RunTimes{.has_attention = run % 2 == 0}; };
  EXPECT_THAT(class_names(6, alternating), ElementsAre("1 operator (3 runs)", "2 operators (2 runs)"));
  // Slow runs at the beginning are no warm-up of others with fewer operators.
  const auto slow_first = [](std::size_t run) {
    return RunTimes{.attention = 30'000'000, .has_attention = run < 7};
  };
  EXPECT_THAT(class_names(20, slow_first), ElementsAre("1 operator (runs 8-20)", "2 operators (runs 2-7)"));
}

TEST(RunClasses, FewRunsAreOneClass) {
  const auto growing = [](std::size_t run) {
    return RunTimes{.attention = 100'000 + 400'000 * static_cast<Nanoseconds>(run)};
  };
  EXPECT_THAT(ListClassNames(MakeRunsReport(20, growing)), IsEmpty());
  EXPECT_THAT(ListClassNames(MakeRunsReport(21, growing)), Not(IsEmpty()));
}

}  // namespace
}  // namespace etprof
