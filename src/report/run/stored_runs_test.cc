#include "report/run/stored_runs.h"

#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "core/golden_testing.h"

namespace etprof {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;

RunData MakeRun(const std::vector<std::string>& names) {
  RunData run;
  run.device.emplace();
  run.device->platform = "linux-aarch64";
  run.device->cpu_model = "Cortex-A720";
  run.device->cores = 8;
  run.device->cpus.resize(2);
  for (DeviceProperties::Cpu& cpu : run.device->cpus) cpu.governor = "performance";
  for (const std::string& name : names) {
    ExperimentData data;
    data.name = data.label = name;
    data.runner_sha256 = std::string(64, 'a');
    data.executorch_version = "1.5.1";
    data.method = "forward";
    data.inputs = {{"Float", {1, 3}}};
    run.experiments.push_back(std::move(data));
  }
  return run;
}

std::vector<std::string> ListMismatches(const RunData& a, const RunData& b) {
  std::vector<std::string> names;
  for (const Mismatch& mismatch : FindMismatches(a, a.experiments[0], b, b.experiments[0]))
    names.push_back(mismatch.name);
  return names;
}

TEST(FindMismatches, FindsNoMismatchInEqualRuns) {
  EXPECT_THAT(ListMismatches(MakeRun({"a"}), MakeRun({"a"})), IsEmpty());
}

TEST(FindMismatches, NamesEachMismatch) {
  const RunData baseline = MakeRun({"a"});
  const auto changed = [&](auto change) {
    RunData candidate = baseline;
    change(candidate, candidate.experiments[0]);
    return ListMismatches(baseline, candidate);
  };
  EXPECT_THAT(changed([](RunData& run, auto&) { run.device->cpu_model = "X"; }), ElementsAre("device"));
  EXPECT_THAT(changed([](RunData& run, auto&) { run.device->cores = 4; }), ElementsAre("device"));
  EXPECT_THAT(changed([](RunData&, auto& data) { data.runner_sha256[0] = 'b'; }), ElementsAre("runner"));
  EXPECT_THAT(changed([](RunData&, auto& data) { data.isa = "-sme2"; }), ElementsAre("isa"));
  EXPECT_THAT(changed([](RunData&, auto& data) { data.method = "decode"; }), ElementsAre("method"));
  EXPECT_THAT(changed([](RunData&, auto& data) { data.inputs[0].shape[0] = 2; }), ElementsAre("inputs"));
  EXPECT_THAT(changed([](RunData&, auto& data) { data.inputs.clear(); }),
              IsEmpty());  // unknown inputs do not differ
  EXPECT_THAT(changed([](RunData&, auto& data) { data.threads = 2; }), ElementsAre("threads"));
  EXPECT_THAT(changed([](RunData&, auto& data) { data.cpus = "0"; }), ElementsAre("cpus"));
  EXPECT_THAT(changed([](RunData&, auto& data) { data.period = 33'000'000; }), ElementsAre("period"));
  EXPECT_THAT(changed([](RunData& run, auto&) { run.device->cpus[1].governor = "schedutil"; }),
              ElementsAre("governor"));
  EXPECT_THAT(changed([](RunData& run, auto&) { run.device->power_mode = "on battery"; }),
              ElementsAre("power"));
  EXPECT_THAT(changed([](RunData& run, auto& data) {
                run.device.reset();
                data.runner_sha256.clear();
                data.executorch_version.clear();
                data.isa = "none";
                data.threads = 2;
                data.cpus = "0";
              }),
              ElementsAre("device", "runner", "isa", "threads", "cpus", "governor"));
}

TEST(FindMismatches, IgnoresTheModelsBackendAndDataType) {
  RunData baseline = MakeRun({"a"});
  RunData candidate = baseline;
  baseline.experiments[0].model = "before/net_xnnpack_fp32.pte";
  const auto with_model = [&](const char* model) {
    candidate.experiments[0].model = model;
    return ListMismatches(baseline, candidate);
  };
  EXPECT_THAT(with_model("after/net_xnnpack_fp32.pte"), IsEmpty());  // another export of the model
  EXPECT_THAT(with_model("after/net_xnnpack_int8.pte"), IsEmpty());
  EXPECT_THAT(with_model("net_portable_fp32.pte"), IsEmpty());
  EXPECT_THAT(with_model("net2_xnnpack_fp32.pte"), ElementsAre("model"));
  EXPECT_THAT(with_model("net.pte"), IsEmpty());
  EXPECT_THAT(with_model("my_net.pte"), ElementsAre("model"));
  EXPECT_THAT(with_model(""), IsEmpty());  // the model is not known
  candidate.model_id = "other_xnnpack_fp32";
  EXPECT_THAT(with_model(""), ElementsAre("model"));
  candidate.experiments[0].third_party_runner = true;  // model_id is a guess from the names of traces
  EXPECT_THAT(with_model(""), IsEmpty());
}

TEST(JoinStoredRuns, WarnsOfDifferentBackendsOrDataTypes) {
  RunData baseline = MakeRun({"a"});
  RunData candidate = baseline;
  baseline.experiments[0].model = "net_xnnpack_fp32.pte";
  candidate.experiments[0].model = "net_xnnpack_int8.pte";
  const auto warnings = [&](const RunData& other) {
    return fmt::to_string(fmt::join(JoinStoredRuns(baseline, other).warnings, " | "));
  };
  ExpectGoldenMessages("report/stored_runs_of_two_forms",
                       {{"two forms", warnings(candidate)}, {"one form", warnings(baseline)}});
}

TEST(FindMismatches, ComparesVersionsWithoutDigests) {
  RunData baseline = MakeRun({"a"});
  RunData candidate = MakeRun({"a"});
  candidate.experiments[0].runner_sha256.clear();
  EXPECT_THAT(ListMismatches(baseline, candidate), IsEmpty());
  candidate.experiments[0].executorch_version = "1.4.0";
  EXPECT_THAT(ListMismatches(baseline, candidate), ElementsAre("runner"));
}

TEST(FindMismatches, UnknownPropertiesAreMismatches) {
  RunData run = MakeRun({"a"});
  run.device.reset();
  run.experiments[0].runner_sha256.clear();
  run.experiments[0].executorch_version.clear();
  EXPECT_THAT(ListMismatches(run, run), ElementsAre("device", "runner"));
  const Mismatch device = FindMismatches(run, run.experiments[0], run, run.experiments[0])[0];
  EXPECT_EQ(device.baseline, "not known");
}

TEST(FindMismatches, UsesOnlyKnownNames) {
  RunData other = MakeRun({"a"});
  other.device->cpus.clear();
  other.experiments[0].isa = "x";
  for (const std::string& name : ListMismatches(MakeRun({"a"}), other))
    EXPECT_THAT(MismatchNames(), Contains(name));
}

TEST(JoinStoredRuns, PairsByNameAndThreads) {
  RunData baseline = MakeRun({"a", "b", "c"});
  RunData candidate = MakeRun({"b", "a", "c"});
  candidate.experiments[2].threads = 4;
  const RunData joined = JoinStoredRuns(baseline, candidate);
  ASSERT_EQ(joined.pairs.size(), 2U);
  EXPECT_EQ(joined.experiments[joined.pairs[0].baseline].name, "a");
  EXPECT_EQ(joined.experiments[joined.pairs[0].candidate].name, "a");
  EXPECT_EQ(joined.pairs[1].label, "b");
  ExpectGolden("report/stored_runs_of_other_threads", joined.warnings);
}

TEST(JoinStoredRuns, PairsSingleExperiments) {
  EXPECT_EQ(JoinStoredRuns(MakeRun({"base"}), MakeRun({"candidate"})).pairs.size(), 1U);
}

TEST(JoinStoredRuns, RefusesRepeatedNames) {
  EXPECT_THROW(JoinStoredRuns(MakeRun({"base", "base"}), MakeRun({"base"})), Error);
  EXPECT_THROW(JoinStoredRuns(MakeRun({"base", "other"}), MakeRun({"base", "base"})), Error);
}

TEST(JoinStoredRuns, ExcludesKernelLogRuns) {
  RunData run = MakeRun({"a", "b"});
  const RunData timed = run;
  run.experiments[1].trace_enabled = true;
  for (const RunData& baseline : {run, timed}) {
    const RunData joined = JoinStoredRuns(baseline, run);
    EXPECT_EQ(joined.pairs.size(), 1U);
    EXPECT_THAT(joined.warnings,
                testing::Contains(testing::HasSubstr("b with 1 thread is a kernel-log run")));
    EXPECT_THAT(joined.warnings, testing::Not(testing::Contains(testing::HasSubstr("only the"))));
  }
}

TEST(JoinStoredRuns, RemovesRounds) {
  RunData run = MakeRun({"a"});
  run.experiments[0].launches.emplace_back().bursts.emplace_back().round = 3;
  run.experiments[0].etdump_runs.push_back({0, 3, Phase::kSteady});
  const RunData joined = JoinStoredRuns(run, run);
  EXPECT_EQ(joined.experiments[0].launches[0].bursts[0].round, -1);
  EXPECT_EQ(joined.experiments[1].etdump_runs[0].round, -1);
}

TEST(JoinStoredRuns, RefusesRunsWithoutCommonExperiments) {
  try {
    JoinStoredRuns(MakeRun({"a", "b"}), MakeRun({"c", "d"}));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.exit_code(), ExitCode::kBadInput);
    ExpectGolden("report/stored_runs_of_other_experiments", error.Message() + "\n");
  }
}

}  // namespace
}  // namespace etprof
