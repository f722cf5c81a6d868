#include "openvino/layer_clock.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>

namespace etprof::runner {
namespace {

std::int64_t Difference(std::size_t begin, std::size_t end) {
  return (NumberedTime(end) - NumberedTime(begin)) / 1000;
}

TEST(LayerClock, NumbersIdentifyReadings) {
  // The layers are reported in another order than they ran in: the second did not run, the fifth is inside of
  // the fourth, and the last ran before the inference.
  const std::vector<std::int64_t> differences = {Difference(6, 7), 0,  Difference(0, 1), Difference(2, 5),
                                                 Difference(3, 4), 250};
  const auto layers = FindLayerReadings(differences, 8);
  ASSERT_TRUE(layers);
  const std::vector<std::pair<std::size_t, std::size_t>> expected = {{6, 7}, {0, 0}, {0, 1},
                                                                     {2, 5}, {3, 4}, {0, 0}};
  ASSERT_EQ(layers->size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ((*layers)[i].begin, expected[i].first);
    EXPECT_EQ((*layers)[i].end, expected[i].second);
  }
}

TEST(LayerClock, IdentifiesEveryPairOfReadings) {
  const std::size_t last = LayerClock::kMaxReadings - 1;
  for (const auto& [begin, end] : {std::pair<std::size_t, std::size_t>{0, 1}, {0, last}, {last - 1, last}}) {
    const std::vector<std::int64_t> differences = {Difference(begin, end)};
    // Readings outside of this layer belong to no layer, so the result is absent.
    EXPECT_EQ(FindLayerReadings(differences, LayerClock::kMaxReadings).has_value(), end - begin == last)
        << begin << " " << end;
    EXPECT_GT(differences[0], 0);
  }
}

TEST(LayerClock, ReturnsNothingForUnexplainedReadings) {
  const std::vector<std::int64_t> differences = {Difference(0, 1)};
  EXPECT_TRUE(FindLayerReadings(differences, 2));
  EXPECT_FALSE(FindLayerReadings(differences, 4)) << "two readings of nobody";
  EXPECT_TRUE(FindLayerReadings(std::vector{Difference(0, 3)}, 4)) << "the body of a loop";
  EXPECT_FALSE(FindLayerReadings(std::vector{Difference(0, 1), Difference(0, 1)}, 2))
      << "one reading of two layers";
  EXPECT_FALSE(FindLayerReadings(std::vector{Difference(0, 1) + Difference(2, 3)}, 4))
      << "a layer that ran twice";
  EXPECT_FALSE(FindLayerReadings(std::vector<std::int64_t>{17}, 2)) << "another clock";
  EXPECT_FALSE(FindLayerReadings(std::vector{Difference(2, 3)}, 2)) << "a reading that was not made";
}

TEST(LayerClock, ReturnsNumbersOrTimes) {
  const auto clock = std::make_unique<LayerClock>();
  EXPECT_FALSE(clock->Read());
  clock->Begin(LayerClock::Mode::kNumbers);
  EXPECT_EQ(clock->Read(), NumberedTime(0));
  EXPECT_EQ(clock->Read(), NumberedTime(1));
  const auto numbered = clock->End();
  ASSERT_EQ(numbered.size(), 2U);
  EXPECT_LE(numbered[0], numbered[1]);
  EXPECT_FALSE(clock->Read());

  clock->Begin(LayerClock::Mode::kTimes);
  const auto first = clock->Read();
  const auto times = clock->End();
  ASSERT_EQ(times.size(), 1U);
  EXPECT_EQ(first, times[0]);

  clock->Begin(LayerClock::Mode::kTimes);
  clock->Read();
  std::thread([&] { clock->Read(); }).join();
  EXPECT_TRUE(clock->End().empty());
}

}  // namespace
}  // namespace etprof::runner
