#include "core/tensors/tensor_values.h"

#include <gtest/gtest.h>

#include <cmath>
#include <span>

namespace etprof {
namespace {

template <typename T>
std::vector<double> Numbers(const std::string& dtype, std::vector<T> values) {
  return ReadNumbers(dtype, std::as_bytes(std::span(values)));
}

TEST(TensorValues, DecodesSmallFloats) {
  using U16 = std::vector<std::uint16_t>;
  using U8 = std::vector<std::uint8_t>;
  EXPECT_EQ(Numbers("F16", U16{0x3c00, 0xc000, 0x7bff, 0x0001, 0x8000}),
            (std::vector<double>{1, -2, 65504, std::ldexp(1, -24), 0}));
  EXPECT_EQ(Numbers("BF16", U16{0x3f80, 0xc040, 0x0000}), (std::vector<double>{1, -3, 0}));
  EXPECT_TRUE(std::isinf(Numbers("F16", U16{0xfc00})[0]));
  EXPECT_TRUE(std::isnan(Numbers("F16", U16{0x7e00})[0]));
  EXPECT_TRUE(std::isinf(Numbers("BF16", U16{0x7f80})[0]));
  EXPECT_TRUE(std::isnan(Numbers("BF16", U16{0xffc0})[0]));
  EXPECT_EQ(Numbers("F8_E5M2", U8{0x3c, 0x7b}), (std::vector<double>{1, 57344}));
  EXPECT_EQ(Numbers("F8_E4M3", U8{0x38, 0x7e}), (std::vector<double>{1, 448}));
  EXPECT_TRUE(std::isnan(Numbers("F8_E4M3", U8{0x7f})[0]));
}

TEST(TensorValues, ConvertsChannelsLastAndBack) {
  const std::vector<std::int64_t> shape = {1, 2, 2, 3};          // NCHW
  const std::vector<std::uint8_t> channels_last = {0, 2, 3, 1};  // NHWC in memory
  std::vector<std::uint8_t> row_major(12), memory(12), back(12);
  for (std::size_t i = 0; i < row_major.size(); ++i) row_major[i] = static_cast<std::uint8_t>(i);
  const auto bytes = [](std::vector<std::uint8_t>& v) { return reinterpret_cast<std::byte*>(v.data()); };
  CopyToMemoryOrder(bytes(memory), bytes(row_major), shape, channels_last, 1);
  EXPECT_EQ(memory, (std::vector<std::uint8_t>{0, 6, 1, 7, 2, 8, 3, 9, 4, 10, 5, 11}));
  CopyToRowMajor(bytes(back), bytes(memory), shape, channels_last, 1);
  EXPECT_EQ(back, row_major);
  CopyToRowMajor(nullptr, nullptr, {0, 3}, {0, 1}, 4);  // nothing to copy
  std::byte scalar_from{7}, scalar_to{0};
  CopyToRowMajor(&scalar_to, &scalar_from, {}, {}, 1);
  EXPECT_EQ(scalar_to, scalar_from);
}

}  // namespace
}  // namespace etprof
