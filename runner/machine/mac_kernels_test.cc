#include "machine/mac_kernels.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "isa_mask.h"

namespace etprof::runner {
namespace {

isa::FeatureSet HostFeatures() {
  const protocol::IsaState state = ApplyIsaMask("");
  return {state.detected.begin(), state.detected.end()};
}

// Checks that every counted multiply-add was done exactly once.
TEST(MacKernels, ComputeAsManyMacsAsTheyCount) {
  for (const MacKernel& kernel : MacKernels(HostFeatures())) {
    for (const std::int64_t iterations : {1, 7, 300}) {
      EXPECT_EQ(RunAndSum(kernel, iterations), 6.0 * static_cast<double>(kernel.macs * iterations))
          << kernel.level << ' ' << kernel.instruction << ", " << iterations << " iterations";
    }
  }
}

TEST(MacKernels, RespectTheMask) {
  const isa::FeatureSet host_features = HostFeatures();
  for (const MacKernel& kernel : MacKernels({}))
    EXPECT_TRUE(kernel.level == "sse2" || kernel.level == "neon") << kernel.level;
  EXPECT_FALSE(MacKernels({}).empty());
  for (const std::string& feature : host_features) {
    isa::FeatureSet remaining = host_features;
    for (const std::string& dependent : isa::WithDependents(isa::HostArchitecture(), {feature}))
      remaining.erase(dependent);
    for (const MacKernel& kernel : MacKernels(remaining)) EXPECT_NE(kernel.level, feature);
  }
}

TEST(MacKernels, AreNamedByFeatures) {
  std::set<std::string> names;
  for (const MacKernel& kernel : MacKernels(HostFeatures())) {
    const bool known = isa::CanonicalName(isa::HostArchitecture(), kernel.level).has_value();
    EXPECT_TRUE(known || kernel.level == "sse2" || kernel.level == "neon") << kernel.level;
    EXPECT_TRUE(std::set<std::string_view>({"fp32", "fp16", "bf16", "int8"}).contains(kernel.dtype));
    EXPECT_TRUE(names.insert(std::string(kernel.level) + std::string(kernel.instruction)).second);
    EXPECT_GE(kernel.macs, kernel.instructions);
  }
}

#if defined(__x86_64__)
// Compares kernels that this CPU may lack with the definition of their instructions: lanes times products.
TEST(MacKernels, CountMacsByVectorWidth) {
  std::map<std::string, std::int64_t> macs;
  isa::FeatureSet all;
  for (const isa::Feature& feature : isa::Features(isa::Architecture::kX86_64)) all.emplace(feature.name);
  for (const MacKernel& kernel : MacKernels(all))
    macs[std::string(kernel.level) + ' ' + std::string(kernel.dtype)] = kernel.macs / kernel.instructions;
  const std::map<std::string, std::int64_t> expected = {
      {"sse2 fp32", 4},        {"avx fp32", 8},         {"fma3 fp32", 8},      {"avx512f fp32", 16},
      {"avx512fp16 fp16", 32}, {"avx512bf16 bf16", 32}, {"sse2 int8", 8},      {"ssse3 int8", 16},
      {"avx2 int8", 32},       {"avxvnni int8", 32},    {"avx512bw int8", 64}, {"avx512vnni int8", 64}};
  EXPECT_EQ(macs, expected);
}
#endif

TEST(Chain, ReturnsTheSeed) {
  EXPECT_EQ(RunChain(1, 42), 42U);
  EXPECT_EQ(RunChain(1000, 0xfedcba9876543210U), 0xfedcba9876543210U);
}

}  // namespace
}  // namespace etprof::runner
