#include "measure/config/config.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/file/file.h"
#include "core/golden_testing.h"

namespace etprof {
namespace {

using testing::ElementsAre;

Config Parse(const std::string& text) {
  return ParseConfig(text, "/some/where/my.json", {.default_runner = "/bin/etprof-runner"});
}
std::string ParseError(const std::string& text) {
  try {
    MakePlan(Parse(text));
  } catch (const Error& error) {
    EXPECT_EQ(error.Message().find('\n'), std::string::npos);
    return error.Message();
  }
  return "no error";
}

TEST(Config, ReadsTheKitsKeys) {
  const Config config = Parse(R"({
    // Like the kit's templates; comments are allowed.
    "model": "/m/toy_cnn_xnnpack_fp16.pte",
    "output_root": "out_toy_cnn/runs/mac",
    "experiments": [
      {"name": "mac_sme2_on", "runner_path": "/r/executor_runner", "mode": "timing", "runs": 100, "warmup": 10,
       "threads": [1, 2], "extra_args": ["--x"], "cpu_affinity": "0x80"},
      {"name": "mac_sme2_off", "runner_path": "/r/other", "num_runs": 20, "num_threads": 1}
    ],
    "analysis": {"compare_pairs": [
      {"baseline": {"experiment": "mac_sme2_off", "threads": 1}, "candidate": {"experiment": "mac_sme2_on", "threads": 1},
       "label": "sme2"}]}
  })");
  ASSERT_EQ(config.experiments.size(), 2u);
  EXPECT_EQ(config.experiments[0].runner, "/r/executor_runner");
  EXPECT_THAT(config.experiments[0].threads, ElementsAre(1, 2));
  EXPECT_EQ(config.experiments[0].warmup, 10);
  EXPECT_EQ(config.experiments[0].cpu_affinity, "0x80");
  EXPECT_EQ(config.experiments[1].runs, 20);
  EXPECT_FALSE(config.experiments[1].warmup.has_value());
  const Plan plan = MakePlan(config);
  ASSERT_EQ(plan.units.size(), 3u);
  EXPECT_EQ(plan.units[0].stem, "mac_sme2_on/toy_cnn_xnnpack_fp16_mac_sme2_on_t1");
  EXPECT_EQ(plan.units[1].label, "mac_sme2_on, 2 threads");
  ASSERT_EQ(plan.pairs.size(), 1u);
  EXPECT_EQ(plan.pairs[0].baseline, 2u);
  EXPECT_EQ(plan.pairs[0].candidate, 0u);
}

TEST(Config, PairsWithTheFirstExperimentByDefault) {
  const Plan plan = MakePlan(Parse(R"({"model": "/m/a.pte", "threads": [1, 2], "experiments": [
    {"name": "a"}, {"name": "b"}, {"name": "c", "threads": 2}, {"name": "t", "mode": "xnntrace"}]})"));
  std::vector<std::pair<std::size_t, std::size_t>> pairs;
  for (const ComparePair& pair : plan.pairs) pairs.emplace_back(pair.baseline, pair.candidate);
  EXPECT_THAT(pairs, ElementsAre(std::pair(0, 2), std::pair(1, 3), std::pair(1, 4)));
}

TEST(Config, RefusesInvalidExperimentNames) {
  const auto name_error = [](const std::string& name) {
    return ParseError(fmt::format(R"({{"model": "/m/a.pte", "experiments": [{{"name": "{}"}}]}})", name));
  };
  // Names of etprof's own files, and names that no folder can have.
  ExpectGoldenMessages("measure/config/config_experiment_names", name_error,
                       {"manifest.json", "config.json", "Report.MD", "previous", "launches", "a.csv", "x.tmp",
                        ".lock", "", "..", "a/b", ".a", "-x", "a b", "a\\n"});
  EXPECT_EQ(name_error("json"), "no error");
}

TEST(Config, RefusesNamesThatMakeFileNamesTooLong) {
  const auto error = [](std::size_t model, std::size_t a, std::size_t b) {
    return ParseError(
        fmt::format(R"({{"model": "/m/{}.pte", "experiments": [{{"name": "{}"}}, {{"name": "{}"}}]}})",
                    std::string(model, 'm'), std::string(a, 'a'), std::string(b, 'b')));
  };
  EXPECT_EQ(error(20, 80, 80), "no error");
  ExpectGoldenMessages("measure/config/config_long_names",
                       {{"file names of the comparison", error(20, 90, 90)},
                        {"file names of the experiment", error(250, 1, 1)}});
}

TEST(Config, RefusesTooLargeConfigurations) {
  std::string many = R"({"model": "/m/a.pte", "experiments": [{"name": "a"})";
  for (int i = 0; i < 1000; ++i) many += ",{}";
  std::string threads =
      R"({"model": "/m/a.pte", "experiments": [{"name": "a"}, {"name": "b"}], "threads": [1)";
  for (int i = 2; i <= 1024; ++i) threads += fmt::format(",{}", i);
  std::string pairs =
      R"({"model": "/m/a.pte", "experiments": [{"name": "a"}], "analysis": {"compare_pairs": [1)";
  for (int i = 0; i < 10'000; ++i) pairs += ",1";
  ExpectGoldenMessages("measure/config/config_limits",
                       {{"5 MiB", ParseError(std::string(std::size_t{5} << 20U, '\n'))},
                        {"1001 experiments", ParseError(many + "]}")},
                        {"2 times 1024 numbers of threads", ParseError(threads + "]}")},
                        {"10001 pairs", ParseError(pairs + "]}}")}});
}

TEST(Config, ComparesThreadsOfOneExperiment) {
  const Plan plan =
      MakePlan(Parse(R"({"model": "/m/a.pte", "experiments": [{"name": "a", "threads": [1, 2]}]})"));
  ASSERT_EQ(plan.pairs.size(), 1u);
  EXPECT_EQ(plan.pairs[0].candidate_label, "a, 2 threads");
}

TEST(Config, ReportsInvalidConfigurationsInOneLine) {
  ExpectGoldenMessages(
      "measure/config/config_files", ParseError,
      {"", "[]", "<html>", "{\n\"a\": }", R"({"margin": 1e999})", R"({"experiments": [{"name": "a"}]})",
       R"({"model": "", "experiments": [{"name": "a"}]})", R"({"model": "/m/a.pte", "experiments": []})",
       R"({"model": "/m/a\nb.pte", "experiments": [{"name": "a"}]})",
       R"({"model": "/m/a.pte", "experiments": [{"name": "a"}, {"name": "a"}]})",
       R"({"model": "/m/a.pte", "experiments": [{"name": "a"}], "zzzzzzzz": 1})",
       R"({"model": "/m/a.pte", "experiments": [{"name": "a", "runs": 1, "runs": 2}]})",
       R"({"model": "/m/a.pte", "experiments": [{"name": "a"}], "power_mode": "turbo"})",
       R"({"model": "/m/a.pte", "experiments": [{"name": "a"}], "max_temp": "hot"})",
       R"({"model": "/m/a.pte", "experiments": [{"name": "a"}], "max_temp": 1000})",
       "{\"model\": \"/m/a.pte\",\n \"experiments\": [\n  {\"name\": \"a\", \"runer_path\": \"/r\"}]}",
       R"({"model": "/m/a.pte", "experiments": [{"name": "abc"}], )"
       R"("analysis": {"compare_pairs": [{"baseline": "abd", "candidate": "abc"}]}})",
       R"({"model": "/m/a.pte", "experiments": [{"name": "a"}], )"
       R"("analysis": {"compare_pairs": [{"baseline": "a", "candidate": {"experiment": "a", "threads": 1}}]}})"});
}

TEST(Config, ReportsInvalidExperimentsInOneLine) {
  const auto experiment = [](const std::string& keys) {
    return ParseError(R"({"model": "/m/a.pte", "experiments": [{"name": "a", )" + keys + "}]}");
  };
  ExpectGoldenMessages(
      "measure/config/config_experiments", experiment,
      {R"("runs": 0)", R"("runs": "many")", R"("runs": 1e300)", R"("threads": [])", R"("threads": [1, 1.0])",
       R"("num_threads": [])", R"("inputs": [])", R"("inputs": "random:x")", R"("inputs": "random:-1")",
       R"("cpu_affinity": [])", R"("cpu_affinity": "x")", R"("mode": "trace")", R"("env": [])",
       R"("env": {"A": "x\u0000y"})", R"("device": "pi5")", R"("device": [])",
       R"("device": ["local", "local"])", R"("device": 1)"});
  EXPECT_EQ(experiment(R"("threads": [1, 2], "inputs": ["a", "a"])"), "no error");
  const auto variable = [&](const std::string& name) {
    return experiment(fmt::format(R"("env": {{"{}": "x"}})", name));
  };
  ExpectGoldenMessages("measure/config/config_variable_names", variable,
                       {"", "A=B", "A; touch x", "$(x)", "1A", "A B", "ä", "A\\nB", "A\\u0000"});
}

TEST(Config, IgnoresNotesAndDescriptions) {
  EXPECT_EQ(
      ParseError(R"({"model": "/m/a.pte", "experiments": [{"name": "a"}], "_note": 1, "description": "x"})"),
      "no error");
}

TEST(Config, ReadsDeviceConditions) {
  const Config config = Parse(R"({"model": "/m/a.pte", "experiments": [{"name": "a"}],
    "power_mode": "app-developer", "max_temp": 41.5})");
  EXPECT_EQ(config.power_mode, "app-developer");
  EXPECT_EQ(config.max_temp, 41.5);
  EXPECT_EQ(config.max_temp_wait, 300);
  EXPECT_EQ(Parse(ToJson(config).dump()).max_temp, 41.5);
  EXPECT_EQ(Parse(ToJson(config).dump()).power_mode, "app-developer");
}

TEST(Config, ReadsCommandsAsTextsAndLists) {
  const Config config = Parse(R"({"model": "/m/a.pte", "experiments": [
    {"name": "a", "exec_wrapper": "qemu-aarch64 -cpu 'max,x=1'", "isa": ["-sme", "-sme2"], "cpu_affinity": [0, 1, 3],
     "inputs": "random:7", "env": {"A": "b", "N": 1}}]})");
  EXPECT_THAT(config.experiments[0].exec_wrapper, ElementsAre("qemu-aarch64", "-cpu", "max,x=1"));
  EXPECT_EQ(config.experiments[0].isa, "-sme,-sme2");
  EXPECT_EQ(config.experiments[0].cpu_affinity, "0-1,3");
  EXPECT_EQ(config.experiments[0].inputs->seed, 7u);
  EXPECT_EQ(config.experiments[0].environment.at("N"), "1");
}

TEST(Config, ResolvesPathsLikeSuites) {
  const ExperimentConfig experiment =
      Parse(R"({"model": "no/such.pte", "runner_path": "", "load": "/l/../m.so",
    "experiments": [{"name": "a"}]})")
          .experiments[0];
  EXPECT_EQ(experiment.model, "/some/where/no/such.pte") << "in the folder of the configuration";
  EXPECT_EQ(experiment.runner,
            Parse(R"({"model": "/m/a.pte", "experiments": [{"name": "a"}]})").experiments[0].runner)
      << "not given";
  EXPECT_THAT(experiment.load, ElementsAre("/m.so"));
}

TEST(Config, KeepOnlyKeepsPairsAmongKeptExperiments) {
  Config config = Parse(R"({"model": "/m/a.pte", "experiments": [{"name": "a"}, {"name": "b"}, {"name": "c"}],
    "analysis": {"compare_pairs": [{"baseline": "a", "candidate": "b"}, {"baseline": "a", "candidate": "c"}]}})");
  KeepExperiments(config, {"a", "c"});
  EXPECT_EQ(MakePlan(config).pairs.size(), 1u);
  EXPECT_THROW(KeepExperiments(config, {"b"}), Error);
}

TEST(Config, NormalizedFormRoundTrips) {
  const Config config = Parse(R"({"model": "/m/a.pte", "output_root": "/o", "max_seconds": 5, "experiments": [
    {"name": "a", "isa": "-avx2", "label": "avx2 off", "inputs": "ones"}, {"name": "b", "threads": [1, 4]}],
    "analysis": {"compare_pairs": [{"baseline": "a", "candidate": "b", "label": "x"}]}})");
  const std::string text = ToJson(config).dump(2);
  EXPECT_EQ(ToJson(Parse(text)).dump(2), text);
}

TEST(Config, NamesFilesThatAreNotModels) {
  const std::filesystem::path path = std::filesystem::path(testing::TempDir()) /
                                     ("etprof_config_model_" + std::to_string(::getpid()) + ".pte");
  const auto model_error = [&](const std::string& contents) -> std::string {
    WriteFileAtomically(path, contents);
    Config config = Parse(R"({"model": "/x", "runner_path": "/bin/sh", "experiments": [{"name": "a"}]})");
    config.experiments[0].model = path;
    try {
      CheckFiles(config);
    } catch (const Error& error) {
      return ReplaceAll(error.Message(), path.string(), "a.pte");
    }
    return "no error";
  };
  const std::string program_text = ReadTextFile(ETPROF_TEST_DATA "/toy_cnn.pte");
  EXPECT_EQ(model_error(program_text), "no error");
  ExpectGoldenMessages("measure/config/config_models",
                       {{"empty", model_error("")},
                        {"2 bytes", model_error("\1\2")},
                        {"text", model_error("text")},
                        {"200 bytes", model_error(program_text.substr(0, 200))}});
}

TEST(Config, ReadsDevicesOfExperiments) {
  const Config config = Parse(R"({"model": "/m/a.pte", "device": "ssh:pi5", "experiments": [
      {"name": "a"}, {"name": "b", "device": ["local", "adb:R5"]}]})");
  EXPECT_THAT(config.experiments[0].devices, ElementsAre("ssh:pi5"));
  EXPECT_THAT(config.experiments[1].devices, ElementsAre("local", "adb:R5"));
  const Config reparsed = Parse(ToJson(config).dump());
  EXPECT_THAT(reparsed.experiments[0].devices, ElementsAre("ssh:pi5"));
  EXPECT_THAT(reparsed.experiments[1].devices, ElementsAre("local", "adb:R5"));
  // The device is not part of the digest.
  ExperimentConfig without_device = config.experiments[0];
  without_device.devices.clear();
  EXPECT_EQ(ExperimentDigest(without_device), ExperimentDigest(config.experiments[0]));
}

TEST(Config, RunnerMayDependOnTheDevice) {
  const std::string text = R"({"model": "/m/a.pte", "experiments": [{"name": "a"}]})";
  EXPECT_THROW(ParseConfig(text, "my.json", {}), Error);
  EXPECT_TRUE(ParseConfig(text, "my.json", {.default_runner = {}, .runner_of_device = true})
                  .experiments[0]
                  .runner.empty());
}

}  // namespace
}  // namespace etprof
