#include "measure/schedule/schedule.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <memory>
#include <regex>
#include <set>

#include "core/golden_testing.h"

namespace etprof {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::StartsWith;

// A fake participant. Its runs take `latency` of a clock that only they advance. `calls` records the calls of
// its functions.
class FakeParticipant : public Participant {
 public:
  FakeParticipant(std::string name, Nanoseconds latency, double& clock, std::vector<std::string>& calls)
      : name_(std::move(name)), latency_(latency), clock_(clock), calls_(calls) {}

  bool IsWholeProcess() const override { return whole_process; }
  void Begin(Launch& launch) override {
    calls_.push_back("begin " + name_);
    clock_ += 0.1;
    launch.load = 1000;
    launch.rss_after_load = 1000;
    MayFail("begin", launch);
  }
  std::optional<Nanoseconds> WarmUp(Launch& launch, int min_runs, int) override {
    for (int i = 0; i < min_runs; ++i) {
      if (!launch.first_run) {
        launch.first_run = Run() * 5;
      } else {
        launch.warmup.push_back(Run());
      }
    }
    return std::nullopt;
  }
  void RunBurst(Launch& launch, int round, int order, const protocol::BurstRequest& request) override {
    calls_.push_back(fmt::format("burst {}", name_));
    MayFail("burst", launch);
    Burst burst;
    burst.round = round;
    burst.order = order;
    burst.start = static_cast<Nanoseconds>(clock_ * 1e9);
    requested_runs.push_back(request.max_runs);
    for (int i = 0; i < request.min_opening; ++i) burst.opening.push_back(Run());
    for (Nanoseconds elapsed = 0; static_cast<int>(burst.recorded.size()) < request.max_runs;) {
      if (static_cast<int>(burst.recorded.size()) >= request.min_runs && elapsed >= request.target_ns) break;
      burst.recorded.push_back(Run());
      if (wait) {
        const Nanoseconds waited = wait(bursts_, burst.recorded.size() - 1);
        burst.recorded.back() += waited;
        clock_ += double(waited) / 1e9;
        burst.recorded_wait.push_back(waited);
      }
      elapsed += burst.recorded.back();
    }
    ++bursts_;
    for (int i = 0; i < request.traced_runs; ++i) burst.traced.push_back(Run());
    burst.end = static_cast<Nanoseconds>(clock_ * 1e9);
    launch.bursts.push_back(burst);
    if (on_burst) on_burst();
  }
  void End(Launch& launch, bool want_outputs) override {
    calls_.push_back("end " + name_);
    MayFail("end", launch);
    outputs_wanted += want_outputs ? 1 : 0;
  }
  void Abandon() override { calls_.push_back("abandon " + name_); }

  std::set<int> failing_launches;  // indices
  WorkerFailure::Kind failure = WorkerFailure::Kind::kDied;
  std::string failing_call = "burst";
  bool whole_process = false;
  int outputs_wanted = 0;
  double noise = 0;  // relative, alternating
  // The time that run `run` of burst `burst` (both from 0) waits for a processor; null: not known.

  std::function<Nanoseconds(std::size_t burst, std::size_t run)> wait;
  std::vector<int> requested_runs;  // indexed by burst
  std::function<void()> on_burst;

 private:
  Nanoseconds Run() {
    const double wave[] = {0, 1, -1, 0.5, -0.7};
    const auto time =
        static_cast<Nanoseconds>(double(latency_) * (1 + noise * wave[(calls_.size() * 7 + launches_) % 5]));
    clock_ += double(time) / 1e9;
    return time;
  }
  void MayFail(const std::string& where, const Launch& launch) {
    launches_ = static_cast<std::size_t>(launch.index);
    if (failing_call == where && failing_launches.contains(launch.index))
      throw WorkerFailure(failure, "it broke");
  }
  std::string name_;
  Nanoseconds latency_;
  double& clock_;
  std::vector<std::string>& calls_;
  std::size_t launches_ = 0;
  std::size_t bursts_ = 0;
};

struct LastEstimates : Progress {
  std::vector<ProgressUpdate::Estimate> estimates;
  void Update(const ProgressUpdate& update) override { estimates = update.estimates; }
  void Message(const std::string&) override {}
  void Waiting(const std::string&) override {}
};

class ScheduleTest : public testing::Test {
 protected:
  FakeParticipant& Add(const std::string& name, Nanoseconds latency) {
    fakes.push_back(std::make_unique<FakeParticipant>(name, latency, clock, calls));
    data.push_back(std::make_unique<ExperimentData>());
    data.back()->name = data.back()->label = name;
    return *fakes.back();
  }
  void Pair() { pairs.push_back({0, 1, "", "a", "b", std::nullopt}); }
  void Run() {
    std::vector<ScheduleUnit> units;
    for (std::size_t i = 0; i < fakes.size(); ++i)
      units.push_back({fakes[i].get(), data[i].get(), runs, warmup});
    ScheduleHooks hooks;
    hooks.now = [this] { return clock; };
    hooks.interrupted = [this] { return interrupted; };
    hooks.save = [this] { ++saved; };
    hooks.before_round = before_round;
    hooks.reconnect = [this] { ++reconnected; };
    hooks.memory_shortage = [this](Bytes, std::size_t) { return memory_shortage; };
    hooks.progress = &progress;
    RunSchedule(options, units, pairs, hooks, result, warnings);
  }
  std::vector<int> Indices(std::size_t unit) const {
    std::vector<int> indices;
    for (const Launch& launch : data[unit]->launches) indices.push_back(launch.index);
    return indices;
  }
  std::vector<std::string> Statuses(std::size_t unit) const {
    std::vector<std::string> statuses;
    for (const Launch& launch : data[unit]->launches) statuses.emplace_back(GetName(launch.status));
    return statuses;
  }

  double clock = 1000;
  std::vector<std::string> calls;
  std::vector<std::unique_ptr<FakeParticipant>> fakes;
  std::vector<std::unique_ptr<ExperimentData>> data;
  std::vector<ComparePair> pairs;
  ScheduleOptions options;
  ScheduleData result;
  std::vector<std::string> warnings;
  std::optional<std::string> memory_shortage;
  std::function<void(int, int, int)> before_round = [](int, int, int) {};
  int runs = 100;
  std::optional<int> warmup;
  int saved = 0, reconnected = 0;
  bool interrupted = false;
  LastEstimates progress;
};

// A line for a golden file: the number of launches that fit into the time depends on rounding, so N replaces
// it.
std::string HideLaunches(const std::string& text) {
  return std::regex_replace(text, std::regex("[0-9]+ (of [0-9]+ )?launches"), "N $1launches") + "\n";
}

TEST_F(ScheduleTest, ReadsConditionsBeforeEachRound) {
  Add("a", 1'000'000);
  Add("b", 1'000'000);
  Pair();
  options.launches = 2;
  options.rounds = 2;
  before_round = [this](int launch, int round, int order) {
    calls.push_back(fmt::format("round {} {} {}", launch, round, order));
  };
  Run();
  std::vector<std::string> steps;  // without the experiments' names
  for (const std::string& text : calls) steps.push_back(text.starts_with("round") ? text : text.substr(0, 3));
  EXPECT_EQ(steps,
            (std::vector<std::string>{"beg", "beg",         "round 0 0 0", "bur", "bur", "round 0 1 0", "bur",
                                      "bur", "end",         "end",         "beg", "beg", "round 1 0 0", "bur",
                                      "bur", "round 1 1 0", "bur",         "bur", "end", "end"}));
}

TEST_F(ScheduleTest, ReadsConditionsBeforeEachAlternatingProcess) {
  Add("a", 1'000'000).whole_process = true;
  Add("b", 1'000'000).whole_process = true;
  Pair();
  options.launches = 2;
  std::vector<std::string> rounds;
  before_round = [&](int launch, int round, int order) {
    rounds.push_back(fmt::format("{} {} {}", launch, round, order));
  };
  Run();
  EXPECT_EQ(rounds, (std::vector<std::string>{"0 0 0", "0 0 1", "1 0 0", "1 0 1"}));
}

TEST(RoundOrder, IsAPermutationThatDependsOnArgumentsOnly) {
  int first_of_two = 0;
  std::set<std::vector<std::size_t>> orders;
  for (int round = 0; round < 1000; ++round) {
    std::vector<std::size_t> order = RoundOrder(7, 3, round, 2);
    first_of_two += order[0] == 0 ? 1 : 0;
    orders.insert(RoundOrder(7, 3, round, 4));
    EXPECT_EQ(RoundOrder(7, 3, round, 4), RoundOrder(7, 3, round, 4));
  }
  EXPECT_GT(first_of_two, 440);
  EXPECT_LT(first_of_two, 560);
  EXPECT_EQ(orders.size(), 24u);  // every order occurs
  EXPECT_NE(RoundOrder(7, 3, 0, 10), RoundOrder(8, 3, 0, 10));
  EXPECT_NE(RoundOrder(7, 3, 0, 10), RoundOrder(7, 4, 0, 10));
}

TEST(TracedRuns, AddUpOverLaunches) {
  for (const int runs : {1, 5, 10, 99, 100, 1000}) {
    int total = 0;
    for (int launch = 0; launch < 10; ++launch) {
      int launch_runs = 0;
      for (int round = 0; round < 7; ++round) launch_runs += TracedRunsPerBurst(runs, 10, 7, launch, round);
      EXPECT_GE(launch_runs, 1);
      total += launch_runs;
    }
    EXPECT_EQ(total, std::max(runs, 10)) << runs;
  }
  EXPECT_EQ(TracedRunsPerBurst(100, 10, 1, 12, 0), 10);  // launches beyond the planned ones
}

RunCost MakeCost(double latency_ns) {
  return {.spacing_ns = latency_ns, .wall_ns = latency_ns, .opening_runs = {}};
}

// Two variants of a model whose runs take this long, with a budget for ten launches.
LaunchShape FitTwoVariants(double latency_ms, double budget, double fixed = 0) {
  ShapeInput input;
  input.experiments = {{MakeCost(latency_ms * 1e6), 0, std::nullopt, 100},
                       {MakeCost(latency_ms * 1e6), 0, std::nullopt, 100}};
  input.budget_seconds = budget;
  input.fixed_seconds = fixed;
  return FitLaunch(input);
}

TEST(FitLaunch, ShrinksWithTheAvailableTime) {
  const auto text = [](const LaunchShape& shape) {
    return fmt::format("{} launches, {} rounds of {} runs, {} traced, warmup {}", shape.launches,
                       shape.rounds, *shape.runs[0], shape.traced[0], shape.warmup[0]);
  };
  EXPECT_EQ(text(FitTwoVariants(1, 60)), "10 launches, 7 rounds of 50 runs, 100 traced, warmup 10");
  EXPECT_EQ(text(FitTwoVariants(100, 60)), "10 launches, 5 rounds of 3 runs, 50 traced, warmup 3");
  EXPECT_EQ(text(FitTwoVariants(100, 10)), "5 launches, 1 rounds of 4 runs, 20 traced, warmup 1");
  EXPECT_EQ(text(FitTwoVariants(1000, 60)), "2 launches, 2 rounds of 5 runs, 6 traced, warmup 1");
  EXPECT_EQ(text(FitTwoVariants(10000, 60)), "2 launches, 1 rounds of 1 runs, 2 traced, warmup 1");
}

// Priorities: untraced runs of each variant in as many launches as fit, up to ten; traced runs get the rest
// of the time.
TEST(FitLaunch, SlowModelsGetTheirUntracedRunsFirst) {
  // A model of 160 ms in 40 s, whose launches take 0.7 s before their first burst, and a model of 0.42 s.
  for (const auto& [latency_ms, fixed] : {std::pair(160.0, 0.7), std::pair(420.0, 1.9)}) {
    SCOPED_TRACE(latency_ms);
    const LaunchShape shape = FitTwoVariants(latency_ms, 40, fixed);
    EXPECT_GE(shape.launches * shape.rounds * *shape.runs[0], kMinUntracedRuns);
    EXPECT_GE(shape.traced[0], kMinTracedRuns * shape.launches);
    EXPECT_LE(shape.seconds * shape.launches, 40 * 1.02);
    EXPECT_GE(shape.seconds * shape.launches, 40 * 0.6) << "time is used";
    EXPECT_EQ(shape.launches, latency_ms < 200 ? 10 : 4);
  }
}

TEST(FitLaunch, PlansTheRemainingTimeForTheRemainingLaunches) {
  ShapeInput input;
  input.experiments = {{MakeCost(100e6), 0, std::nullopt, 30}};
  input.budget_seconds = 5;
  input.launches_done = 5;
  EXPECT_EQ(FitLaunch(input).launches, 10);
  input.launches_done = 0;
  EXPECT_LT(FitLaunch(input).launches, 10);
  input.launches_given = true;
  EXPECT_EQ(FitLaunch(input).launches, 10);
}

TEST(FitLaunch, MakesPacedBurstsSeveralPeriodsLong) {
  ShapeInput input;
  input.experiments = {
      {MakeCost(1e6), 33'000'000, {}}, {MakeCost(1e6), 0, {}}, {MakeCost(50e6), 33'000'000, {}}};
  input.budget_seconds = 600;
  LaunchShape shape = FitLaunch(input);
  // The last experiment is always late, so its latency is its pace.
  EXPECT_THAT(shape.runs, ElementsAre(10, 50, 10));
  EXPECT_EQ(shape.rounds, 7);
  input.budget_seconds = 30;  // a round takes 0.46 + 0.05 + 0.7 s
  shape = FitLaunch(input);
  EXPECT_EQ(shape.rounds, 2);
}

TEST_F(ScheduleTest, RunsEveryExperimentOncePerRound) {
  Add("a", 5'000'000);
  Add("b", 4'000'000);
  Add("c", 3'000'000);
  Pair();
  options.launches = 3;
  Run();
  ASSERT_EQ(data[0]->launches.size(), 3u);
  for (std::size_t launch = 0; launch < 3; ++launch) {
    for (std::size_t round = 0; round < 7; ++round) {
      std::set<int> orders;
      for (const auto& experiment : data) {
        EXPECT_EQ(experiment->launches[launch].bursts.at(round).round, int(round));
        orders.insert(experiment->launches[launch].bursts.at(round).order);
      }
      EXPECT_THAT(orders, ElementsAre(0, 1, 2));
    }
  }
  EXPECT_EQ(saved, 3);
  EXPECT_EQ(fakes[0]->outputs_wanted, 3);  // the fake returns no digests
  EXPECT_EQ(result.rounds, 7);
  EXPECT_TRUE(result.interleaved);
  EXPECT_EQ(result.stop_reason, "3 launches were asked for");
}

// With a fixed time, a burst in a fast phase would hold more runs, and pooled medians would favor such
// phases.
TEST_F(ScheduleTest, HasTheSameNumberOfRunsInFastAndSlowPhases) {
  Add("a", 2'000'000).noise = 0.5;
  Add("b", 1'000'000).noise = 0.5;
  Pair();
  options.launches = 3;
  Run();
  for (const auto& experiment : data) {
    std::set<std::size_t> sizes;
    std::set<Nanoseconds> medians;
    for (const Launch& launch : experiment->launches) {
      for (const Burst& burst : launch.bursts) {
        sizes.insert(burst.recorded.size());
        medians.insert(*burst.Median());
      }
    }
    EXPECT_THAT(sizes, testing::SizeIs(1));
    EXPECT_GT(*sizes.begin(), 3U);
    EXPECT_GT(medians.size(), 2U);  // otherwise there were no fast and slow phases
  }
}

// One variant loses a time slice in every other run, the other never: a ratio of all runs would be wrong.
TEST_F(ScheduleTest, ExcludesRunsThatWaited) {
  Add("a", 5'000'000).wait = [](std::size_t, std::size_t run) { return run % 2 == 0 ? 4'000'000 : 0; };
  Add("b", 1'000'000).wait = [](std::size_t, std::size_t) { return 0; };
  Pair();
  options.launches = 3;
  Run();
  const auto estimate = EstimatePair(*data[0], *data[1], 0.95);
  ASSERT_TRUE(estimate);
  EXPECT_NEAR(estimate->ratio(), 5, 1e-6);
  EXPECT_EQ(data[0]->Latencies().size() * 2, data[0]->AllLatencies().size());
  EXPECT_EQ(result.repeated_bursts, 0);
}

// An interval that is narrow during the measurement and wide in the report would mislead the user.
TEST_F(ScheduleTest, ProgressShowsTheEffectOfWaitingOnTheInterval) {
  Add("a", 5'000'000).wait = [](std::size_t, std::size_t run) { return run % 2 == 0 ? 4'000'000 : 0; };
  Add("b", 5'000'000).wait = [](std::size_t, std::size_t) { return 0; };
  Pair();
  options.launches = 3;
  Run();
  ASSERT_EQ(progress.estimates.size(), 1U);
  EXPECT_EQ(progress.estimates[0].estimate->systematic_error, 0) << "both ran the same in the same way";
  data[0] = std::make_unique<ExperimentData>();
  data[1] = std::make_unique<ExperimentData>();
  data[0]->isa = "-avx";
  Run();
  ASSERT_EQ(progress.estimates.size(), 1U);
  EXPECT_GT(data[0]->WaitedShare(), 0.1);
  EXPECT_EQ(progress.estimates[0].estimate->systematic_error, kWaitingErrorFactor * data[0]->WaitedShare());
}

TEST_F(ScheduleTest, RepeatsADisturbedBurstInItsRound) {
  // The first burst of every launch is completely disturbed.
  FakeParticipant& a = Add("a", 5'000'000);
  a.wait = [](std::size_t burst, std::size_t) { return burst % 8 == 0 ? 4'000'000 : 0; };
  Add("b", 5'000'000).wait = [](std::size_t, std::size_t) { return 0; };
  Pair();
  options.launches = 2;
  Run();
  EXPECT_EQ(result.repeated_bursts, 2);
  for (const Launch& launch : data[0]->launches) {
    ASSERT_EQ(launch.bursts.size(), 8u);
    EXPECT_EQ(launch.bursts[0].round, 0);
    EXPECT_EQ(launch.bursts[1].round, 0);
    EXPECT_NE(launch.bursts[0].order, launch.bursts[1].order);
    EXPECT_EQ(launch.CleanRounds().size(), 7u);
  }
  EXPECT_LT(a.requested_runs[1], a.requested_runs[0]);
  const auto estimate = EstimatePair(*data[0], *data[1], 0.95);
  ASSERT_TRUE(estimate);
  EXPECT_EQ(estimate->rounds, 14);
  EXPECT_NEAR(estimate->ratio(), 1, 1e-6);
}

TEST_F(ScheduleTest, BoundsRepeatsAndEstimatesNothingWithoutCleanRuns) {
  Add("a", 5'000'000).wait = [](std::size_t, std::size_t) { return 4'000'000; };
  Add("b", 1'000'000).wait = [](std::size_t, std::size_t) { return 0; };
  Pair();
  options.max_seconds = 20;
  Run();
  EXPECT_FALSE(EstimatePair(*data[0], *data[1], 0.95));
  EXPECT_TRUE(data[0]->Latencies().empty());
  EXPECT_FALSE(data[1]->Latencies().empty());
  const auto bursts = static_cast<int>(data[0]->launches.size() * 7);
  EXPECT_GT(result.repeated_bursts, 0);
  EXPECT_LT(result.repeated_bursts, bursts / 2);
  EXPECT_LE(result.seconds, 22);
}

TEST_F(ScheduleTest, ReservesTimeForStepsAfterTheLaunches) {
  for (const char* name : {"a", "b"}) Add(name, 50'000'000);
  Pair();
  options.precision = 1e-9;
  options.max_seconds = 15;
  options.after_seconds = 5;
  Run();
  EXPECT_GT(result.seconds, 8);
  EXPECT_LE(result.seconds, 10.5);
  EXPECT_EQ(result.max_seconds, 15);
}

// Half of twenty launches are completely disturbed: the rule waits for ten clean launches.
TEST_F(ScheduleTest, StopRuleCountsCleanLaunches) {
  for (const char* name : {"a", "b"}) Add(name, 5'000'000).wait = [](std::size_t, std::size_t) { return 0; };
  // Every other launch of a is disturbed, including its repeats.
  auto disturbed = std::make_shared<bool>(false);
  before_round = [disturbed](int launch, int, int) { *disturbed = launch % 2 == 0; };
  fakes[0]->wait = [disturbed](std::size_t, std::size_t) { return *disturbed ? 4'000'000 : 0; };
  Pair();
  options.precision = 0.01;
  Run();
  const auto estimate = EstimatePair(*data[0], *data[1], 0.95);
  ASSERT_TRUE(estimate);
  EXPECT_EQ(estimate->launches, 10);
  EXPECT_GE(data[0]->launches.size(), 20u);
}

TEST_F(ScheduleTest, KeepsTheTimeLimitForSlowModels) {
  for (const double latency_ms : {160.0, 420.0}) {
    SCOPED_TRACE(latency_ms);
    fakes.clear();
    data.clear();
    pairs.clear();
    calls.clear();
    result = {};
    Add("a", static_cast<Nanoseconds>(latency_ms * 1e6)).noise = 0.02;
    Add("b", static_cast<Nanoseconds>(latency_ms * 1e6)).noise = 0.02;
    Pair();
    options.max_seconds = 40;
    const double start = clock;
    Run();
    EXPECT_LE(clock - start, 44);
    for (const auto& experiment : data) EXPECT_GE(experiment->AllLatencies().size(), 20u);
  }
}

TEST_F(ScheduleTest, StartsAllWorkersBeforeTheFirstRound) {
  Add("a", 5'000'000);
  Add("b", 4'000'000);
  options.launches = 2;
  options.rounds = 1;
  Run();
  std::vector<std::string> steps;  // without the experiments' names
  for (const std::string& text : calls) steps.push_back(text.substr(0, text.find(' ')));
  EXPECT_THAT(steps, ElementsAre("begin", "begin", "burst", "burst", "end", "end",  // the first launch
                                 "begin", "begin", "burst", "burst", "end", "end"));
}

TEST_F(ScheduleTest, StopsAtTheFirstAnalysisIfPreciseEnough) {
  Add("a", 5'000'000);
  Add("b", 4'000'000);
  Pair();
  Run();
  EXPECT_EQ(data[0]->launches.size(), 10u);
  ExpectGolden("measure/schedule/schedule_precise", result.stop_reason + "\n");
  EXPECT_NEAR(EstimatePair(*data[0], *data[1], 0.95)->ratio(), 1.25, 1e-9);
  EXPECT_THAT(warnings, IsEmpty());
}

TEST_F(ScheduleTest, StopRuleIgnoresEmulatedExperiments) {
  Add("a", 5'000'000);
  Add("b", 4'000'000);
  Pair();
  Add("c", 4'000'000).noise = 0.2;
  data[2]->emulated = true;
  Run();
  EXPECT_EQ(data[0]->launches.size(), 10u);
  ExpectGolden("measure/schedule/schedule_precise_except_emulated", result.stop_reason + "\n");
}

// More launches would not make their times comparable.
TEST_F(ScheduleTest, StopsAfterTwoLaunchesIfAllIsEmulated) {
  // Number of emulated experiments in the pair: both, or the candidate alone.
  for (const int emulated : {2, 1}) {
    SCOPED_TRACE(emulated);
    fakes.clear();
    data.clear();
    pairs.clear();
    result = {};
    Add("a", 5'000'000).noise = 0.2;
    Add("b", 4'000'000).noise = 0.2;
    Pair();
    data[1]->emulated = true;
    data[0]->emulated = emulated == 2;
    Run();
    EXPECT_EQ(data[0]->launches.size(), 2u);
    EXPECT_EQ(result.stop_reason, "times of an emulated CPU are not meaningful");
    EXPECT_THAT(warnings, IsEmpty());
    std::size_t traced = 0;
    for (const Launch& launch : data[0]->launches)
      for (const Burst& burst : launch.bursts) traced += burst.traced.size();
    EXPECT_EQ(traced, 100u);  // all requested traced runs
  }
}

TEST_F(ScheduleTest, StopsAfterTwoLaunchesForAnEmulatedSingle) {
  Add("a", 5'000'000).noise = 0.2;
  data[0]->emulated = true;
  Run();
  EXPECT_EQ(data[0]->launches.size(), 2u);
}

TEST_F(ScheduleTest, StopRuleAddsLaunchesWhileThereIsTime) {
  Add("a", 5'000'000).noise = 0.2;
  Add("b", 4'000'000).noise = 0.2;
  Pair();
  options.precision = 1e-9;
  Run();
  EXPECT_GT(data[0]->launches.size(), 10u);
  EXPECT_LE(result.seconds, 66);
  ExpectGolden("measure/schedule/schedule_out_of_time", HideLaunches(result.stop_reason));
  for (const Launch& launch : data[0]->launches) EXPECT_EQ(launch.bursts.size(), 7u);
}

TEST_F(ScheduleTest, GivesASlowModelFewerRoundsAndAWarning) {
  Add("a", 2'000'000'000);
  Add("b", 2'100'000'000);
  Pair();
  Run();
  EXPECT_EQ(result.rounds, 1);
  EXPECT_EQ(data[0]->launches[0].bursts[0].recorded.size(), 1u);
  EXPECT_GE(data[0]->launches.size(), 2u);
  EXPECT_LT(data[0]->launches.size(), 10u);
  ASSERT_EQ(warnings.size(), 1U);
  ExpectGolden("measure/schedule/schedule_of_slow_model", HideLaunches(warnings[0]));
}

TEST_F(ScheduleTest, WarnsAboutFewerLaunchesThanRequested) {
  Add("a", 2'000'000'000);
  Add("b", 2'100'000'000);
  Pair();
  options.launches = 40;
  options.max_seconds_given = true;
  Run();
  EXPECT_LT(data[0]->launches.size(), 40u);
  ASSERT_EQ(warnings.size(), 1U);
  ExpectGolden("measure/schedule/schedule_of_too_many_launches", HideLaunches(warnings[0]));
}

TEST_F(ScheduleTest, RepeatsAFailedLaunch) {
  Add("a", 5'000'000);
  Add("b", 4'000'000).failing_launches = {2};
  Pair();
  options.launches = 4;
  Run();
  EXPECT_THAT(Statuses(1), ElementsAre("complete", "complete", "failed", "complete", "complete"));
  EXPECT_THAT(Statuses(0), Each("complete"));
  EXPECT_EQ(data[1]->error, "");
  ExpectGolden("measure/schedule/schedule_with_failed_launch", data[1]->warnings);
  EXPECT_EQ(EstimatePair(*data[0], *data[1], 0.95)->launches, 4);
}

TEST_F(ScheduleTest, GivesUpAnExperimentAfterTwoFailuresInARow) {
  Add("a", 5'000'000);
  Add("b", 4'000'000).failing_launches = {1, 2};
  Pair();
  options.launches = 5;
  Run();
  EXPECT_THAT(Statuses(1), ElementsAre("complete", "failed", "failed"));
  EXPECT_EQ(data[1]->error, "it broke");
  EXPECT_EQ(data[0]->launches.size(), 5u);
}

TEST_F(ScheduleTest, DoesNotRetryARefusal) {
  FakeParticipant& b = Add("b", 4'000'000);
  b.failing_call = "begin";
  b.failure = WorkerFailure::Kind::kRefused;
  b.failing_launches = {0, 1, 2};
  Run();
  EXPECT_EQ(data[0]->launches.size(), 1u);
  EXPECT_EQ(result.stop_reason, "no experiment is left");
}

TEST_F(ScheduleTest, KeepsAPartialLaunchOnInterruption) {
  Add("a", 5'000'000);
  FakeParticipant& b = Add("b", 4'000'000);
  int bursts = 0;
  b.on_burst = [&] { interrupted = ++bursts == 10; };  // in launch 2, round 3
  Run();
  EXPECT_THAT(Statuses(1), ElementsAre("complete", "partial"));
  EXPECT_EQ(data[1]->launches[1].bursts.size(), 3u);
  EXPECT_EQ(result.stop_reason, "interrupted");
  EXPECT_THAT(calls.back(), StartsWith("end "));  // workers are asked for their results
  EXPECT_EQ(saved, 2);
}

TEST_F(ScheduleTest, DoesNotWaitForALostDeviceAfterAnInterruption) {
  for (const bool stops : {false, true}) {
    fakes.clear();
    data.clear();
    result = {};
    reconnected = 0;
    FakeParticipant& a = Add("a", 5'000'000);
    a.failing_launches = {1};
    a.failure = WorkerFailure::Kind::kLost;
    a.failing_call = "end";
    a.on_burst = [&] { interrupted = stops && a.requested_runs.size() == 8; };  // the first burst of launch 1
    options.launches = 3;
    options.rounds = 7;
    Run();
    EXPECT_EQ(reconnected, stops ? 0 : 1);
  }
}

TEST_F(ScheduleTest, ResumesWithTheSameOrders) {
  Add("a", 5'000'000);
  Add("b", 4'000'000);
  Pair();
  options.launches = 3;
  options.rounds = 4;
  Run();
  options.launches = 5;
  options.seconds_used = result.seconds;
  Run();
  EXPECT_THAT(Indices(0), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_EQ(data[0]->launches[4].bursts.size(), 4u);
  // An uninterrupted measurement has the same orders.
  std::vector<int> resumed;
  for (const Launch& launch : data[0]->launches) {
    for (const Burst& burst : launch.bursts) resumed.push_back(burst.order);
  }
  data[0]->launches.clear();
  data[1]->launches.clear();
  result = {};
  options.seconds_used = 0;
  Run();
  std::vector<int> uninterrupted;
  for (const Launch& launch : data[0]->launches) {
    for (const Burst& burst : launch.bursts) uninterrupted.push_back(burst.order);
  }
  EXPECT_EQ(resumed, uninterrupted);
}

TEST_F(ScheduleTest, AlternatesProcessesIfMemoryIsShort) {
  Add("a", 5'000'000);
  Add("b", 4'000'000);
  Pair();
  memory_shortage = "1 more workers of 9 GB do not fit";
  options.launches = 2;
  Run();
  EXPECT_FALSE(result.interleaved);
  EXPECT_EQ(result.rounds, 1);
  ExpectGolden("measure/schedule/schedule_with_little_memory", warnings);
  int running = 0;
  for (const std::string& step : calls) {
    running += step.starts_with("begin") ? 1 : step.starts_with("end") ? -1 : 0;
    EXPECT_LE(running, 1);
  }
  EXPECT_EQ(data[0]->launches.size(), 2u);
  EXPECT_GE(data[0]->launches[0].bursts[0].recorded.size(), 60u);  // one long burst
}

TEST_F(ScheduleTest, AlternatesThirdPartyRunners) {
  Add("a", 5'000'000).whole_process = true;
  Add("b", 4'000'000).whole_process = true;
  Pair();
  Run();
  EXPECT_EQ(data[0]->launches.size(), 10u);
  EXPECT_EQ(data[0]->launches[3].bursts.size(), 1u);
  EXPECT_EQ(EstimatePair(*data[0], *data[1], 0.95)->launches, 10);
  EXPECT_FALSE(result.interleaved);
}

TEST_F(ScheduleTest, RunsAtLeastTheConfiguredWarmup) {
  Add("a", 5'000'000);
  warmup = 25;
  options.launches = 2;
  Run();
  for (const Launch& launch : data[0]->launches) EXPECT_GE(launch.warmup.size() + 1, 25u);
}

// A worker that dies while loading has no known cost; the next launch must find it out before any burst.
TEST_F(ScheduleTest, LearnsTheCostOfAWorkerThatDiedInTheFirstLaunch) {
  Add("a", 5'000'000);
  FakeParticipant& b = Add("b", 4'000'000);
  b.failing_call = "begin";
  b.failing_launches = {0};
  Pair();
  options.launches = 3;
  Run();
  EXPECT_THAT(b.requested_runs, Each(testing::Le(20)));
  EXPECT_EQ(data[1]->launches.size(), 4U);
}

TEST_F(ScheduleTest, FitsEachExperimentIfMemoryIsShort) {
  for (options.seed = 1; options.seed <= 8; ++options.seed) {
    fakes.clear();
    data.clear();
    warnings.clear();
    result = {};
    Add("a", 50'000'000);
    Add("b", 5'000'000);
    Add("c", 20'000'000);
    memory_shortage = "2 more workers of 9 GB do not fit";
    options.launches = 2;
    Run();
    for (const auto& fake : fakes) EXPECT_THAT(fake->requested_runs, Each(testing::Le(100)));
  }
}

TEST_F(ScheduleTest, FinishesAFixedNumberOfLaunchesOnABusyMachine) {
  Add("a", 5'000'000).wait = [](std::size_t burst, std::size_t) { return burst < 14 ? 0 : 4'000'000; };
  Add("b", 5'000'000).wait = [](std::size_t, std::size_t) { return 0; };
  Pair();
  options.launches = 5;
  int launches = 0;
  before_round = [&](int launch, int, int) {
    launches = launch;
    interrupted = launch > 50;
  };
  Run();
  EXPECT_EQ(launches, 4);
  EXPECT_EQ(result.launches, 5);
}

TEST_F(ScheduleTest, PlansAResumedMeasurementWithTheRemainingTime) {
  for (const char* name : {"a", "b"}) Add(name, 100'000'000);
  Pair();
  options.max_seconds = 60;
  options.max_seconds_given = true;
  options.launches = 2;
  Run();
  options.seconds_used = 50;
  options.launches = 6;
  Run();
  EXPECT_LE(result.seconds, 66);
  // The memory is checked again, too.
  options.max_seconds = 600;
  memory_shortage = "1 more workers of 9 GB do not fit";
  Run();
  EXPECT_FALSE(result.interleaved);
}

}  // namespace
}  // namespace etprof
