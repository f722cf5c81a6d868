#include "inference/dtypes.h"

#include <gtest/gtest.h>

#include "core/tensors/tensor_values.h"

namespace etprof::runner {
namespace {

TEST(Dtypes, EveryNamedTypeHasASizeAndNumbers) {
  for (int i = 0; i < static_cast<int>(executorch::aten::ScalarType::NumOptions); ++i) {
    const auto type = static_cast<executorch::aten::ScalarType>(i);
    const std::string name = SafetensorsName(type);
    ASSERT_GT(ElementSize(name), 0U) << name;
    EXPECT_FALSE(ReadNumbers(name, ByteView(reinterpret_cast<const std::byte*>("12345678"), 8)).empty())
        << name;
  }
  EXPECT_TRUE(ReadNumbers("nonsense", {}).empty());
}

}  // namespace
}  // namespace etprof::runner
