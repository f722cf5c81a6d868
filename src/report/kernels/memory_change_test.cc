#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/json/json_members.h"
#include "report/kernels/watched.h"

namespace etprof {
namespace {

using nlohmann::json;
using protocol::MemoryOwner;
using protocol::MemoryReport;

MemoryReport MakeMemoryReport(std::int64_t weights, std::int64_t rest, std::vector<std::int64_t> created) {
  MemoryReport report;
  protocol::MemorySnapshot& moment = report.snapshots.emplace_back();
  moment = {"steady", weights + rest, {}};
  for (const MemoryOwner owner : AllValues<MemoryOwner>()) moment.parts.push_back({owner, 0, 0});
  moment.parts[static_cast<std::size_t>(MemoryOwner::kWeights)].resident = weights;
  moment.parts[static_cast<std::size_t>(MemoryOwner::kOther)].resident = rest;
  for (std::size_t i = 0; i < created.size(); ++i) {
    report.operators.push_back({"xnn_create_fully_connected_nc_f32", 0, created[i], created[i],
                                i == 0 ? "" : "Fully Connected (NC, F32) GEMM #" + std::to_string(i), 3,
                                static_cast<std::int64_t>(i)});
  }
  return report;
}

TEST(MemoryChange, SortsByDifference) {
  const auto changes = ChangedAllocations(MakeMemoryReport(600, 1000, {100, 200, 300}),
                                          MakeMemoryReport(900, 900, {100, 240, 260 + 300}));
  ASSERT_TRUE(changes);
  ASSERT_EQ(changes->size(), 2U);
  EXPECT_EQ(changes->at(0).name, "Fully Connected (NC, F32) GEMM #2");
  EXPECT_EQ(changes->at(0).candidate - changes->at(0).baseline, 260);
  EXPECT_EQ(changes->at(1).candidate, 240);
}

TEST(MemoryChange, DoesNotCompareDifferentOperators) {
  EXPECT_FALSE(ChangedAllocations(MakeMemoryReport(300, 0, {100, 200}), MakeMemoryReport(100, 0, {100})));
}

TEST(MemoryReportJson, RefusesPartsThatDoNotAddUp) {
  const MemoryReport report = MakeMemoryReport(600, 1000, {100});
  const json written = report;
  EXPECT_EQ(json(written.get<MemoryReport>()), written);
  json damaged = written;
  damaged["moments"][0]["rss_bytes"] = 1601;
  EXPECT_THROW(damaged.get<MemoryReport>(), std::exception);
  damaged = written;
  damaged["moments"][0]["parts"].erase(0);
  EXPECT_THROW(damaged.get<MemoryReport>(), std::exception);
  damaged = written;
  damaged["moments"] = json::array();
  EXPECT_THROW(damaged.get<MemoryReport>(), std::exception);
}

}  // namespace
}  // namespace etprof
