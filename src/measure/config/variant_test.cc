#include "measure/config/variant.h"

#include <gmock/gmock.h>

#include "core/error.h"
#include "core/golden_testing.h"

namespace etprof {
namespace {

std::string VariantError(const std::string& spec) {
  try {
    ParseVariant(spec);
  } catch (const Error& error) {
    return error.Message();
  }
  return "no error";
}

ExperimentConfig MakeBaseExperiment() {
  ExperimentConfig experiment;
  experiment.model = "/m/toy_xnnpack_fp32.pte";
  experiment.runner = "/b/etprof-runner";
  return experiment;
}

TEST(Variant, ResolvesMissingPathsInTheGivenFolder) {
  const Variant variant = ParseVariant("model=no/such.pte,runner=/b/r,executorch=x.whl", "/some/where");
  EXPECT_EQ(variant.model, "/some/where/no/such.pte");
  EXPECT_EQ(variant.runner, "/b/r");
  EXPECT_EQ(variant.executorch, "/some/where/x.whl");
  EXPECT_EQ(ParseVariant("model=no/such.pte").model, std::filesystem::current_path() / "no/such.pte");
}

TEST(Variant, SplitsAtCommasOnlyBeforeKeys) {
  const Variant variant = ParseVariant("isa=-avx2,-fma,threads=2,cpus=0,1,label=a, b");
  EXPECT_EQ(variant.isa, "-avx2,-fma");
  EXPECT_EQ(variant.threads, 2);
  EXPECT_EQ(variant.cpus, "0,1");
  EXPECT_EQ(variant.label, "a, b");
  EXPECT_EQ(ParseVariant("isa==avx2,fma").isa, "=avx2,fma");
  EXPECT_EQ(ParseVariant("model=/a/b,c.pte").model, "/a/b,c.pte");
  const Variant env = ParseVariant("env=ETPROF_XNNPACK_OPTIONS=weight_cache_enabled=1,threads=2");
  EXPECT_EQ(*env.env,
            std::pair(std::string("ETPROF_XNNPACK_OPTIONS"), std::string("weight_cache_enabled=1")));
  EXPECT_EQ(env.threads, 2);
  EXPECT_EQ(ParseVariant("env=A_B=").env->second, "");
}

TEST(Variant, ReportsProblems) {
  ExpectGoldenMessages("measure/config/variant_problems", VariantError,
                       {"thread=2", "threads=0", "threads=2x", "env=A", "env=A B=1", "cpus=x",
                        "isa=", "-avx2", "", "label=x", "threads=1,threads=2"});
}

TEST(Variant, LabelsNameTheDifference) {
  const auto labels = [](const char* spec) {
    const VariantLabels variant_labels = MakeVariantLabels(ParseVariant(spec), MakeBaseExperiment());
    return variant_labels.variant + " | " + variant_labels.base;
  };
  EXPECT_EQ(labels("isa=-avx512"), "avx512 off | avx512 on");
  EXPECT_EQ(labels("isa=-sme,-sme2"), "sme2 off | sme2 on");
  EXPECT_EQ(labels("isa==avx2"), "isa =avx2 | default isa");
  EXPECT_EQ(labels("threads=4"), "4 threads | 1 thread");
  EXPECT_EQ(labels("isa=-avx2,threads=4"), "avx2 off, 4 threads | avx2 on, 1 thread");
  EXPECT_EQ(labels("cpus=0"), "cpus 0 | any cpu");
  EXPECT_EQ(labels("env=A=b"), "A=b | no A");
  EXPECT_EQ(labels("runner=/c/etprof-runner"), "c/etprof-runner | b/etprof-runner");
  EXPECT_EQ(labels("model=/m/other.pte"), "other | toy_xnnpack_fp32");
  EXPECT_EQ(labels("model=/n/toy_xnnpack_fp32.pte"), "other toy_xnnpack_fp32 | toy_xnnpack_fp32");
}

TEST(Variant, MaskedVariantsAreBaselines) {
  const Config masked = MakeProfileConfig(MakeBaseExperiment(), {ParseVariant("isa=-avx512")});
  ASSERT_EQ(masked.experiments.size(), 2u);
  EXPECT_EQ(masked.experiments[0].name, "avx512_off");
  EXPECT_EQ(masked.experiments[0].isa, "-avx512");
  EXPECT_EQ(masked.experiments[1].name, "avx512_on");
  const Plan plan = MakePlan(masked);
  ASSERT_EQ(plan.pairs.size(), 1u);
  EXPECT_EQ(plan.pairs[0].baseline, 0u);
  EXPECT_EQ(plan.pairs[0].candidate_label, "avx512 on");

  const Plan threads = MakePlan(MakeProfileConfig(MakeBaseExperiment(), {ParseVariant("threads=2")}));
  EXPECT_EQ(threads.pairs[0].baseline_label, "1 thread");
  EXPECT_EQ(threads.pairs[0].candidate_label, "2 threads");
}

TEST(Variant, SeveralVariantsAndThreads) {
  ExperimentConfig base = MakeBaseExperiment();
  base.threads = {1, 2};
  const Config config = MakeProfileConfig(base, {ParseVariant("isa=-avx512"), ParseVariant("isa=-avx2")});
  const Plan plan = MakePlan(config);
  EXPECT_EQ(plan.units.size(), 6u);
  ASSERT_EQ(plan.pairs.size(), 4u);
  EXPECT_EQ(plan.pairs[3].baseline_label, "avx2 off, 2 threads");
  EXPECT_EQ(plan.pairs[3].candidate_label, "all features, 2 threads");
  EXPECT_EQ(config.experiments[0].label, "all features");
  EXPECT_EQ(
      MakeProfileConfig(base, {ParseVariant("isa=-avx512"), ParseVariant("cpus=0")}).experiments[0].label,
      "default");
  // A base experiment with a mask does not have all features.
  base.isa = "-sse4_1";
  EXPECT_EQ(
      MakeProfileConfig(base, {ParseVariant("isa=-avx512"), ParseVariant("isa=-avx2")}).experiments[0].label,
      "default");
}

TEST(Variant, LabelsModelsByTheirDifference) {
  ExperimentConfig base = MakeBaseExperiment();
  base.model = "/m/tv_resnet18_xnnpack_fp32.pte";
  const Config config = MakeProfileConfig(base, {ParseVariant("model=/m/tv_resnet18_xnnpack_fp16.pte"),
                                                 ParseVariant("model=/m/tv_resnet18_xnnpack_int8.pte")});
  std::vector<std::string> names;
  for (const ExperimentConfig& experiment : config.experiments)
    names.insert(names.end(), {experiment.label, experiment.name});
  EXPECT_THAT(names, testing::ElementsAre("fp32", "fp32", "fp16", "fp16", "int8", "int8"));
  EXPECT_EQ(config.pairs[1].baseline.label, "fp32");
  EXPECT_EQ(config.pairs[1].candidate.label, "int8");
  const Config mixed = MakeProfileConfig(
      base, {ParseVariant("model=/m/tv_resnet18_xnnpack_int8.pte"), ParseVariant("threads=2"),
             ParseVariant("threads=2,model=/m/tv_resnet18_xnnpack_int8.pte")});
  EXPECT_EQ(mixed.experiments[0].label, "fp32");
  EXPECT_EQ(mixed.experiments[3].label, "2 threads, int8");
}

TEST(Variant, MeasuresTheModelAloneWithoutVariants) {
  const Config config = MakeProfileConfig(MakeBaseExperiment(), {});
  ASSERT_EQ(config.experiments.size(), 1u);
  EXPECT_EQ(config.experiments[0].name, "as_is");
  EXPECT_TRUE(MakePlan(config).pairs.empty());
}

}  // namespace
}  // namespace etprof
