#include "machine/memory_kernels.h"

#include <gtest/gtest.h>

#include <vector>

#include "isa_mask.h"

namespace etprof::runner {
namespace {

struct alignas(64) Line {
  std::uint64_t words[8];
};

// A kernel for every vector width that this CPU has.
std::vector<MemoryKernel> HostKernels() {
  const protocol::IsaState state = ApplyIsaMask("");
  isa::FeatureSet features(state.detected.begin(), state.detected.end());
  std::vector<MemoryKernel> kernels = {WidestMemoryKernel(features)};
  if (features.erase("avx512f") != 0) kernels.push_back(WidestMemoryKernel(features));
  kernels.push_back(WidestMemoryKernel({}));
  return kernels;
}

constexpr std::int64_t kBytes = 3 * kMemoryStep;
constexpr std::size_t kWords = kBytes / 8;

TEST(MemoryKernels, ReadEveryWordOncePerPass) {
  for (const MemoryKernel& kernel : HostKernels()) {
    std::vector<Line> lines(kBytes / 64 + 1);
    std::uint64_t* const words = lines[0].words;
    std::uint64_t expected = 0, value = 1;
    for (std::size_t i = 0; i < kWords; ++i) {
      value = value * 6364136223846793005U + 1442695040888963407U;
      expected ^= words[i] = value;
    }
    words[kWords] = 77;  // after the end of the memory
    EXPECT_EQ(kernel.read(words, kBytes, 1), expected) << kernel.level;
    EXPECT_EQ(kernel.read(words, kBytes, 2), 0U) << kernel.level;
    EXPECT_EQ(kernel.read(words, kBytes, 5), expected) << kernel.level;
    for (std::size_t i = 0; i < kWords; ++i) {  // no word is skipped
      words[i] ^= 1;
      EXPECT_EQ(kernel.read(words, kBytes, 1), expected ^ 1) << kernel.level << " word " << i;
      words[i] ^= 1;
    }
  }
}

TEST(MemoryKernels, WriteAndCopyExactlyTheGivenBytes) {
  for (const MemoryKernel& kernel : HostKernels()) {
    std::vector<Line> to(kBytes / 64 + 1, Line{{1, 2, 3, 4, 5, 6, 7, 8}}), from = to;
    kernel.write(to[0].words, kBytes, 2, 0xabcdef);
    for (std::size_t i = 0; i < kWords; ++i) ASSERT_EQ(to[i / 8].words[i % 8], 0xabcdefU) << kernel.level;
    EXPECT_EQ(to.back().words[0], 1U);
    for (std::size_t i = 0; i < kWords; ++i) from[i / 8].words[i % 8] = i;
    kernel.copy(to[0].words, from[0].words, kBytes, 2);
    for (std::size_t i = 0; i < kWords; ++i) ASSERT_EQ(to[i / 8].words[i % 8], i) << kernel.level;
    EXPECT_EQ(to.back().words[0], 1U);
  }
}

}  // namespace
}  // namespace etprof::runner
