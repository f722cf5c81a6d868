#include "core/column.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <new>
#include <numeric>

namespace etprof {
namespace {

TEST(Column, HoldsWhatIsWrittenSmallAndLarge) {
  for (const std::size_t count : {std::size_t{0}, std::size_t{3}, std::size_t{1} << 20}) {
    Column<std::int64_t> column;
    column.resize(count);
    std::iota(column.begin(), column.end(), std::int64_t{1});
    Column<std::int64_t> copy = column;
    column.resize(count / 2);
    column.shrink_to_fit();
    const auto n = static_cast<std::int64_t>(count);
    EXPECT_EQ(std::accumulate(copy.begin(), copy.end(), std::int64_t{0}), n * (n + 1) / 2);
    EXPECT_EQ(column.size(), count / 2);
    EXPECT_TRUE(column.empty() || column.back() == n / 2);
  }
}

TEST(Column, MoreThanThereIsIsRefused) {
  UnsetAllocator<std::int64_t> allocator;
  EXPECT_THROW(allocator.allocate(std::size_t{1} << 62), std::bad_array_new_length);
}

}  // namespace
}  // namespace etprof
