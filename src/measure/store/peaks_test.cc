#include "measure/store/peaks.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/json/json_members.h"

namespace etprof {
namespace {

protocol::Rate MakeRate(double best) { return {best, best / 2, best / 4, 16}; }

Peaks MakeExamplePeaks() {
  PeaksEntry on, off;
  on.experiments = {"avx on", "the same"};
  on.peaks.threads = 2;
  on.peaks.clock_hz = 3e9;
  on.peaks.compute = {{"avx", "fp32", "vmulps, vaddps ymm", MakeRate(3e10)},
                      {"fma3", "fp32", "vfmadd231ps ymm", MakeRate(5e10)},
                      {"sse2", "fp32", "mulps, addps", MakeRate(1e10)},
                      {"avx2", "int8", "vpmaddubsw", MakeRate(9e10)}};
  // Not sorted, since BytesPerSecond must not depend on the order.
  on.peaks.memory = {{"DRAM", "read", MakeRate(1e10), 1 << 27, std::nullopt},
                     {"L2", "read", MakeRate(8e10), 1 << 18, 1 << 19},
                     {"L1", "read", MakeRate(1.6e11), 1 << 14, 1 << 15},
                     {"L1", "copy", MakeRate(1.7e11), 1 << 14, 1 << 15}};
  off.experiments = {"avx off"};
  off.peaks.isa = "-avx";
  off.peaks.compute = {{"sse2", "int8", "pmaddwd", MakeRate(2e10)}};
  off.peaks.memory = {{"DRAM", "read", MakeRate(1e10), 1 << 27, std::nullopt}};
  return {{on, off}};
}

TEST(Peaks, BestMacsPerSecondOfAType) {
  const Peaks peaks = MakeExamplePeaks();
  EXPECT_EQ(BestMacsPerSecond(peaks.entries[0], "fp32"), 5e10);
  EXPECT_EQ(BestMacsPerSecond(peaks.entries[0], "int8"), 9e10);
  EXPECT_EQ(BestMacsPerSecond(peaks.entries[0], "fp16"), std::nullopt);
  EXPECT_EQ(BestMacsPerSecond(peaks.entries[1], "fp32"), std::nullopt);
}

TEST(Peaks, BytesPerSecondOfTheInnermostLevel) {
  const PeaksEntry entry = MakeExamplePeaks().entries[0];
  EXPECT_EQ(BytesPerSecond(entry, "read", 0), 1.6e11);
  EXPECT_EQ(BytesPerSecond(entry, "read", 1 << 15), 1.6e11);
  EXPECT_EQ(BytesPerSecond(entry, "read", (1 << 15) + 1), 8e10);
  EXPECT_EQ(BytesPerSecond(entry, "read", 1 << 19), 8e10);
  EXPECT_EQ(BytesPerSecond(entry, "read", Bytes{1} << 40), 1e10);
  // If no measured level holds the working set, the outermost level counts.
  EXPECT_EQ(BytesPerSecond(entry, "copy", Bytes{1} << 40), 1.7e11);
  EXPECT_EQ(BytesPerSecond(entry, "write", 1), std::nullopt);
}

TEST(Peaks, FindsEntryByLabel) {
  const Peaks peaks = MakeExamplePeaks();
  EXPECT_EQ(FindPeaks(peaks, "the same"), &peaks.entries[0]);
  EXPECT_EQ(FindPeaks(peaks, "avx off"), &peaks.entries[1]);
  EXPECT_EQ(FindPeaks(peaks, "avx"), nullptr);
}

TEST(Peaks, RoundTripThroughJson) {
  const auto folder = std::filesystem::temp_directory_path() / ("etprof_peaks_" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  EXPECT_FALSE(LoadPeaks(folder));
  const nlohmann::json written = MakeExamplePeaks();
  std::ofstream(folder / "peaks.json") << written.dump();
  const std::optional<Peaks> read = LoadPeaks(folder);
  ASSERT_TRUE(read);
  EXPECT_EQ(nlohmann::json(*read), written);
  EXPECT_EQ(read->entries[0].experiments, MakeExamplePeaks().entries[0].experiments);
  const std::string text = written.dump();
  for (const std::string& damaged : {std::string(), std::string("[]"), text.substr(0, text.size() / 2),
                                     std::string("{\"entries\": [{}]}")}) {
    std::ofstream(folder / "peaks.json") << damaged;
    EXPECT_THROW(LoadPeaks(folder), Error) << damaged;
  }
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace etprof
