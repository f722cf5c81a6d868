#include "core/tensors/tensor_values.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>

namespace etprof {
namespace {

// Decodes a small float with a sign, exponent, and mantissa as in IEEE 754. If `ieee` is false, the format
// has no infinity and a single NaN, with all bits set (Float8 E4M3FN).
template <typename Stored, unsigned exponent_bits, unsigned mantissa_bits, bool ieee = true>
double SmallFloat(Stored bits) {
  const std::uint32_t mantissa_mask = (1U << mantissa_bits) - 1;
  const std::uint32_t exponent_mask = (1U << exponent_bits) - 1;
  const std::uint32_t mantissa = bits & mantissa_mask;
  const std::uint32_t exponent = std::uint32_t{bits} >> mantissa_bits & exponent_mask;
  const double sign = (std::uint32_t{bits} >> (mantissa_bits + exponent_bits) & 1U) != 0 ? -1 : 1;
  constexpr int kBias = (1 << (exponent_bits - 1)) - 1, kMantissaBits = mantissa_bits;
  if (exponent == exponent_mask) {
    if (ieee) {
      return mantissa == 0 ? sign * std::numeric_limits<double>::infinity()
                           : std::numeric_limits<double>::quiet_NaN();
    }
    if (mantissa == mantissa_mask) return std::numeric_limits<double>::quiet_NaN();
  }
  if (exponent == 0) return sign * std::ldexp(mantissa, 1 - kBias - kMantissaBits);
  return sign *
         std::ldexp(mantissa | (1U << mantissa_bits), static_cast<int>(exponent) - kBias - kMantissaBits);
}

template <typename Number>
double ToDouble(Number number) {
  return static_cast<double>(number);
}
double IsTrue(std::uint8_t number) { return number != 0 ? 1 : 0; }

template <typename Stored, double (*convert)(Stored) = ToDouble<Stored>>
std::vector<double> ConvertElements(ByteView bytes) {
  std::vector<double> numbers(bytes.size() / sizeof(Stored));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    Stored stored;
    std::memcpy(&stored, bytes.data() + i * sizeof(Stored), sizeof(Stored));
    numbers[i] = convert(stored);
  }
  return numbers;
}

// A dtype of safetensors. Its scalar type is the number of ExecuTorch's ScalarType.
struct Dtype {
  std::string_view name;
  int scalar_type;
  std::size_t bytes;  // per element
  std::vector<double> (*convert)(ByteView bytes);
};
constexpr Dtype kDtypes[] = {
    {"U8", 0, 1, ConvertElements<std::uint8_t>},
    {"I8", 1, 1, ConvertElements<std::int8_t>},
    {"I16", 2, 2, ConvertElements<std::int16_t>},
    {"I32", 3, 4, ConvertElements<std::int32_t>},
    {"I64", 4, 8, ConvertElements<std::int64_t>},
    {"F16", 5, 2, ConvertElements<std::uint16_t, SmallFloat<std::uint16_t, 5, 10>>},
    {"F32", 6, 4, ConvertElements<float>},
    {"F64", 7, 8, ConvertElements<double>},
    {"C64", 9, 8, ConvertElements<float>},
    {"BOOL", 11, 1, ConvertElements<std::uint8_t, IsTrue>},
    {"BF16", 15, 2, ConvertElements<std::uint16_t, SmallFloat<std::uint16_t, 8, 7>>},
    {"F8_E5M2", 23, 1, ConvertElements<std::uint8_t, SmallFloat<std::uint8_t, 5, 2>>},
    {"F8_E4M3", 24, 1, ConvertElements<std::uint8_t, SmallFloat<std::uint8_t, 4, 3, false>>},
    {"U16", 27, 2, ConvertElements<std::uint16_t>},
    {"U32", 28, 4, ConvertElements<std::uint32_t>},
    {"U64", 29, 8, ConvertElements<std::uint64_t>}};

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

std::string SafetensorsName(int scalar_type) {
  const auto dtype = std::ranges::find(kDtypes, scalar_type, &Dtype::scalar_type);
  return dtype == std::end(kDtypes) ? "" : std::string(dtype->name);
}

std::size_t ElementSize(std::string_view name) {
  const auto dtype = std::ranges::find(kDtypes, name, &Dtype::name);
  return dtype == std::end(kDtypes) ? 0 : dtype->bytes;
}

std::vector<double> ReadNumbers(std::string_view name, ByteView bytes) {
  const auto dtype = std::ranges::find(kDtypes, name, &Dtype::name);
  return dtype == std::end(kDtypes) ? std::vector<double>() : dtype->convert(bytes);
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
