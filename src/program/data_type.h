#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/units.h"

namespace etprof {

// The type of a tensor's elements, under PyTorch's name ("float32", "int8") in a Program and under XNNPACK's
// ("fp32", "qcint8") in its delegates. One that the schema of this build does not know is "type 99".
struct DataType {
  std::string name;
  std::optional<int> bits;  // of one element; absent: not known
  bool operator==(const DataType&) const = default;
};

// By the number of executorch_flatbuffer::ScalarType (schema/scalar_type.fbs).
DataType ScalarTypeOf(int code);

// By the number of fb_xnnpack::XNNDatatype (backends/xnnpack/serialization/schema.fbs).
DataType XnnDataTypeOf(int code);

// How many elements a tensor of these sizes has: 1 for none. Absent where it is more than 2^63 - 1 or a size
// is negative.
std::optional<std::int64_t> ElementCount(const std::vector<std::int64_t>& sizes);

// The size of dimension `index`, counted from the outermost; absent where there are not so many.
std::optional<std::int64_t> Dim(const std::vector<std::int64_t>& sizes, std::size_t index);

// The bytes that they take, the last one filled up. Absent where they are not known or more than 2^63 - 1.
std::optional<Bytes> BytesOf(const DataType& type, const std::vector<std::int64_t>& sizes);

// a * b and a + b; absent where one is, or where the result is more than 2^63 - 1.
std::optional<std::int64_t> Product(std::optional<std::int64_t> a, std::optional<std::int64_t> b);
std::optional<std::int64_t> Sum(std::optional<std::int64_t> a, std::optional<std::int64_t> b);

}  // namespace etprof
