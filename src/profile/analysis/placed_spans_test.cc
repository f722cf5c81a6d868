#include "profile/analysis/placed_spans.h"

#include <gtest/gtest.h>

#include <random>

#include "format/etdump/reader.h"
#include "format/etdump/testing.h"

namespace etprof {
namespace {

using ::etprof::handmade::TraceBuilder;
const std::string kToyTrace = ETPROF_TEST_DATA "/toy_cnn.t1.etdump";

std::vector<PlacedSpan> PlaceSpans(const Trace& trace, const Profile& profile, std::size_t run = 0) {
  std::vector<PlacedSpan> spans;
  SpanPlacer(trace, profile).Place(run, spans);
  return spans;
}

// Every span lies within its parent and after its previous sibling.
void ExpectNested(const std::vector<PlacedSpan>& spans) {
  std::vector<PlacedSpan> open;
  Nanoseconds last_end = 0;
  for (const PlacedSpan& span : spans) {
    ASSERT_LE(span.depth, static_cast<int>(open.size()));
    while (static_cast<int>(open.size()) > span.depth) {
      last_end = open.back().end;
      open.pop_back();
    }
    EXPECT_LE(span.start, span.end);
    if (!open.empty()) {
      EXPECT_GE(span.start, open.back().start);
      EXPECT_LE(span.end, open.back().end);
      EXPECT_GE(span.start, last_end);
    }
    last_end = span.start;
    open.push_back(span);
  }
}

TEST(PlacedSpans, PlacesParentsBeforeChildren) {
  const Trace trace = TraceBuilder()
                          .Block("Execute")
                          .Backend(0, "Convolution (NHWC, F32) IGEMM #1", 110, 140)
                          .Backend(0, "Add (ND) #1", 140, 150)
                          .Framework(0, "DELEGATE_CALL", 105, 160)
                          .Framework(1, "native_call_mean.out", 162, 170)
                          .Framework(1, "OPERATOR_CALL", 161, 171)
                          .Framework(-1, "Method::execute", 100, 180)
                          .Take();
  const Profile profile = Attribute(trace, {});
  const std::vector<PlacedSpan> spans = PlaceSpans(trace, profile);
  ASSERT_EQ(spans.size(), 6U);
  const std::vector<std::pair<std::string, int>> expected = {
      {"Method::execute", 0}, {"DELEGATE_CALL", 1}, {"Convolution (NHWC, F32) IGEMM #1", 2},
      {"Add (ND) #1", 2},     {"OPERATOR_CALL", 1}, {"native_call_mean.out", 2},
  };
  for (std::size_t i = 0; i < spans.size(); ++i) {
    EXPECT_EQ(profile.operators[static_cast<std::size_t>(spans[i].op)].name, expected[i].first);
    EXPECT_EQ(spans[i].depth, expected[i].second);
    EXPECT_TRUE(spans[i].has_recorded_times);
    EXPECT_EQ(spans[i].start, trace.start[spans[i].event]);
    EXPECT_EQ(spans[i].end, trace.end[spans[i].event]);
  }
  ExpectNested(spans);
}

TEST(PlacedSpans, ClampsAndMarksIrregularSpans) {
  const Trace trace = TraceBuilder()
                          .Block("Execute")
                          .Backend(0, "Add (ND) #1", 90, 120)
                          .Backend(0, "Add (ND) #2", 110, 130)
                          .Backend(0, "Add (ND) #3", 150, 140)
                          .Framework(0, "DELEGATE_CALL", 105, 160)
                          .Framework(-1, "Method::execute", 100, 155)
                          .Take();
  const std::vector<PlacedSpan> spans = PlaceSpans(trace, Attribute(trace, {}));
  ASSERT_EQ(spans.size(), 5U);
  ExpectNested(spans);
  const std::vector<std::pair<Nanoseconds, Nanoseconds>> expected = {
      {100, 155}, {105, 155}, {105, 120}, {120, 130}, {150, 150}};
  for (std::size_t i = 0; i < spans.size(); ++i) {
    EXPECT_EQ(spans[i].start, expected[i].first);
    EXPECT_EQ(spans[i].end, expected[i].second);
    EXPECT_EQ(spans[i].has_recorded_times, i == 0);
  }
}

TEST(PlacedSpans, SortsSiblingsByTime) {
  const Trace trace = TraceBuilder()
                          .Block("Execute")
                          .Backend(0, "Add (ND) #1", 140, 150)
                          .Backend(0, "Add (ND) #2", 110, 130)
                          .Framework(0, "DELEGATE_CALL", 105, 160)
                          .Framework(-1, "Method::execute", 100, 180)
                          .Take();
  const std::vector<PlacedSpan> spans = PlaceSpans(trace, Attribute(trace, {}));
  ASSERT_EQ(spans.size(), 4U);
  EXPECT_EQ(spans[2].start, 110);
  EXPECT_EQ(spans[3].start, 140);
  EXPECT_TRUE(spans[2].has_recorded_times && spans[3].has_recorded_times);
}

TEST(PlacedSpans, PlacesEachEventOfARealTraceAsRecorded) {
  const Trace trace = ReadEtdumpFile(kToyTrace);
  const Profile profile = Attribute(trace, {});
  SpanPlacer placer(trace, profile);
  std::vector<PlacedSpan> spans;
  ASSERT_GT(profile.runs.size(), 1U);
  for (std::size_t run = 0; run < profile.runs.size(); ++run) {
    placer.Place(run, spans);
    ASSERT_EQ(spans.size(), profile.layouts[profile.runs[run].layout].size());
    ExpectNested(spans);
    for (const PlacedSpan& span : spans) EXPECT_TRUE(span.has_recorded_times);
  }
}

// Spans nest even if their times are random.
TEST(PlacedSpans, RandomTimesNest) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    TraceBuilder builder;
    builder.Block("Execute");
    const auto time = [&] { return static_cast<Nanoseconds>(random() % 50); };
    for (int call = 0; call < 4; ++call) {
      for (unsigned i = random() % 4; i > 0; --i) builder.Backend(call, "Add (ND) #1", time(), time());
      builder.Framework(call, call % 2 == 0 ? "DELEGATE_CALL" : "OPERATOR_CALL", time(), time());
    }
    builder.Framework(-1, "Method::execute", time(), time());
    const Trace trace = builder.Take();
    const Profile profile = Attribute(trace, {});
    const std::vector<PlacedSpan> spans = PlaceSpans(trace, profile);
    EXPECT_EQ(spans.size(), trace.event_count());
    ExpectNested(spans);
  }
}

}  // namespace
}  // namespace etprof
