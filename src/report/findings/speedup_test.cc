#include "report/findings/speedup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "report/example_run.h"
#include "report/run/pair.h"

namespace etprof {
namespace {

// The convolution has 80 million MACs and takes 4 ms in the baseline and 1 ms in the candidate: 20 and 80
// MACs per ns.
constexpr std::int64_t kMacs = 80'000'000;

protocol::ComputePeak MakeComputePeak(const char* level, const char* dtype, double macs) {
  protocol::ComputePeak peak;
  peak.level = level;
  peak.dtype = dtype;
  peak.instruction = level;
  peak.macs = {macs, 0.99 * macs, 0.9 * macs, 40};
  return peak;
}

// Both variants may use 40 MACs per ns; the candidate may also use 120 MACs per ns. Memory is never the
// limit.
Peaks MakePeaks() {
  Peaks peaks;
  for (const char* label : {"off", "on"}) {
    PeaksEntry entry;
    entry.experiments = {label};
    entry.peaks.compute = {MakeComputePeak("fma3", "fp32", 40e9)};
    protocol::MemoryPeak memory;
    memory.level = "DRAM";
    memory.access = "read";
    memory.bytes.best = 1e15;
    entry.peaks.memory = {memory};
    peaks.entries.push_back(std::move(entry));
  }
  peaks.entries[1].peaks.compute.push_back(MakeComputePeak("avx512f", "fp32", 120e9));
  return peaks;
}

struct SpeedupExample {
  RunData run = example::MakePairReport().run;
  std::vector<Profile> profiles = {example::MakeProfile("off", 4'000'000),
                                   example::MakeProfile("on", 1'000'000, "PF32")};

  SpeedupExample() {
    run.peaks = MakePeaks();
    for (Profile& profile : profiles) {
      profile.program.emplace();
      profile.program->operators.resize(profile.operators.size());
      SetWork(profile, "Convolution", {kMacs, 4000, 4000, 8000});
    }
  }

  static void SetWork(Profile& profile, const std::string& start, const Work& work) {
    for (std::size_t op = 0; op < profile.operators.size(); ++op) {
      if (profile.operators[op].name.starts_with(start)) profile.program->operators[op].work = work;
    }
  }

  std::vector<protocol::ComputePeak>& peaks_off() { return run.peaks->entries[0].peaks.compute; }
  std::vector<protocol::ComputePeak>& peaks_on() { return run.peaks->entries[1].peaks.compute; }

  Report Make() const {
    return Assemble(run, std::vector<std::optional<Profile>>(profiles.begin(), profiles.end()));
  }
};

std::optional<SpeedupFactors> FindFactors(const std::function<void(SpeedupExample&)>& change) {
  SpeedupExample example;
  change(example);
  return example.Make().comparisons[0].factors;
}
bool HasFactors(const std::function<void(SpeedupExample&)>& change) {
  return FindFactors(change).has_value();
}

// The baseline reaches 20 of 40 MACs per ns, the candidate 80 of 120: the speedup of 4x is 3x peak and 1.33x
// better use.
TEST(FactorSpeedup, IsTheProductOfPeakAndUtilizationRatios) {
  const auto factors = FindFactors([](SpeedupExample&) {});
  ASSERT_TRUE(factors.has_value());
  EXPECT_EQ(factors->dtype, "fp32");
  EXPECT_EQ(factors->operators, 1);
  EXPECT_EQ(factors->macs, kMacs);
  EXPECT_NEAR(factors->baseline_time_share, 4.002 / 5.144, 0.001);
  EXPECT_NEAR(factors->candidate_time_share, 1.002 / 2.144, 0.001);
  EXPECT_NEAR(factors->ratio.ratio(), 4, 0.02);
  EXPECT_DOUBLE_EQ(factors->PeakRatio(), 3);
  EXPECT_NEAR(factors->UtilizationRatio(), 4.0 / 3, 0.005);
  EXPECT_NEAR(factors->baseline_share_of_peak, 0.5, 0.001);
  EXPECT_NEAR(factors->candidate_share_of_peak, 2.0 / 3, 0.002);
  EXPECT_NEAR(factors->PeakRatio() * factors->UtilizationRatio(), factors->ratio.ratio(), 1e-9);
}

// If the peak grows more than the speed, it is used worse: 4x is 8x peak and half the use.
TEST(FactorSpeedup, AllowsALowerShareOfThePeak) {
  const auto factors =
      FindFactors([](SpeedupExample& e) { e.peaks_on()[1] = MakeComputePeak("avx512f", "fp32", 320e9); });
  ASSERT_TRUE(factors.has_value());
  EXPECT_DOUBLE_EQ(factors->PeakRatio(), 8);
  EXPECT_NEAR(factors->UtilizationRatio(), 0.5, 0.002);
}

TEST(FactorSpeedup, InvertsForASlowerCandidate) {
  SpeedupExample example;
  std::swap(example.run.pairs[0].baseline, example.run.pairs[0].candidate);
  const auto factors = example.Make().comparisons[0].factors;
  ASSERT_TRUE(factors.has_value());
  EXPECT_DOUBLE_EQ(factors->PeakRatio(), 1.0 / 3);
  EXPECT_NEAR(factors->ratio.ratio(), 0.25, 0.002);
}

TEST(FactorSpeedup, IsAbsentWithoutADecidedVerdict) {
  Report report = SpeedupExample().Make();
  Comparison& comparison = report.comparisons[0].comparison;
  const auto has_factors = [&] {
    return FactorSpeedup({report.run, report.experiments[0], report.experiments[1]}, comparison).has_value();
  };
  EXPECT_TRUE(has_factors());
  for (const stats::Verdict verdict : {stats::Verdict::kSame, stats::Verdict::kInconclusive,
                                       stats::Verdict::kEmulated, stats::Verdict::kSlower}) {
    comparison.latency.verdict = verdict;
    EXPECT_FALSE(has_factors()) << GetName(verdict);
  }
}

TEST(FactorSpeedup, IsAbsentIfTheTablesDisagreeWithTheHeadline) {
  Report report = SpeedupExample().Make();
  stats::RatioEstimate& headline = *report.comparisons[0].comparison.latency.estimate;
  headline.log_low += 1;
  headline.log_high += 1;
  EXPECT_FALSE(FactorSpeedup({report.run, report.experiments[0], report.experiments[1]},
                             report.comparisons[0].comparison)
                   .has_value());
}

TEST(FactorSpeedup, IsAbsentWithoutBothPeaks) {
  EXPECT_FALSE(HasFactors([](SpeedupExample& e) { e.run.peaks.reset(); }));
  EXPECT_FALSE(HasFactors([](SpeedupExample& e) { e.run.peaks->entries.pop_back(); }));
  EXPECT_FALSE(HasFactors([](SpeedupExample& e) { e.run.peaks->entries[0].experiments = {"another"}; }));
}

TEST(FactorSpeedup, IsAbsentForPeaksOfABusyMachine) {
  EXPECT_TRUE(HasFactors([](SpeedupExample& e) { e.peaks_on()[1].macs.median = 0.91 * 120e9; }));
  EXPECT_FALSE(HasFactors([](SpeedupExample& e) { e.peaks_on()[1].macs.median = 0.89 * 120e9; }));
  // The common peak was lower when the candidate's peaks were measured.
  EXPECT_TRUE(HasFactors([](SpeedupExample& e) { e.peaks_on()[0].macs.best *= 0.96; }));
  EXPECT_FALSE(HasFactors([](SpeedupExample& e) { e.peaks_on()[0].macs.best *= 0.94; }));
  // A share above the peak is impossible.
  EXPECT_FALSE(
      HasFactors([](SpeedupExample& e) { e.peaks_on()[1] = MakeComputePeak("avx512f", "fp32", 75e9); }));
}

// An extension that makes kernels faster without a higher peak.
TEST(FactorSpeedup, EqualPeaksMeanBetterUse) {
  const auto factors = FindFactors([](SpeedupExample& e) {
    e.peaks_on().pop_back();
    e.peaks_off()[0].macs = e.peaks_on()[0].macs = {100e9, 99e9, 90e9, 40};
  });
  ASSERT_TRUE(factors);
  EXPECT_TRUE(factors->HasEqualPeaks());
  EXPECT_NEAR(factors->UtilizationRatio(), factors->ratio.ratio(), 1e-9);
  EXPECT_NEAR(factors->baseline_share_of_peak, 0.2, 0.001);
  EXPECT_NEAR(factors->candidate_share_of_peak, 0.8, 0.002);
}

TEST(FactorSpeedup, IsAbsentForSharedOrOtherPeaks) {
  EXPECT_FALSE(HasFactors([](SpeedupExample& e) {
    e.peaks_off()[0].macs = {100e9, 99e9, 90e9, 40};
    e.run.peaks->entries.pop_back();
    e.run.peaks->entries[0].experiments = {"off", "on"};
  }));
  EXPECT_FALSE(HasFactors([](SpeedupExample& e) { e.peaks_on().pop_back(); }));  // above the peak
  EXPECT_FALSE(HasFactors([](SpeedupExample& e) { e.run.peaks->entries[1].peaks.threads = 2; }));
  EXPECT_FALSE(HasFactors([](SpeedupExample& e) { e.run.peaks->entries[1].peaks.cpus = "4-7"; }));
  EXPECT_FALSE(HasFactors([](SpeedupExample& e) { e.run.experiments[1].threads = 2; }));
}

// int8 peaks do not limit fp32 operators.
TEST(FactorSpeedup, IsAbsentForOtherOrMixedDataTypes) {
  EXPECT_FALSE(HasFactors([](SpeedupExample& e) {
    e.peaks_off()[0].dtype = "int8";
    for (protocol::ComputePeak& peak : e.peaks_on()) peak.dtype = "int8";
  }));
  // A tenth of the MACs in another type is too much; a fortieth is not.
  const auto with_int8 = [](std::int64_t macs) {
    return [macs](SpeedupExample& e) {
      e.peaks_off().push_back(MakeComputePeak("avx2", "int8", 400e9));
      e.peaks_on().push_back(MakeComputePeak("avx2", "int8", 400e9));
      for (Profile& profile : e.profiles) {
        for (Operator& op : profile.operators) {
          if (op.name.starts_with("Fully Connected")) op.name = "Fully Connected (NC, QS8, QC8W) GEMM #1";
        }
        SpeedupExample::SetWork(profile, "Fully Connected", {macs, 4000, 4000, 8000});
      }
    };
  };
  EXPECT_FALSE(HasFactors(with_int8(kMacs / 9)));
  const auto factors = FindFactors(with_int8(kMacs / 40));
  ASSERT_TRUE(factors.has_value());
  EXPECT_EQ(factors->operators, 1);
}

TEST(FactorSpeedup, ExcludesMemoryBoundOperators) {
  // The fully connected layer moves 1 GB: 1 us at 1e15 bytes per second, more than its MACs take.
  const auto factors = FindFactors([](SpeedupExample& e) {
    for (Profile& profile : e.profiles)
      SpeedupExample::SetWork(profile, "Fully Connected", {1000, 500'000'000, 500'000'000, 1'000'000'000});
  });
  ASSERT_TRUE(factors.has_value());
  EXPECT_EQ(factors->macs, kMacs);
}

TEST(FactorSpeedup, IsAbsentIfOtherOperatorsDominate) {
  EXPECT_FALSE(HasFactors([](SpeedupExample& e) {
    for (Profile& profile : e.profiles) {
      SpeedupExample::SetWork(profile, "Convolution", {});
      SpeedupExample::SetWork(profile, "Fully Connected", {kMacs / 8, 4000, 4000, 8000});
    }
  }));
}

TEST(FactorSpeedup, IsAbsentIfTheWorkDiffers) {
  EXPECT_FALSE(HasFactors([](SpeedupExample& e) {
    SpeedupExample::SetWork(e.profiles[1], "Convolution", {kMacs / 2, 4000, 4000, 8000});
  }));
  EXPECT_FALSE(HasFactors([](SpeedupExample& e) { e.profiles[1].program.reset(); }));
}

}  // namespace
}  // namespace etprof
