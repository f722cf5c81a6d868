#include "protocol/counters.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/json/json_members.h"

namespace etprof::protocol {
namespace {

using nlohmann::json;

TEST(CountersJson, ReadsBackWrittenReplies) {
  CountersReply reply;
  reply.runs = 20;
  reply.threads = 2;
  reply.counters = {{"task_clock_ns", false, 1}, {"page_faults", true, 0.5}};
  reply.unavailable = {{"cycles", "this machine has none"}};
  reply.operators = {{{0, 3, "backend", 2, 0}, "Convolution (NHWC, F32) IGEMM #1", 20, {1500.5, 0}}};
  const json written = reply;
  EXPECT_EQ(json(written.get<CountersReply>()), written);
  EXPECT_EQ(json(json::parse(R"({"runs": 7})").get<CountersRequest>()),
            json({{"warmup", CountersRequest{}.warmup}, {"runs", 7}}));
}

TEST(CountersJson, RefusesInvalidMessages) {
  CountersReply reply;
  reply.counters = {{"cycles", false, 1}};
  reply.operators = {{{0, 3, "backend", 2, 0}, "a", 20, {1}}};
  const json good = reply;
  for (const char* const patch :
       {R"({"runs": -1})", R"({"counters": null})", R"({"counters": []})", R"({"operators": [{}]})"}) {
    json bad = good;
    bad.merge_patch(json::parse(patch));
    EXPECT_ANY_THROW(bad.get<CountersReply>()) << patch;
  }
  EXPECT_ANY_THROW(json(5).get<CountersReply>());
  EXPECT_ANY_THROW(json::parse(R"({"runs": -1})").get<CountersRequest>());
}

}  // namespace
}  // namespace etprof::protocol
