#include "report/event_operators.h"

#include <gtest/gtest.h>

#include "report/example_run.h"

namespace etprof {
namespace {

TEST(PlaceEvents, GivesEveryEventOfARunItsOperator) {
  const Trace trace = example::MakeTrace(example::Inferences(3, 4'000'000));
  const Profile profile = Attribute(trace, {});
  const EventPlaces places = PlaceEvents(trace, profile);
  ASSERT_EQ(places.op.size(), trace.event_count());
  for (std::size_t event = 0; event < trace.event_count(); ++event) {
    ASSERT_GE(places.op[event], 0) << event;
    const auto op = static_cast<std::size_t>(places.op[event]);
    const auto run = static_cast<std::size_t>(places.run[event]);
    EXPECT_EQ(profile.operators[op].name, trace.names.Text(trace.name[event]));
    EXPECT_EQ(profile.Duration(op)[run], trace.end[event] - trace.start[event]);
  }
  // Two operators of one name are two operators.
  EXPECT_NE(places.op[2], places.op[5]);
}

TEST(PlaceEvents, LeavesOutWhatIsInNoCompleteRun) {
  Trace trace = example::MakeTrace(example::Inferences(2, 4'000'000));
  trace.blocks.back().event_count -= 1;  // its Method::execute
  const Profile profile = Attribute(trace, {});
  const EventPlaces places = PlaceEvents(trace, profile);
  EXPECT_EQ(places.run[0], 0);
  EXPECT_EQ(places.run[trace.blocks.back().first_event], EventPlaces::kNone);
  EXPECT_EQ(places.op[trace.blocks.back().first_event], EventPlaces::kNone);
}

TEST(PlaceEvents, FollowsARunThatTakesAnotherWay) {
  std::vector<example::Inference> runs = example::Inferences(3, 4'000'000);
  runs[1].delegate.pop_back();
  runs[1].kernels.push_back({"relu.out", 77});
  const Trace trace = example::MakeTrace(runs);
  const Profile profile = Attribute(trace, {});
  const EventPlaces places = PlaceEvents(trace, profile);
  for (std::size_t event = 0; event < trace.event_count(); ++event) {
    ASSERT_GE(places.op[event], 0) << trace.names.Text(trace.name[event]);
  }
}

}  // namespace
}  // namespace etprof
