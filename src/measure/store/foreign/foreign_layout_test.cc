#include "measure/store/foreign/foreign_layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/file/file.h"
#include "core/golden_testing.h"

namespace etprof {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class ForeignLayoutTest : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::remove_all(folder);
    std::filesystem::create_directories(folder);
  }
  void TearDown() override { std::filesystem::remove_all(folder); }
  void Write(const std::string& path, const std::string& text) { WriteFileAtomically(folder / path, text); }
  void CopyEtdump(const std::string& path) {
    std::filesystem::create_directories((folder / path).parent_path());
    std::filesystem::copy_file(ETPROF_TEST_DATA "/toy_cnn.t1.etdump", folder / path);
  }
  static std::vector<std::string> ExperimentNames(const RunData& run) {
    std::vector<std::string> names;
    for (const ExperimentData& data : run.experiments)
      names.push_back(data.name + " " + std::to_string(data.threads));
    return names;
  }
  const std::filesystem::path folder =
      std::filesystem::path(testing::TempDir()) / ("etprof_foreign_layout_" + std::to_string(::getpid()));
};

TEST_F(ForeignLayoutTest, FlatNamesGiveModelExperimentAndThreads) {
  CopyEtdump("toy_cnn_mac_sme2_off_t1.etdump");
  CopyEtdump("toy_cnn_mac_sme2_on_t1.etdump");
  const RunData run = LoadRunDirectory(folder);
  EXPECT_EQ(run.model_id, "toy_cnn");
  EXPECT_THAT(ExperimentNames(run), ElementsAre("mac_sme2_off 1", "mac_sme2_on 1"));
  ASSERT_THAT(run.pairs, SizeIs(1));
  EXPECT_EQ(run.pairs[0].baseline, 0u);
  EXPECT_EQ(run.pairs[0].candidate, 1u);
}

TEST_F(ForeignLayoutTest, LastCommonWordBelongsToExperimentsWithoutPlatform) {
  CopyEtdump("toy_cnn_sme2_off_t1.etdump");
  CopyEtdump("toy_cnn_sme2_on_t1.etdump");
  const RunData run = LoadRunDirectory(folder);
  EXPECT_EQ(run.model_id, "toy_cnn");
  EXPECT_THAT(ExperimentNames(run), ElementsAre("sme2_off 1", "sme2_on 1"));
}

TEST_F(ForeignLayoutTest, ReadsModelFromSummaryName) {
  CopyEtdump("net_a_one_t1.etdump");
  CopyEtdump("net_a_two_t2.etdump");
  Write("net_a_pipeline_summary.json", "{}");
  const RunData run = LoadRunDirectory(folder);
  EXPECT_EQ(run.model_id, "net_a");
  EXPECT_THAT(ExperimentNames(run), ElementsAre("one 1", "two 2"));
  EXPECT_THAT(run.pairs, IsEmpty()) << "another number of threads is another question";
}

TEST_F(ForeignLayoutTest, FindsTracesByAllNamesThatExecuTorchGivesThem) {
  CopyEtdump("phone/net.etdp");
  CopyEtdump("llm/etdump.in");
  EXPECT_THAT(ExperimentNames(LoadRunDirectory(folder)), testing::UnorderedElementsAre("net 0", "etdump 0"))
      << "the names do not have the number of threads";
}

TEST_F(ForeignLayoutTest, DoesNotPairThreeExperiments) {
  for (const char* name : {"a", "b", "c"}) CopyEtdump(std::string("net_x_") + name + "_t1.etdump");
  EXPECT_THAT(LoadRunDirectory(folder).pairs, IsEmpty());
}

TEST_F(ForeignLayoutTest, CompletesKitManifestFromFiles) {
  CopyEtdump("toy_cnn_xnnpack_fp32_slow_t2.etdump");
  CopyEtdump("toy_cnn_xnnpack_fp32_fast_t2.etdump");
  Write("toy_cnn_xnnpack_fp32_traced_t2_xnntrace.log", "ukernel");
  Write("the_config.json", R"({"analysis": {"compare_pairs": [
      {"baseline": {"experiment": "slow", "threads": 2}, "candidate": {"experiment": "fast", "threads": 2},
       "label": "what it brings"},
      {"baseline": {"experiment": "slow", "threads": 2}, "candidate": {"experiment": "gone"}}]}})");
  Write("manifest.json",
        R"({"schema_version": 1, "model": "/x/toy_cnn_xnnpack_fp32.pte", "config": "the_config.json",
      "results": [{"experiment": "fast", "threads": 2, "mode": "timing", "status": "ok"},
                  {"experiment": "slow", "threads": 2, "mode": "timing", "status": "ok"},
                  {"experiment": "traced", "threads": 2, "mode": "xnntrace", "status": "ok"}]})");
  const RunData run = LoadRunDirectory(folder);
  EXPECT_EQ(run.model_id, "toy_cnn_xnnpack_fp32");
  EXPECT_THAT(ExperimentNames(run), ElementsAre("fast 2", "slow 2", "traced 2"));
  EXPECT_FALSE(run.experiments[0].etdump.empty());
  EXPECT_TRUE(run.experiments[2].trace_enabled);
  ASSERT_THAT(run.pairs, SizeIs(1));
  EXPECT_EQ(run.pairs[0].baseline, 1u);
  EXPECT_EQ(run.pairs[0].candidate, 0u);
  EXPECT_EQ(run.pairs[0].label, "what it brings");
  ExpectGolden("measure/store/foreign_layout_problems", run.problems);
}

TEST_F(ForeignLayoutTest, UsesTimelineIfEtdumpIsMissing) {
  Write("off/net_off_t1_exec_all_runs_timeline.csv", "name\n");
  CopyEtdump("on/net_on_t1.etdump");
  Write("on/net_on_t1_exec_all_runs_timeline.csv", "name\n");
  Write("on/net_on_t1_exec_run0_timeline.csv", "name\n");
  const RunData run = LoadRunDirectory(folder);
  EXPECT_THAT(ExperimentNames(run), ElementsAre("off 1", "on 1"));
  EXPECT_EQ(run.experiments[0].etdump.extension(), ".csv");
  EXPECT_EQ(run.experiments[1].etdump.extension(), ".etdump");
}

TEST_F(ForeignLayoutTest, ReadsLatenciesFromLog) {
  CopyEtdump("net_off_t1.etdump");
  std::string log = "I 00:00:00.1 executorch:executor_runner.cpp:1] Model file is loaded.\r\n";
  const auto add_process = [&](int process_runs) {
    for (int i = 1; i <= process_runs; ++i) {
      const double ms = i == 1 ? 9.5 : 2 + 0.001 * (i % 3);
      log += "I 00:00:00.2 executorch:executor_runner.cpp:2] Iteration " + std::to_string(i) + " of " +
             std::to_string(process_runs) + ": " + std::to_string(ms) + " ms\n";
    }
  };
  add_process(20);
  add_process(10);
  Write("net_off_t1_latency.log", log);
  const RunData run = LoadRunDirectory(folder);
  ASSERT_THAT(run.experiments, SizeIs(1));
  const ExperimentData& data = run.experiments[0];
  ASSERT_THAT(data.launches, SizeIs(2)) << "a log of two processes";
  EXPECT_EQ(data.launches[0].first_run, 9'500'000);
  EXPECT_EQ(data.launches[0].warmup.size() + data.launches[0].bursts[0].recorded.size(), 19u);
  EXPECT_EQ(data.launches[0].bursts[0].recorded.back(), 2'002'000);
  EXPECT_EQ(data.launches[0].bursts[0].round, -1) << "nothing pairs it with another experiment's";
  EXPECT_TRUE(data.tracer_always_on);
}

TEST_F(ForeignLayoutTest, IgnoresLogWithoutIterations) {
  CopyEtdump("net_off_t1.etdump");
  Write("net_off_t1.log", "Iteration of nothing: x ms\nIteration 1 of 2: 3.5 s\n");
  EXPECT_THAT(LoadRunDirectory(folder).experiments[0].launches, IsEmpty());
}

TEST_F(ForeignLayoutTest, KernelLogMakesKernelLogRun) {
  CopyEtdump("net_off_t1.etdump");
  CopyEtdump("net_on_t1.etdump");
  const std::string times = "Iteration 1 of 3: 9.5 ms\nIteration 2 of 3: 2.5 ms\nIteration 3 of 3: 2.5 ms\n";
  Write("net_off_t1_latency.log", "Error (XNNPACK): every build says errors\n" + times);
  Write("net_on_t1_latency.log", times + "Note (XNNPACK): Using igemm microkernel 'x'.\n");
  const RunData run = LoadRunDirectory(folder);
  ASSERT_THAT(run.experiments, SizeIs(2));
  EXPECT_FALSE(run.experiments[0].trace_enabled);
  EXPECT_THAT(run.experiments[0].launches, SizeIs(1));
  EXPECT_TRUE(run.experiments[1].trace_enabled);
  EXPECT_EQ(run.experiments[1].xnntrace_log, run.experiments[1].log);
  EXPECT_THAT(run.experiments[1].launches, IsEmpty());
  EXPECT_THAT(run.experiments[1].Bursts(), IsEmpty());
  EXPECT_THAT(run.pairs, IsEmpty());
}

}  // namespace
}  // namespace etprof
