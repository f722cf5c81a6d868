#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "measure/config/variant.h"

namespace etprof {
namespace {

TEST(LadderConfig, ComparesNeighborsAndEndsForEveryNumberOfThreads) {
  ExperimentConfig base_experiment;
  base_experiment.model = "/m/net.pte";
  base_experiment.runner = "/r/etprof-runner";
  base_experiment.threads = {1, 4};
  base_experiment.runs = 30;
  const auto levels = isa::Ladder(isa::Architecture::kAarch64, {"dotprod", "fp16", "bf16", "sme"});
  const Config config = MakeLadderConfig(base_experiment, levels);
  std::vector<std::string> masks;
  for (const ExperimentConfig& experiment : config.experiments) {
    masks.push_back(experiment.name + " " + experiment.isa);
    EXPECT_EQ(experiment.runs, 30);
  }
  EXPECT_THAT(masks, testing::ElementsAre("neon none", "dotprod =dotprod", "fp16 =dotprod,+fp16",
                                          "bf16 =bf16,+dotprod,+fp16", "sme all"));
  std::vector<std::string> pairs;
  const Plan plan = MakePlan(config);  // throws if labels or files collide
  ASSERT_EQ(plan.units.size(), 10u);
  for (const ComparePair& pair : plan.pairs)
    pairs.push_back(pair.baseline_label + " / " + pair.candidate_label);
  EXPECT_THAT(
      pairs, testing::ElementsAre("neon, 1 thread / dotprod, 1 thread", "dotprod, 1 thread / fp16, 1 thread",
                                  "fp16, 1 thread / bf16, 1 thread", "bf16, 1 thread / sme, 1 thread",
                                  "neon, 1 thread / sme, 1 thread", "neon, 4 threads / dotprod, 4 threads",
                                  "dotprod, 4 threads / fp16, 4 threads", "fp16, 4 threads / bf16, 4 threads",
                                  "bf16, 4 threads / sme, 4 threads", "neon, 4 threads / sme, 4 threads"));
  EXPECT_EQ(DefaultLadderSeconds(config), 150);
}

TEST(VersionsConfig, ComparesEachReleaseWithItsPredecessor) {
  ExperimentConfig base_experiment;
  base_experiment.model = "/m/net.pte";
  base_experiment.threads = {1, 2};
  const Config config = MakeVersionsConfig(base_experiment, {"1.4.1", "1.5.0", "1.4.0"});
  const Plan plan = MakePlan(config);
  std::vector<std::string> pairs;
  for (const ComparePair& pair : plan.pairs)
    pairs.push_back(pair.baseline_label + " / " + pair.candidate_label);
  EXPECT_THAT(pairs, testing::ElementsAre("ExecuTorch 1.4.1, 1 thread / ExecuTorch 1.5.0, 1 thread",
                                          "ExecuTorch 1.4.1, 2 threads / ExecuTorch 1.5.0, 2 threads",
                                          "ExecuTorch 1.5.0, 1 thread / ExecuTorch 1.4.0, 1 thread",
                                          "ExecuTorch 1.5.0, 2 threads / ExecuTorch 1.4.0, 2 threads"));
  EXPECT_EQ(config.experiments[2].executorch, "1.4.0");
}

TEST(VersionsConfig, RunsBothExportsWithBothReleasesWhereTheyDiffer) {
  const ExperimentConfig base_experiment;
  const Config config = MakeVersionsConfig(base_experiment, {"1", "2", "3"},
                                           {{"/1/net.pte", "a"}, {"/2/net.pte", "a"}, {"/3/net.pte", "b"}});
  std::vector<std::string> experiments, pairs;
  for (const ExperimentConfig& experiment : config.experiments)
    experiments.push_back(experiment.executorch + ": " + experiment.label + " " + experiment.model.string());
  for (const ComparePair& pair : MakePlan(config).pairs)
    pairs.push_back(pair.baseline_label + " / " + pair.candidate_label);
  EXPECT_THAT(experiments,
              testing::ElementsAre("1: ExecuTorch 1 /1/net.pte", "2: ExecuTorch 2 /2/net.pte",
                                   "3: ExecuTorch 3 /3/net.pte", "2: ExecuTorch 2, exported by 3 /3/net.pte",
                                   "3: ExecuTorch 3, exported by 2 /2/net.pte"));
  // No baseline has two candidates, so the pairs are not a matrix.
  EXPECT_THAT(pairs, testing::ElementsAre("ExecuTorch 1 / ExecuTorch 2", "ExecuTorch 2 / ExecuTorch 3",
                                          "ExecuTorch 2, exported by 3 / ExecuTorch 3",
                                          "ExecuTorch 3, exported by 2 / ExecuTorch 3"));
}

TEST(LadderConfig, HasOnePairForTwoLevels) {
  ExperimentConfig base_experiment;
  base_experiment.model = "/m/net.pte";
  const Config config =
      MakeLadderConfig(base_experiment, isa::Ladder(isa::Architecture::kAarch64, {"dotprod"}));
  EXPECT_EQ(MakePlan(config).pairs.size(), 1u);
  EXPECT_EQ(DefaultLadderSeconds(config), 60);
}

}  // namespace
}  // namespace etprof
