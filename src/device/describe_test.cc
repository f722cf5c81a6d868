#include "device/describe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace etprof {
namespace {

TEST(Describe, KeepsFeaturesThatSelectKernels) {
  EXPECT_THAT(NotableFeatures(isa::FeatureSet{"sse4_1", "avx", "avx2", "gfni", "avx512f"}),
              testing::ElementsAre("avx512f", "gfni", "avx2", "avx"));
}

}  // namespace
}  // namespace etprof
