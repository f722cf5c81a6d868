#include "protocol/watch.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "core/json/json_members.h"

namespace etprof::protocol {
namespace {

using nlohmann::json;

WatchReply SmallWatch() {
  WatchReply reply;
  reply.runs = 5;
  reply.threads = 2;
  reply.architecture = "aarch64";
  reply.functions = {{"kai_run_a", 4096, 4, "c0035fd6", "1f2003d5"}, {"", 8192, 0, "", ""}};
  reply.operators = {{{5, 900, 800, 5, {{7, 500, 400, 0, 5, 0, 0, 1}, {5, 300, 600, 90, 5, 0, 0, -1}}},
                      {0, 3, "backend", 2, 0},
                      "Convolution (NHWC, PF32) IGEMM #1",
                      {{0, false, {7, 5}}, {1, true, {7, 5}}}}};
  reply.timeline = {.begin_ns = 1'000, .spans = {{0, 10, 190, {{0, 12, 180, 150, 2}, {1, 40, 190, 90, 1}}}}};
  return reply;
}

TEST(WatchJson, ReadsBackWrittenReplies) {
  const json written = SmallWatch();
  EXPECT_EQ(json(written.get<WatchReply>()), written);
}

TEST(WatchJson, RefusesInconsistentReplies) {
  WatchReply reply = SmallWatch();
  reply.threads = 3;
  EXPECT_THROW(json(reply).get<WatchReply>(), std::exception);
  reply = SmallWatch();
  reply.operators[0].functions[1].function = 2;
  EXPECT_THROW(json(reply).get<WatchReply>(), std::exception);
  reply = SmallWatch();
  reply.operators[0].functions[0].calls.pop_back();
  EXPECT_THROW(json(reply).get<WatchReply>(), std::exception);
  for (const auto& damage :
       {+[](WatchedSpan& span) { span.op = 1; }, +[](WatchedSpan& span) { span.end_ns = 9; },
        +[](WatchedSpan& span) { span.slices[0].thread = 2; },
        +[](WatchedSpan& span) { span.slices[0].begin_ns = 9; },
        +[](WatchedSpan& span) { span.slices[1].end_ns = 191; },
        +[](WatchedSpan& span) { span.slices[1].end_ns = 39; }}) {
    reply = SmallWatch();
    damage(reply.timeline->spans[0]);
    EXPECT_THROW(json(reply).get<WatchReply>(), std::exception);
  }
}

}  // namespace
}  // namespace etprof::protocol
