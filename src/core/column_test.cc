#include "core/column.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <stdexcept>

namespace etprof {
namespace {

TEST(Column, HoldsElementsOfSmallAndLargeColumns) {
  for (const std::size_t count : {std::size_t{0}, std::size_t{3}, std::size_t{1} << 20}) {
    Column<std::int64_t> column;
    column.resize(count);
    std::iota(column.begin(), column.end(), std::int64_t{1});
    Column<std::int64_t> copy = column;
    column.resize(count / 2);
    const auto n = static_cast<std::int64_t>(count);
    EXPECT_EQ(std::accumulate(copy.begin(), copy.end(), std::int64_t{0}), n * (n + 1) / 2);
    EXPECT_EQ(column.size(), count / 2);
    EXPECT_TRUE(column.empty() || column.back() == n / 2);
  }
}

TEST(Column, KeepsElementsWhenItGrows) {
  Column<std::int64_t> column;
  for (std::int64_t i = 0; i < 1000; ++i) column.push_back(i);
  const Column<std::int64_t> moved = std::move(column);
  ASSERT_EQ(moved.size(), 1000U);
  for (std::size_t i = 0; i < moved.size(); ++i) EXPECT_EQ(moved[i], static_cast<std::int64_t>(i));
}

TEST(Column, RefusesSizesThatOverflow) {
  Column<std::int64_t> column;
  EXPECT_THROW(column.resize(std::size_t{1} << 62), std::length_error);
}

}  // namespace
}  // namespace etprof
