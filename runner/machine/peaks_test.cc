#include "machine/peaks.h"

#include <gtest/gtest.h>

#include <atomic>
#include <vector>

#include "isa_mask.h"
#include "machine/caches.h"
#include "machine/mac_kernels.h"
#include "timing/operator_clock.h"

namespace etprof::runner {
namespace {

TEST(ThreadTeam, RunsEveryMemberUntilTheWindowEnds) {
  ThreadTeam team(3);
  for (int repeat = 0; repeat < 3; ++repeat) {
    std::atomic<std::int64_t> calls[3] = {};
    const std::int64_t start = MonotonicNow();
    const double rate = team.Run(2'000'000, [&](int thread) {
      ++calls[thread];
      return std::int64_t{5};
    });
    const double elapsed_s = static_cast<double>(MonotonicNow() - start) / 1e9;
    std::int64_t total_calls = 0;
    for (const auto& count : calls) {
      EXPECT_GE(count, 1);
      total_calls += count;
    }
    EXPECT_GE(elapsed_s, 0.002);
    // The rate's window is within the time of the call.
    EXPECT_GE(rate * elapsed_s, 5.0 * static_cast<double>(total_calls) * 0.999);
    EXPECT_LE(rate * 0.002, 5.0 * static_cast<double>(total_calls) * 1.001);
  }
}

TEST(ThreadTeam, CallsOnceForAnEmptyWindow) {
  ThreadTeam team(1);
  int calls = 0;
  team.Run(0, [&](int) {
    ++calls;
    return std::int64_t{1};
  });
  EXPECT_EQ(calls, 1);
}

TEST(Peaks, HaveAtMostOneThreadPerCpu) {
  const std::vector<int> cpus = AllowedCpus();
  if (cpus.empty()) GTEST_SKIP() << "the CPUs of this process are not known";
  protocol::Peaks peaks;
  peaks.isa_state = ApplyIsaMask("");
  MeasurePeaks(10 * static_cast<int>(cpus.size()),
               {.tries = 1, .try_ns = 1'000, .warm_up_ns = 0, .chunk_ns = 1'000}, peaks);
  EXPECT_EQ(peaks.threads, static_cast<int>(cpus.size()));
}

// Checks that the timed work is the counted work, not what the machine can do. No core has more than four
// multiply units, and the clock, measured at the same place in the same way, gives the cycles.
TEST(Peaks, AreWithinTheLimitsOfACore) {
  protocol::Peaks peaks;
  peaks.isa_state = ApplyIsaMask("");
  MeasurePeaks(2, {.tries = 3, .try_ns = 1'000'000, .warm_up_ns = 1'000'000, .chunk_ns = 50'000}, peaks);
  EXPECT_EQ(peaks.threads, 2);
  EXPECT_GT(peaks.elapsed_ns, 0);
  ASSERT_GT(peaks.clock_hz, 0);
  const isa::FeatureSet enabled(peaks.isa_state.enabled.begin(), peaks.isa_state.enabled.end());
  const std::vector<MacKernel> kernels = MacKernels(enabled);
  ASSERT_EQ(peaks.compute.size(), kernels.size());
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const protocol::ComputePeak& peak = peaks.compute[i];
    EXPECT_EQ(peak.level, kernels[i].level);
    EXPECT_EQ(peak.macs.tries, 3);
    EXPECT_LE(peak.macs.worst, peak.macs.median);
    EXPECT_LE(peak.macs.median, peak.macs.best);
    const double macs_of_instruction =
        static_cast<double>(kernels[i].macs) / static_cast<double>(kernels[i].instructions);
    EXPECT_LT(peak.macs.best / macs_of_instruction / (2 * peaks.clock_hz), 16) << peak.instruction;
  }
  ASSERT_FALSE(peaks.memory.empty());
  EXPECT_EQ(peaks.memory.size() % 3, 0U);
  for (const protocol::MemoryPeak& peak : peaks.memory) {
    EXPECT_GT(peak.bytes.best, 0);
    // No core does more than four loads or stores of 64 bytes per cycle.
    EXPECT_LT(peak.bytes.best / (2 * peaks.clock_hz), 4 * 256) << peak.level << ' ' << peak.access;
  }
  EXPECT_FALSE(peaks.memory.back().capacity_bytes);
}

}  // namespace
}  // namespace etprof::runner
