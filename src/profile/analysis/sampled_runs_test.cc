#include "profile/analysis/sampled_runs.h"

#include <gtest/gtest.h>

#include <numeric>

#include "format/etdump/reader.h"
#include "format/etdump/testing.h"
#include "profile/analysis/placed_spans.h"
#include "profile/analysis/profile.h"

namespace etprof {
namespace {

using ::etprof::handmade::TraceBuilder;

// Five runs of 100 to 500 ns in the order 300, 100, 500, 200, 400.
Trace MakeFiveRuns() {
  TraceBuilder builder;
  Nanoseconds now = 1000;
  for (const Nanoseconds length : {300, 100, 500, 200, 400}) {
    builder.Block("Execute")
        .Backend(0, "Add (ND) #1", now + 10, now + 30)
        .Backend(0, "Add (ND) #2", now + 35, now + length - 20)
        .Framework(0, "DELEGATE_CALL", now + 5, now + length - 10)
        .Framework(-1, "Method::execute", now, now + length);
    now += 1000;
  }
  return builder.Take();
}

Profile AttributeSteadyRuns(const Trace& trace) {
  AttributeOptions options;
  options.labels = std::vector<RunLabel>(5);
  return Attribute(trace, options);
}

std::vector<std::size_t> SampledIndices(const SampledRuns& sampled) {
  std::vector<std::size_t> runs;
  for (const SampledRuns::Run& run : sampled.runs) runs.push_back(run.run);
  return runs;
}

TEST(SampledRuns, SamplesTheMedianThenTheExtremesThenEvenly) {
  const Trace trace = MakeFiveRuns();
  const Profile profile = AttributeSteadyRuns(trace);
  EXPECT_EQ(MedianRun(profile), 0U);
  EXPECT_EQ(SampledIndices(SampleRuns(trace, profile, 0)), (std::vector<std::size_t>{0}));
  EXPECT_EQ(SampledIndices(SampleRuns(trace, profile, 1)), (std::vector<std::size_t>{0}));
  EXPECT_EQ(SampledIndices(SampleRuns(trace, profile, 3)), (std::vector<std::size_t>{0, 1, 2}));
  const SampledRuns all = SampleRuns(trace, profile, 100);
  EXPECT_EQ(SampledIndices(all), (std::vector<std::size_t>{0, 1, 2, 3, 4}));
  EXPECT_EQ(all.median, 0U);
  EXPECT_EQ(all.shapes.size(), 1U);
}

TEST(SampledRuns, SamplesAtMostTheGivenNumber) {
  const Trace trace = ReadEtdumpFile(ETPROF_TEST_DATA "/toy_cnn.t1.etdump");
  const Profile profile = Attribute(trace, {});
  ASSERT_GT(profile.runs.size(), 4U);
  for (std::size_t max_runs = 1; max_runs <= profile.runs.size(); ++max_runs) {
    const SampledRuns sampled = SampleRuns(trace, profile, max_runs);
    EXPECT_LE(sampled.runs.size(), max_runs);
    ASSERT_TRUE(sampled.median);
    EXPECT_EQ(sampled.runs[*sampled.median].run, MedianRun(profile));
  }
  EXPECT_EQ(SampleRuns(trace, profile, profile.runs.size()).runs.size(), profile.runs.size());
}

TEST(SampledRuns, GapsAndDurationsRestoreTheTimes) {
  const Trace trace = ReadEtdumpFile(ETPROF_TEST_DATA "/toy_cnn.t1.etdump");
  const Profile profile = Attribute(trace, {});
  const SampledRuns sampled = SampleRuns(trace, profile, 100);
  SpanPlacer placer(trace, profile);
  std::vector<PlacedSpan> spans;
  for (const SampledRuns::Run& run : sampled.runs) {
    placer.Place(run.run, spans);
    const SampledRuns::Shape& shape = sampled.shapes[run.shape];
    ASSERT_EQ(shape.op.size(), spans.size());
    ASSERT_EQ(run.gap.size(), spans.size());
    // Restore the times as a reader does: add the gap to the previous sibling's end, else to the parent's
    // start.
    std::vector<Nanoseconds> start(spans.size()), end(spans.size());
    for (std::size_t i = 0; i < spans.size(); ++i) {
      Nanoseconds from = spans.front().start;
      for (std::size_t before = i; before-- > 0;) {
        if (shape.depth[before] > shape.depth[i]) continue;
        from = shape.depth[before] == shape.depth[i] ? end[before] : start[before];
        break;
      }
      start[i] = from + run.gap[i];
      end[i] = start[i] + run.duration[i];
      EXPECT_EQ(shape.op[i], spans[i].op);
      EXPECT_EQ(shape.depth[i], spans[i].depth);
      EXPECT_EQ(start[i], spans[i].start);
      EXPECT_EQ(end[i], spans[i].end);
    }
  }
}

TEST(SampledRuns, RunsWithOtherEventsHaveAnotherShape) {
  TraceBuilder builder;
  builder.Block("Execute").Framework(0, "OPERATOR_CALL", 10, 20).Framework(-1, "Method::execute", 0, 30);
  builder.Block("Execute")
      .Framework(0, "OPERATOR_CALL", 110, 120)
      .Framework(1, "OPERATOR_CALL", 120, 125)
      .Framework(-1, "Method::execute", 100, 130);
  const Trace trace = builder.Take();
  const SampledRuns sampled = SampleRuns(trace, Attribute(trace, {}), 10);
  ASSERT_EQ(sampled.runs.size(), 2U);
  EXPECT_NE(sampled.runs[0].shape, sampled.runs[1].shape);
  EXPECT_EQ(sampled.shapes.size(), 2U);
}

TEST(SampledRuns, SamplesNothingOfAnEmptyTrace) {
  const Trace trace;
  const SampledRuns sampled = SampleRuns(trace, Profile(), 10);
  EXPECT_TRUE(sampled.runs.empty());
  EXPECT_FALSE(sampled.median);
}

}  // namespace
}  // namespace etprof
