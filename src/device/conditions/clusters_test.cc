#include "device/conditions/clusters.h"

#include <gmock/gmock.h>

#include "core/error.h"

namespace etprof {
namespace {

using testing::ElementsAre;

DeviceProperties::Cpu MakeCpu(int id, std::optional<std::int64_t> capacity, std::optional<std::int64_t> khz,
                              const std::string& model = "") {
  DeviceProperties::Cpu cpu;
  cpu.id = id;
  cpu.capacity = capacity;
  cpu.hardware_max_khz = khz;
  cpu.model = model;
  return cpu;
}

DeviceProperties MakeProperties(const std::vector<DeviceProperties::Cpu>& cpus) {
  DeviceProperties properties;
  properties.cpus = cpus;
  return properties;
}

std::vector<std::string> ClusterNames(const std::vector<CpuCluster>& clusters) {
  std::vector<std::string> names;
  for (const CpuCluster& cluster : clusters) names.push_back(cluster.name);
  return names;
}

TEST(Clusters, GroupsThreeClustersOfAPhone) {
  const std::vector<CpuCluster> clusters = FindCpuClusters(
      MakeProperties({MakeCpu(0, 1024, 3250000, "Cortex-X4"), MakeCpu(1, 720, 2600000, "Cortex-A720"),
                      MakeCpu(2, 280, 1950000, "Cortex-A520"), MakeCpu(3, 280, 1950000, "Cortex-A520"),
                      MakeCpu(4, 720, 2600000, "Cortex-A720"), MakeCpu(5, 280, 1950000, "Cortex-A520")}));
  ASSERT_EQ(clusters.size(), 3U);
  EXPECT_EQ(clusters[0].cpus, (std::vector<int>{2, 3, 5}));
  EXPECT_EQ(clusters[0].capacity, 280);
  EXPECT_EQ(clusters[1].cpus, (std::vector<int>{1, 4}));
  EXPECT_EQ(clusters[2].cpus, (std::vector<int>{0}));
  EXPECT_EQ(ClusterText(clusters[0]), "3 x Cortex-A520 1.95 GHz (little)");
  EXPECT_EQ(ClusterText(clusters[1]), "2 x Cortex-A720 2.60 GHz (mid)");
  EXPECT_EQ(ClusterText(clusters[2]), "1 x Cortex-X4 3.25 GHz (big)");
}

TEST(ResolveCpus, AcceptsNumbersMasksAndClusters) {
  const DeviceProperties phone = MakeProperties({MakeCpu(0, 1024, 3250000), MakeCpu(1, 720, 2600000),
                                                 MakeCpu(2, 280, 1950000), MakeCpu(3, 280, 1950000)});
  EXPECT_THAT(ResolveCpus("little", phone), ElementsAre(2, 3));
  EXPECT_THAT(ResolveCpus("big,mid", phone), ElementsAre(0, 1));
  EXPECT_THAT(ResolveCpus("big,big", phone), ElementsAre(0));
  EXPECT_THAT(ResolveCpus("all", phone), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(ResolveCpus("1-2", phone), ElementsAre(1, 2));
  EXPECT_THAT(ResolveCpus("0xc", phone), ElementsAre(2, 3));
  for (const char* text : {"mid1", "big,mid7"}) EXPECT_THROW(ResolveCpus(text, phone), Error) << text;
  EXPECT_THROW(ResolveCpus("big", MakeProperties({MakeCpu(0, {}, {})})), Error);
  EXPECT_THROW(ResolveCpus("all", MakeProperties({})), Error);
}

TEST(ResolveCpus, ChecksNamesWithoutADevice) {
  for (const char* text : {"big", "mid3", "little,big", "0-3", "f0"})
    EXPECT_NO_THROW(CheckCpus(text)) << text;
  for (const char* text : {"", "biggest", "big,", "big,0", "middle", "3-1"})
    EXPECT_THROW(CheckCpus(text), Error) << text;
}

TEST(Clusters, SortsByCapacityBeforeFrequency) {
  // A small core may have the higher maximum frequency.
  const std::vector<CpuCluster> clusters =
      FindCpuClusters(MakeProperties({MakeCpu(0, 1024, 2000000), MakeCpu(1, 400, 2200000)}));
  EXPECT_THAT(ClusterNames(clusters), ElementsAre("little", "big"));
  EXPECT_THAT(clusters[0].cpus, ElementsAre(1));
}

TEST(Clusters, SortsByFrequencyIfACapacityIsMissing) {
  const std::vector<CpuCluster> clusters = FindCpuClusters(
      MakeProperties({MakeCpu(0, {}, 3000000), MakeCpu(1, 1024, 1800000), MakeCpu(2, {}, 3000000)}));
  EXPECT_THAT(ClusterNames(clusters), ElementsAre("little", "big"));
  EXPECT_THAT(clusters[1].cpus, ElementsAre(0, 2));
  EXPECT_FALSE(clusters[0].capacity.has_value());
  EXPECT_EQ(ClusterText(clusters[1]), "2 x 3.00 GHz (big)");
}

TEST(Clusters, NamesASingleClusterAll) {
  const std::vector<CpuCluster> equal_frequencies =
      FindCpuClusters(MakeProperties({MakeCpu(0, {}, 2400000), MakeCpu(1, {}, 2400000)}));
  EXPECT_THAT(ClusterNames(equal_frequencies), ElementsAre("all"));
  EXPECT_EQ(ClusterText(equal_frequencies[0]), "2 x 2.40 GHz");
  // Most virtual machines report no frequency, or not for all CPUs.
  const std::vector<CpuCluster> missing_frequency =
      FindCpuClusters(MakeProperties({MakeCpu(0, {}, {}), MakeCpu(1, {}, 2400000)}));
  EXPECT_THAT(ClusterNames(missing_frequency), ElementsAre("all"));
  EXPECT_FALSE(missing_frequency[0].max_khz.has_value());
  EXPECT_EQ(ClusterText(missing_frequency[0]), "2 CPUs");
}

TEST(Clusters, NamesTwoMiddleClusters) {
  const std::vector<CpuCluster> clusters =
      FindCpuClusters(MakeProperties({MakeCpu(0, 300, 2270000), MakeCpu(1, 800, 2960000),
                                      MakeCpu(2, 850, 3150000), MakeCpu(3, 1024, 3300000)}));
  EXPECT_THAT(ClusterNames(clusters), ElementsAre("little", "mid1", "mid2", "big"));
}

TEST(Clusters, AreEmptyWithoutCpus) { EXPECT_TRUE(FindCpuClusters(DeviceProperties{}).empty()); }

}  // namespace
}  // namespace etprof
