#include "report/run/roofline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "format/etdump/testing.h"

namespace etprof {
namespace {

using handmade::TraceBuilder;
using Bound = RooflineRow::Bound;

// A profile whose runs have a fully connected layer of 100 us, an add of 10 us, and a reshape of 1 us.
// `slower` scales all times of a launch.
Profile MakeRunsProfile(const std::vector<double>& slower) {
  TraceBuilder builder;
  AttributeOptions options;
  Nanoseconds at = 0;
  for (std::size_t launch = 0; launch < slower.size(); ++launch) {
    for (int run = 0; run < 5; ++run) {
      Nanoseconds now = at + 20;
      builder.Block("Execute");
      for (const auto& [name, ns] :
           {std::pair{"Fully Connected (NC, F32) GEMM #1", 100e3}, std::pair{"Add (ND) #1", 10e3},
            std::pair{"Static Reshape (NC) #1", 1e3}}) {
        const auto end = now + static_cast<Nanoseconds>(ns * slower[launch]);
        builder.Backend(0, name, now, end);
        now = end;
      }
      builder.Framework(0, "DELEGATE_CALL", at + 10, now + 10).Framework(0, "Method::execute", at, now + 20);
      options.labels.push_back({static_cast<int>(launch), run, Phase::kSteady});
      at = now + 1000;
    }
  }
  const Trace trace = builder.Take();
  Profile profile = Attribute(trace, options);
  profile.program.emplace();
  profile.program->operators.resize(profile.operators.size());
  for (std::size_t op = 0; op < profile.operators.size(); ++op) {
    Work& work = profile.program->operators[op].work;
    const std::string& name = profile.operators[op].name;
    if (name.starts_with("Fully")) work = {1'000'000, 4000, 4000, 8000};
    if (name.starts_with("Add")) work = {0, 20'000, 10'000, 30'000};
    if (name.starts_with("Static")) work = {0, 0, 0, 0};
  }
  return profile;
}

// A machine with 20 MACs per ns in fp32, 10 bytes per ns for up to 16 kB, and 5 bytes per ns beyond.
PeaksEntry MakeMachinePeaks() {
  PeaksEntry entry;
  protocol::ComputePeak fma;
  fma.level = "fma3";
  fma.dtype = "fp32";
  fma.macs.best = 20e9;
  entry.peaks.compute.push_back(fma);
  for (const auto& [capacity, rate] : {std::pair{std::optional<std::int64_t>(16'384), 10e9},
                                       std::pair{std::optional<std::int64_t>(), 5e9}}) {
    protocol::MemoryPeak peak;
    peak.level = capacity ? "L1" : "DRAM";
    peak.access = "read";
    peak.bytes.best = rate;
    peak.capacity_bytes = capacity;
    entry.peaks.memory.push_back(peak);
  }
  return entry;
}

TEST(Roofline, ExcludesOperatorsBelowTheClocksResolution) {
  const auto rows = [](const std::vector<double>& slower) {
    return MakeRoofline(MakeRunsProfile(slower), MakeMachinePeaks()).value().rows;
  };
  // The add takes 10 µs in two of five launches, and 0 in the others.
  const Profile profile = MakeRunsProfile({1, 0, 0, 1, 0});
  EXPECT_FALSE(MakeRoofline(profile, MakeMachinePeaks()).has_value());
  const std::vector<RooflineRow> unresolved_add = rows({1, 0, 1, 1, 1});
  ASSERT_EQ(unresolved_add.size(), 2U);
  EXPECT_EQ(unresolved_add[0].time.ns, 100e3);
  EXPECT_FALSE(unresolved_add[0].time.low.has_value());
}

TEST(Roofline, FindsTheRoofOfEachOperator) {
  const Profile profile = MakeRunsProfile({1, 1, 1});
  const auto roofline = MakeRoofline(profile, MakeMachinePeaks());
  ASSERT_TRUE(roofline.has_value());
  ASSERT_EQ(roofline->rows.size(), 2U);  // a reshape has no ceiling
  // Compute ceilings of used data types only, then memory from the innermost level.
  ASSERT_EQ(roofline->ceilings.size(), 3U);
  EXPECT_EQ(roofline->ceilings[0].kind, RooflineCeiling::Kind::kCompute);
  EXPECT_EQ(roofline->ceilings[0].name, "fp32");
  EXPECT_EQ(roofline->ceilings[0].per_second, 20e9);
  EXPECT_EQ(roofline->ceilings[1].name, "L1");
  EXPECT_EQ(roofline->ceilings[1].per_second, 10e9);
  EXPECT_EQ(roofline->ceilings[2].name, "DRAM");
  const RooflineRow& layer = roofline->rows[0];
  EXPECT_EQ(profile.operators[layer.op].name, "Fully Connected (NC, F32) GEMM #1");
  EXPECT_EQ(layer.bound, Bound::kCompute);
  EXPECT_NEAR(layer.ceiling_ns, 50e3, 1e-6);  // 1e6 MACs at 20 per ns; 8000 bytes take only 0.8 us
  EXPECT_NEAR(layer.share(), 0.5, 1e-9);
  EXPECT_NEAR(layer.macs_per_s(), 10e9, 1);
  const RooflineRow& add = roofline->rows[1];
  EXPECT_EQ(add.bound, Bound::kMemory);
  EXPECT_NEAR(add.ceiling_ns, 6e3, 1e-6);  // 30 kB do not fit into L1: 5 bytes per ns
  EXPECT_NEAR(add.share(), 0.6, 1e-9);
  EXPECT_NEAR(roofline->covered_ns, 110e3, 1e-6);
  EXPECT_NEAR(roofline->ceiling_ns, 56e3, 1e-6);
  EXPECT_NEAR(roofline->not_covered_ns, 1e3, 1e-6);
}

TEST(Roofline, ComputesTheIntervalOverLaunches) {
  const auto steady = MakeRoofline(MakeRunsProfile({1, 1, 1, 1}), MakeMachinePeaks());
  EXPECT_NEAR(*steady->rows[0].time.high - *steady->rows[0].time.low, 0, 1e-6);
  const auto spread = MakeRoofline(MakeRunsProfile({1, 1.1, 0.9, 1}), MakeMachinePeaks());
  const OperatorTime& time = spread->rows[0].time;
  EXPECT_LT(*time.low, 95e3);
  EXPECT_GT(*time.high, 105e3);
  // The geometric mean of the launches' medians.
  EXPECT_NEAR(time.ns, 100e3 * std::pow(1.1 * 0.9, 0.25), 1);
  EXPECT_FALSE(MakeRoofline(MakeRunsProfile({1}), MakeMachinePeaks())->rows[0].time.low.has_value());
}

TEST(Roofline, UnknownWorkHasNoRow) {
  Profile profile = MakeRunsProfile({1, 1});
  for (OperatorSource& source : profile.program->operators) source.work.bytes.reset();
  EXPECT_FALSE(MakeRoofline(profile, MakeMachinePeaks()).has_value());
  profile.program.reset();
  EXPECT_FALSE(MakeRoofline(profile, MakeMachinePeaks()).has_value());
  PeaksEntry no_ceilings;
  EXPECT_FALSE(MakeRoofline(MakeRunsProfile({1, 1}), no_ceilings).has_value());
}

TEST(Roofline, FindsTheDataTypeOfTheOperands) {
  const auto type = [](const std::string& name) {
    Operator op;
    op.name = name;
    return ComputeType(op, {});
  };
  EXPECT_EQ(type("Fully Connected (NC, F32) GEMM #1"), "fp32");
  EXPECT_EQ(type("Convolution (NHWC, PF32) IGEMM #2"), "fp32");
  EXPECT_EQ(type("Convolution (NHWC, PF16) IGEMM #2"), "fp16");
  EXPECT_EQ(type("Fully Connected (NC, F32, QC8W) GEMM #1"), "fp32");
  EXPECT_EQ(type("Fully Connected (NC, QD8, F32, QC4W) GEMM #1"), "int8");
  EXPECT_EQ(type("Convolution (NHWC, PQS8, QS8, QC8W) IGEMM #1"), "int8");
  EXPECT_EQ(type("Fully Connected (NC, BF16, F32) GEMM #1"), "bf16");
  EXPECT_EQ(type("native_call_addmm.out"), "fp32");
}

// The name of a portable kernel has no type, but its output does.
TEST(Roofline, PortableKernelsUseTheTypeOfTheOutput) {
  const auto type = [](const std::string& output_type, const std::string& name = "native_call_addmm.out") {
    Operator op;
    op.name = name;
    OperatorTensors tensors;
    tensors.outputs.push_back({{output_type, {}}, {}, false});
    return ComputeType(op, tensors);
  };
  EXPECT_EQ(type("float32"), "fp32");
  EXPECT_EQ(type("float16"), "fp16");
  EXPECT_EQ(type("bfloat16"), "bf16");
  EXPECT_EQ(type("qint8"), "int8");
  EXPECT_EQ(type("float64"), "other");
  EXPECT_EQ(type("int64"), "other");
  EXPECT_EQ(type("fp16", "Add (ND) #1"), "fp16");
  // The output of an int8 operator may be fp32.
  EXPECT_EQ(type("fp32", "Fully Connected (NC, QD8, F32, QC4W) GEMM #1"), "int8");

  // MACs in a type without a ceiling have no row; the add, which has no MACs, keeps its row.
  Profile profile = MakeRunsProfile({1, 1});
  for (std::size_t op = 0; op < profile.operators.size(); ++op) {
    std::string& name = profile.operators[op].name;
    if (name.starts_with("Fully")) name = "native_call_addmm.out";
    profile.program->operators[op].tensors.outputs.push_back({{"float64", {}}, {}, false});
  }
  const auto roofline = MakeRoofline(profile, MakeMachinePeaks());
  ASSERT_TRUE(roofline.has_value());
  ASSERT_EQ(roofline->rows.size(), 1U);
  EXPECT_EQ(roofline->rows[0].dtype, "other");
  EXPECT_EQ(roofline->rows[0].macs, 0);
}

}  // namespace
}  // namespace etprof
