#include "machine/caches.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

namespace etprof::runner {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class Sysfs : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  void Add(int cpu, int index, const char* type, const char* level, const char* size, const char* shared) {
    const auto cache = folder_ / ("cpu" + std::to_string(cpu)) / "cache" / ("index" + std::to_string(index));
    std::filesystem::create_directories(cache);
    std::ofstream(cache / "type") << type << '\n';
    std::ofstream(cache / "level") << level << '\n';
    std::ofstream(cache / "size") << size << '\n';
    std::ofstream(cache / "shared_cpu_list") << shared << '\n';
  }
  const std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("etprof_caches_" + std::to_string(::getpid()));
};

auto IsCacheLevel(int level, std::int64_t bytes, int cpus_per_cache) {
  return testing::AllOf(testing::Field(&CacheLevel::level, level), testing::Field(&CacheLevel::bytes, bytes),
                        testing::Field(&CacheLevel::cpus_per_cache, cpus_per_cache));
}

TEST_F(Sysfs, ReadsDataCachesSharedByTheUsedCpus) {
  for (const int cpu : {0, 1}) {
    Add(cpu, 0, "Data", "1", "32K", cpu == 0 ? "0" : "1");
    Add(cpu, 1, "Instruction", "1", "64K", cpu == 0 ? "0" : "1");
    Add(cpu, 2, "Unified", "2", "512K", cpu == 0 ? "0" : "1");
    Add(cpu, 3, "Unified", "3", "32M", "0-7,16-23");
  }
  EXPECT_THAT(ReadCaches({0, 1}, folder_), ElementsAre(IsCacheLevel(1, 32768, 1), IsCacheLevel(2, 524288, 1),
                                                       IsCacheLevel(3, 33554432, 2)));
  EXPECT_THAT(ReadCaches({0}, folder_), ElementsAre(IsCacheLevel(1, 32768, 1), IsCacheLevel(2, 524288, 1),
                                                    IsCacheLevel(3, 33554432, 1)));
}

TEST_F(Sysfs, TakesTheSmallestOfUnequalCores) {
  Add(0, 0, "Data", "1", "32K", "0");
  Add(0, 1, "Unified", "2", "128K", "0-1");
  Add(1, 0, "Data", "1", "32K", "1");
  Add(1, 1, "Unified", "2", "128K", "0-1");
  Add(2, 0, "Data", "1", "64K", "2");
  Add(2, 1, "Unified", "2", "1024K", "2");
  EXPECT_THAT(ReadCaches({0, 1, 2}, folder_),
              ElementsAre(IsCacheLevel(1, 32768, 1), IsCacheLevel(2, 131072, 2)));
  EXPECT_THAT(ReadCaches({2}, folder_), ElementsAre(IsCacheLevel(1, 65536, 1), IsCacheLevel(2, 1048576, 1)));
}

TEST_F(Sysfs, IgnoresMissingAndInvalidFiles) {
  EXPECT_THAT(ReadCaches({0}, folder_), IsEmpty());
  EXPECT_THAT(ReadCaches({}, folder_), IsEmpty());
  Add(0, 0, "Data", "one", "32K", "0");
  Add(0, 1, "Data", "1", "lots", "0");
  Add(0, 2, "Data", "1", "", "");
  EXPECT_THAT(ReadCaches({0}, folder_), IsEmpty());
}

constexpr std::int64_t kKilo = 1024, kMega = 1024 * kKilo;

auto IsWorkingSet(const char* level, std::int64_t bytes, std::optional<std::int64_t> capacity) {
  return testing::AllOf(testing::Field(&WorkingSet::level, level),
                        testing::Field(&WorkingSet::bytes_per_thread, bytes),
                        testing::Field(&WorkingSet::capacity_bytes, capacity));
}

TEST(WorkingSets, UseHalfOfEachCachesShare) {
  const std::vector<CacheLevel> zen = {{1, 32 * kKilo, 1}, {2, 512 * kKilo, 1}, {3, 32 * kMega, 2}};
  EXPECT_THAT(PlanWorkingSets(zen, 1, 0), ElementsAre(IsWorkingSet("L1", 16 * kKilo, 32 * kKilo),
                                                      IsWorkingSet("L2", 256 * kKilo, 512 * kKilo),
                                                      IsWorkingSet("L3", 16 * kMega, 32 * kMega),
                                                      IsWorkingSet("DRAM", 128 * kMega, std::nullopt)));
  EXPECT_THAT(
      PlanWorkingSets(zen, 2, 0),
      ElementsAre(IsWorkingSet("L1", 16 * kKilo, 64 * kKilo), IsWorkingSet("L2", 256 * kKilo, kMega),
                  IsWorkingSet("L3", 8 * kMega, 32 * kMega), IsWorkingSet("DRAM", 64 * kMega, std::nullopt)));
}

TEST(WorkingSets, OmitACacheThatHardlyExceedsInnerCaches) {
  const std::vector<CacheLevel> caches = {{1, 64 * kKilo, 1}, {2, 128 * kKilo, 1}, {3, 4 * kMega, 8}};
  EXPECT_THAT(PlanWorkingSets(caches, 1, 0), ElementsAre(IsWorkingSet("L1", 32 * kKilo, 64 * kKilo),
                                                         IsWorkingSet("L3", 2 * kMega, 4 * kMega),
                                                         IsWorkingSet("DRAM", 64 * kMega, std::nullopt)));
}

TEST(WorkingSets, UseLessIfLittleMemoryIsAvailable) {
  const std::vector<WorkingSet> sets = PlanWorkingSets({{1, 32 * kKilo, 1}}, 1, 80 * kMega);
  EXPECT_THAT(sets, ElementsAre(IsWorkingSet("L1", 16 * kKilo, 32 * kKilo),
                                IsWorkingSet("DRAM", 10 * kMega, std::nullopt)));
}

TEST(WorkingSets, SweepWithoutKnownCaches) {
  const std::vector<WorkingSet> sets = PlanWorkingSets({}, 4, 0);
  ASSERT_EQ(sets.size(), 8U);
  EXPECT_THAT(sets.front(), IsWorkingSet("sweep", 4 * kKilo, 16 * kKilo));
  EXPECT_THAT(sets.back(), IsWorkingSet("sweep", 64 * kMega, std::nullopt));
  EXPECT_EQ(PlanWorkingSets({}, 1, 8 * 20 * kMega).back().bytes_per_thread, 16 * kMega);
}

TEST(WorkingSets, AreMultiplesOfTheStep) {
  for (const int threads : {1, 3, 7, 64, 1000}) {
    for (const auto& caches : {std::vector<CacheLevel>{}, std::vector<CacheLevel>{{1, 48 * kKilo, 3}}}) {
      const std::vector<WorkingSet> sets = PlanWorkingSets(caches, threads, 0);
      ASSERT_FALSE(sets.empty());
      for (const WorkingSet& set : sets) {
        EXPECT_GT(set.bytes_per_thread, 0);
        EXPECT_EQ(set.bytes_per_thread % 1024, 0);
      }
      EXPECT_FALSE(sets.back().capacity_bytes);
    }
  }
}

}  // namespace
}  // namespace etprof::runner
