#include "core/tensors/tensor_values.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "core/json/describe.h"

namespace etprof {
namespace {

// safetensors names by the number of the ScalarType.
constexpr NamedValue<int> kSafetensorsNames[] = {{0, "U8"},       {1, "I8"},    {2, "I16"},   {3, "I32"},
                                                 {4, "I64"},      {5, "F16"},   {6, "F32"},   {7, "F64"},
                                                 {9, "C64"},      {11, "BOOL"}, {15, "BF16"}, {23, "F8_E5M2"},
                                                 {24, "F8_E4M3"}, {27, "U16"},  {28, "U32"},  {29, "U64"}};

// Decodes a small float with a sign, exponent, and mantissa as in IEEE 754. If `ieee` is false, the format
// has no infinity and a single NaN, with all bits set (Float8 E4M3FN).
double SmallFloat(std::uint32_t bits, int exponent_bits, int mantissa_bits, bool ieee) {
  const std::uint32_t mantissa_mask = (1U << mantissa_bits) - 1;
  const std::uint32_t exponent_mask = (1U << exponent_bits) - 1;
  const std::uint32_t mantissa = bits & mantissa_mask;
  const std::uint32_t exponent = bits >> mantissa_bits & exponent_mask;
  const double sign = (bits >> (mantissa_bits + exponent_bits) & 1) != 0 ? -1 : 1;
  const int bias = (1 << (exponent_bits - 1)) - 1;
  if (exponent == exponent_mask) {
    if (ieee) {
      return mantissa == 0 ? sign * std::numeric_limits<double>::infinity()
                           : std::numeric_limits<double>::quiet_NaN();
    }
    if (mantissa == mantissa_mask) return std::numeric_limits<double>::quiet_NaN();
  }
  if (exponent == 0) return sign * std::ldexp(mantissa, 1 - bias - mantissa_bits);
  return sign *
         std::ldexp(mantissa | (1U << mantissa_bits), static_cast<int>(exponent) - bias - mantissa_bits);
}

template <typename Stored, typename Convert>
std::vector<double> ConvertElements(ByteView bytes, Convert convert) {
  std::vector<double> numbers(bytes.size() / sizeof(Stored));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    Stored stored;
    std::memcpy(&stored, bytes.data() + i * sizeof(Stored), sizeof(Stored));
    numbers[i] = convert(stored);
  }
  return numbers;
}

template <typename Stored>
std::vector<double> ConvertElements(ByteView bytes) {
  return ConvertElements<Stored>(bytes, [](Stored value) { return static_cast<double>(value); });
}

// Calls copy(row_major_index, memory_index) for every element.
template <typename Copy>
void ForEachElement(const std::vector<std::int64_t>& shape, const std::vector<std::uint8_t>& dim_order,
                    Copy copy) {
  std::vector<std::size_t> stride(shape.size(), 1);
  std::size_t step = 1;
  for (std::size_t i = dim_order.size(); i-- > 0;) {
    stride[dim_order[i]] = step;
    step *= static_cast<std::size_t>(shape[dim_order[i]]);
  }
  std::vector<std::int64_t> index(shape.size(), 0);
  for (std::size_t row_major = 0; row_major < step; ++row_major) {
    std::size_t memory = 0;
    for (std::size_t d = 0; d < shape.size(); ++d) memory += static_cast<std::size_t>(index[d]) * stride[d];
    copy(row_major, memory);
    for (std::size_t d = shape.size(); d-- > 0;) {
      if (++index[d] < shape[d]) break;
      index[d] = 0;
    }
  }
}

}  // namespace

std::string SafetensorsName(int scalar_type) { return FindName(kSafetensorsNames, scalar_type); }

std::vector<double> ReadNumbers(const std::string& dtype, ByteView bytes) {
  if (dtype == "F32" || dtype == "C64") return ConvertElements<float>(bytes);
  if (dtype == "F64") return ConvertElements<double>(bytes);
  if (dtype == "F16")
    return ConvertElements<std::uint16_t>(bytes, [](std::uint16_t b) { return SmallFloat(b, 5, 10, true); });
  if (dtype == "BF16")
    return ConvertElements<std::uint16_t>(bytes, [](std::uint16_t b) { return SmallFloat(b, 8, 7, true); });
  if (dtype == "F8_E5M2")
    return ConvertElements<std::uint8_t>(bytes, [](std::uint8_t b) { return SmallFloat(b, 5, 2, true); });
  if (dtype == "F8_E4M3")
    return ConvertElements<std::uint8_t>(bytes, [](std::uint8_t b) { return SmallFloat(b, 4, 3, false); });
  if (dtype == "U8") return ConvertElements<std::uint8_t>(bytes);
  if (dtype == "BOOL")
    return ConvertElements<std::uint8_t>(bytes, [](std::uint8_t b) { return b != 0 ? 1.0 : 0.0; });
  if (dtype == "I8") return ConvertElements<std::int8_t>(bytes);
  if (dtype == "U16") return ConvertElements<std::uint16_t>(bytes);
  if (dtype == "I16") return ConvertElements<std::int16_t>(bytes);
  if (dtype == "U32") return ConvertElements<std::uint32_t>(bytes);
  if (dtype == "I32") return ConvertElements<std::int32_t>(bytes);
  if (dtype == "U64") return ConvertElements<std::uint64_t>(bytes);
  if (dtype == "I64") return ConvertElements<std::int64_t>(bytes);
  return {};
}

void CopyToMemoryOrder(std::byte* to, const std::byte* from_row_major, const std::vector<std::int64_t>& shape,
                       const std::vector<std::uint8_t>& dim_order, std::size_t element_size) {
  ForEachElement(shape, dim_order, [&](std::size_t row_major, std::size_t memory) {
    std::memcpy(to + memory * element_size, from_row_major + row_major * element_size, element_size);
  });
}

void CopyToRowMajor(std::byte* to, const std::byte* from_memory, const std::vector<std::int64_t>& shape,
                    const std::vector<std::uint8_t>& dim_order, std::size_t element_size) {
  ForEachElement(shape, dim_order, [&](std::size_t row_major, std::size_t memory) {
    std::memcpy(to + row_major * element_size, from_memory + memory * element_size, element_size);
  });
}

TensorDifference CompareNumbers(const std::vector<double>& a, const std::vector<double>& b) {
  TensorDifference result;
  double sum = 0;
  std::int64_t compared = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const bool is_equal = a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]));
    if (!std::isfinite(a[i]) || !std::isfinite(b[i])) {
      result.nan_mismatches += is_equal ? 0 : 1;
      continue;
    }
    const double difference = std::abs(a[i] - b[i]);
    const double larger = std::max(std::abs(a[i]), std::abs(b[i]));
    ++compared;
    sum += difference;
    result.signal += a[i] * a[i];
    result.noise += difference * difference;
    result.largest = std::max(result.largest, difference);
    if (larger > 0) result.largest_relative = std::max(result.largest_relative, difference / larger);
  }
  if (compared > 0) result.mean = sum / static_cast<double>(compared);
  return result;
}

TensorDifference CompareTensors(const TensorBytes& a, const TensorBytes& b) {
  TensorDifference result;
  if (a.dtype != b.dtype) {
    result.problem = fmt::format("dtype {} against {}", a.dtype, b.dtype);
    return result;
  }
  if (a.shape != b.shape) {
    result.problem =
        fmt::format("shape [{}] against [{}]", fmt::join(a.shape, ", "), fmt::join(b.shape, ", "));
    return result;
  }
  result = CompareNumbers(ReadNumbers(a.dtype, a.bytes), ReadNumbers(b.dtype, b.bytes));
  result.identical = std::ranges::equal(a.bytes, b.bytes);
  return result;
}

}  // namespace etprof
