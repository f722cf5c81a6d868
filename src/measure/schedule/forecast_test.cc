#include "measure/schedule/forecast.h"

#include <gtest/gtest.h>

namespace etprof {
namespace {

Config TwoExperiments() {
  Config config;
  config.experiments.resize(2);
  config.experiments[0].name = "off";
  config.experiments[0].isa = "-avx2";
  config.experiments[1].name = "on";
  for (ExperimentConfig& experiment : config.experiments) experiment.model = "/m/net.pte";
  return config;
}

Forecast ForecastFor(const Config& config) { return MakeForecast(config, MakePlan(config), {}); }

TEST(Forecast, AllowsAMinutePerPair) {
  Config config = TwoExperiments();
  Forecast forecast = ForecastFor(config);
  EXPECT_EQ(forecast.kind, Forecast::Kind::kStopRule);
  EXPECT_EQ(forecast.upper_bound_seconds, 60);
  EXPECT_EQ(forecast.launches.min, 2);
  EXPECT_EQ(forecast.launches.max, 160);
  EXPECT_EQ(forecast.first_analysis_launches, 10);
  EXPECT_EQ(forecast.rounds.min, 1);
  EXPECT_EQ(forecast.rounds.max, 7);
  EXPECT_DOUBLE_EQ(forecast.lower_bound_seconds, 10 * 7 * 2 * 0.05);
  config.experiments.push_back(config.experiments[1]);
  config.experiments[2].name = "third";
  EXPECT_EQ(ForecastFor(config).upper_bound_seconds, 120);  // two pairs
  // The third experiment has the same conditions as the second.
  EXPECT_EQ(ForecastFor(config).peak_measurements, 2u);
  config.peaks = false;
  EXPECT_EQ(ForecastFor(config).peak_measurements, 0u);
  config.experiments.resize(1);
  EXPECT_EQ(ForecastFor(config).upper_bound_seconds, 60);  // no pair
}

TEST(Forecast, PlansTwoLaunchesIfAllIsEmulated) {
  Config config = TwoExperiments();
  config.experiments[1].exec_wrapper = {"qemu-x86_64"};
  Forecast forecast = ForecastFor(config);
  EXPECT_EQ(forecast.kind, Forecast::Kind::kTimeLimitedLaunches);
  EXPECT_EQ(forecast.launches.max, 2);
  EXPECT_DOUBLE_EQ(forecast.lower_bound_seconds, 2 * 7 * 2 * 0.05);
  config.experiments.push_back(config.experiments[0]);
  config.experiments[2].name = "third";  // the stop rule checks its pair with the first experiment
  EXPECT_EQ(ForecastFor(config).kind, Forecast::Kind::kStopRule);
}

TEST(Forecast, GivenValuesAreBounds) {
  Config config = TwoExperiments();
  config.max_seconds = 3;
  EXPECT_EQ(ForecastFor(config).upper_bound_seconds, 3);
  // Ten launches of seven rounds would take longer. A quarter of the time is for the machine's peaks, if a
  // measurement of peaks fits into it.
  EXPECT_EQ(ForecastFor(config).peaks_seconds, 0);
  EXPECT_EQ(ForecastFor(config).lower_bound_seconds, 3);
  config.max_seconds = 7.9;
  EXPECT_EQ(ForecastFor(config).peaks_seconds, 0);
  config.max_seconds = 8;
  EXPECT_EQ(ForecastFor(config).peaks_seconds, 2);
  EXPECT_EQ(ForecastFor(config).lower_bound_seconds, 6);
  config.max_seconds = 3;
  config.launches = 4;
  config.rounds = 2;
  Forecast forecast = ForecastFor(config);
  EXPECT_EQ(forecast.kind, Forecast::Kind::kTimeLimitedLaunches);
  EXPECT_EQ(forecast.launches.min, 2);
  EXPECT_EQ(forecast.launches.max, 4);
  EXPECT_EQ(forecast.rounds.min, 2);
  EXPECT_DOUBLE_EQ(forecast.lower_bound_seconds, 4 * 2 * 2 * 0.05);
  config.max_seconds.reset();
  forecast = ForecastFor(config);
  EXPECT_EQ(forecast.kind, Forecast::Kind::kLaunches);
  EXPECT_FALSE(forecast.upper_bound_seconds.has_value());
  EXPECT_EQ(forecast.launches.min, 4);
  config.rounds.reset();
  EXPECT_EQ(ForecastFor(config).rounds.min, 7);
}

TEST(Forecast, PlansTenPeriodsPerPacedBurst) {
  Config config = TwoExperiments();
  config.experiments[0].period = 33'000'000;
  EXPECT_DOUBLE_EQ(ForecastFor(config).burst_seconds, 0.33 + 0.05);
}

TEST(Forecast, AddsUpSustainedRuns) {
  Config config = TwoExperiments();
  config.experiments[0].threads = {1, 2};
  config.sustained = 600'000'000'000;
  const Forecast forecast = ForecastFor(config);
  EXPECT_EQ(forecast.kind, Forecast::Kind::kSustained);
  EXPECT_EQ(forecast.timed, 3u);
  EXPECT_EQ(forecast.upper_bound_seconds, 1800);
  EXPECT_EQ(forecast.launches.max, 1);
}

TEST(Forecast, HasNoBoundForTraceEnabledRuns) {
  Config config = TwoExperiments();
  config.experiments[0].mode = "xnntrace";
  EXPECT_EQ(ForecastFor(config).traced, 1u);
  EXPECT_EQ(ForecastFor(config).timed, 1u);
  EXPECT_EQ(ForecastFor(config).peak_measurements, 1u);
  config.experiments[1].mode = "xnntrace";
  EXPECT_EQ(ForecastFor(config).kind, Forecast::Kind::kNothingTimed);
  EXPECT_FALSE(ForecastFor(config).upper_bound_seconds.has_value());
}

}  // namespace
}  // namespace etprof
