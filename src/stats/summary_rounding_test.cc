#include "stats/summary_rounding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <stdexcept>

namespace etprof::stats {
namespace {

using ::testing::ElementsAre;

TEST(LargestRemainder, AddsUpWhereRoundingEachRowWouldNot) {
  const std::vector<double> rows{1.4, 1.4, 1.4};  // 4.2; each rounded: 3
  EXPECT_THAT(LargestRemainder(rows), ElementsAre(2, 1, 1));
}

TEST(LargestRemainder, GivesUnitsToTheLargestRemainders) {
  EXPECT_THAT(LargestRemainder(std::vector<double>{0.1, 2.7, 0.1, 3.6}), ElementsAre(0, 3, 0, 4));
}

TEST(LargestRemainder, KeepsSignsAndZeros) {
  EXPECT_THAT(LargestRemainder(std::vector<double>{-1.6, 0, 1.7}), ElementsAre(-2, 0, 2));
  EXPECT_TRUE(LargestRemainder({}).empty());
}

TEST(LargestRemainder, RefusesInvalidValues) {
  EXPECT_THROW(LargestRemainder(std::vector<double>{std::nan("")}), std::invalid_argument);
  EXPECT_THROW(LargestRemainder(std::vector<double>{1e300}), std::invalid_argument);
}

TEST(LargestRemainder, StaysWithinOneUnitAndAddsUpForAnyRows) {
  std::mt19937_64 random(6);
  std::uniform_real_distribution<double> uniform(-1000, 1000);
  for (int i = 0; i < 2000; ++i) {
    std::vector<double> rows;
    for (int row = 0; row < i % 40; ++row)
      rows.push_back(row % 5 == 0 ? std::floor(uniform(random)) : uniform(random));
    const std::vector<std::int64_t> rounded = LargestRemainder(rows);
    const double total = std::accumulate(rows.begin(), rows.end(), 0.0);
    const std::int64_t sum = std::accumulate(rounded.begin(), rounded.end(), std::int64_t{0});
    EXPECT_LE(std::fabs(static_cast<double>(sum) - total), 0.5 + 1e-9);
    for (std::size_t row = 0; row < rows.size(); ++row) {
      EXPECT_LT(std::fabs(static_cast<double>(rounded[row]) - rows[row]), 1);
      if (rows[row] == std::floor(rows[row])) {
        EXPECT_EQ(static_cast<double>(rounded[row]), rows[row]);
      }
    }
  }
}

}  // namespace
}  // namespace etprof::stats
