#include "measure/store/counters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "core/error.h"
#include "core/golden_testing.h"
#include "profile/analysis/profile.h"

namespace etprof {
namespace {

using testing::ElementsAre;

protocol::CountersReply MakeExampleReply() {
  protocol::CountersReply reply;
  reply.runs = 20;
  reply.threads = 2;
  reply.counters = {{"cycles", true, 0.5},
                    {"instructions", true, 0.5},
                    {"cache_misses", true, 0.5},
                    {"task_clock_ns", false, 1}};
  reply.unavailable = {
      {"context_switches", "closed"}, {"cpu_migrations", "closed"}, {"page_faults", "other"}};
  reply.unmatched_calls = 3;
  reply.operators = {
      {{0, -1, "method", 0, 0}, "Method::execute", 20, {6e6, 9e6, 3e3, 2e6}},
      {{0, 3, "backend", 2, 0}, "Convolution (NHWC, \"F32\") IGEMM #1", 20, {3e6, 6e6, 0, 1e6}},
      {{1, 4, "kernel", 0, 2}, "native_call_add.out", 20, {0, 0, 0, 0}}};
  return reply;
}

TEST(Counters, KeysMatchTheAnalysis) {
  const std::vector<CountersRow> rows = MakeCountersRows(MakeExampleReply(), "forward");
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0].key, KeyText({"forward", 0, -1, SpanKind::kMethod, 0, 0}));
  EXPECT_EQ(rows[1].key, KeyText({"forward", 0, 3, SpanKind::kBackend, 2, 0}));
  EXPECT_EQ(rows[2].key, KeyText({"forward", 1, 4, SpanKind::kKernel, 0, 2}));
}

TEST(Counters, RatiosNeedBothCounters) {
  const std::vector<CountersRow> rows = MakeCountersRows(MakeExampleReply(), "forward");
  EXPECT_DOUBLE_EQ(*rows[0].EffectiveFrequency(), 3e9);
  EXPECT_DOUBLE_EQ(*rows[0].InstructionsPerCycle(), 1.5);
  EXPECT_DOUBLE_EQ(*rows[0].CacheMissesPerThousand(), 1.0 / 3);
  EXPECT_EQ(rows[0].BranchMissesPerThousand(), std::nullopt);  // closed
  EXPECT_EQ(rows[1].CacheMissesPerThousand(), 0);              // open, but no misses
  EXPECT_EQ(rows[2].InstructionsPerCycle(), std::nullopt);     // 0 cycles
  EXPECT_EQ(rows[2].EffectiveFrequency(), std::nullopt);
}

TEST(Counters, RoundTripThroughCsv) {
  const std::vector<CountersRow> rows = MakeCountersRows(MakeExampleReply(), "forward");
  std::ostringstream out;
  WriteCounters(rows, out);
  const std::vector<CountersRow> read = ParseCounters(out.str(), "a.csv");
  ASSERT_EQ(read.size(), rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(read[i].key, rows[i].key);
    EXPECT_EQ(read[i].name, rows[i].name);
    EXPECT_EQ(read[i].runs, 20);
    EXPECT_EQ(read[i].means, rows[i].means);
  }
  EXPECT_THROW(ParseCounters("", "a.csv"), Error);
  EXPECT_THROW(ParseCounters("key,name\na,b\n", "a.csv"), Error);
  std::string text = out.str();
  text.replace(text.find("9e+06"), 5, "9e+0x");
  EXPECT_THROW(ParseCounters(text, "a.csv"), Error);
}

TEST(Counters, GroupsClosedCountersByReason) {
  ExpectGolden("measure/store/counter_limits", DescribeCounterLimits(MakeExampleReply()));
  EXPECT_THAT(DescribeCounterLimits({}), ElementsAre());
}

}  // namespace
}  // namespace etprof
