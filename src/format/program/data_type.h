#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/units.h"

namespace etprof {

// The type of a tensor's elements, with PyTorch's name ("float32", "int8") in a Program and with XNNPACK's
// name ("fp32", "qcint8") in its delegates. A type that is not in the schema of this build is "type 99".
struct DataType {
  std::string name;
  std::optional<int> bits;  // per element; absent: unknown
  bool operator==(const DataType&) const = default;
};

// The type with this number in executorch_flatbuffer::ScalarType (schema/scalar_type.fbs).
DataType ScalarTypeFromCode(int code);

// The type with this number in fb_xnnpack::XNNDatatype (backends/xnnpack/serialization/schema.fbs).
DataType XnnDataTypeFromCode(int code);

// The number of elements of a tensor with these sizes: 1 if there are no dimensions. Absent if it exceeds
// 2^63 - 1 or a size is negative.
std::optional<std::int64_t> ElementCount(const std::vector<std::int64_t>& sizes);

// The size of dimension `index`, counted from the outermost; absent if there are fewer dimensions.
std::optional<std::int64_t> Dim(const std::vector<std::int64_t>& sizes, std::size_t index);

// The size in bytes of a tensor, with a partial last byte rounded up. Absent if it is unknown or exceeds 2^63
// - 1.
std::optional<Bytes> SizeInBytes(const DataType& type, const std::vector<std::int64_t>& sizes);

// a * b and a + b; absent if an operand is absent or the result exceeds 2^63 - 1.
std::optional<std::int64_t> CheckedProduct(std::optional<std::int64_t> a, std::optional<std::int64_t> b);
std::optional<std::int64_t> CheckedSum(std::optional<std::int64_t> a, std::optional<std::int64_t> b);

// The sum of `count` (a function or a pointer to a member) over all values; absent like CheckedSum.
std::optional<std::int64_t> SumEach(const auto& values, const auto& count) {
  std::optional<std::int64_t> sum = 0;
  for (const auto& value : values) sum = CheckedSum(sum, std::invoke(count, value));
  return sum;
}

}  // namespace etprof
