#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/file/file.h"
#include "core/tensors/safetensors.h"

namespace etprof {

// The safetensors name of an ExecuTorch ScalarType number (schema/scalar_type.fbs): "F32" for 6. Empty for
// types that safetensors does not have (quantized, bit-packed, half and double complex).
std::string SafetensorsName(int scalar_type);

// Bytes per element of a safetensors dtype; 0 for an unknown dtype.
std::size_t ElementSize(std::string_view dtype);

// Converts elements of a safetensors dtype to numbers. Integers above 2^53 are rounded, and a complex element
// becomes two numbers. Empty for an unknown dtype.
std::vector<double> ReadNumbers(std::string_view dtype, ByteView bytes);

// Copy between row-major order and the memory order that `dim_order` describes (its first entry varies
// slowest).
void CopyToMemoryOrder(std::byte* to, const std::byte* from_row_major, const std::vector<std::int64_t>& shape,
                       const std::vector<std::uint8_t>& dim_order, std::size_t element_size);
void CopyToRowMajor(std::byte* to, const std::byte* from_memory, const std::vector<std::int64_t>& shape,
                    const std::vector<std::uint8_t>& dim_order, std::size_t element_size);

// The differences between two tensors. The relative difference of two elements is |a-b| / max(|a|,|b|).
struct TensorDifference {
  // Why the tensors cannot be compared ("dtype F32 against F16"). The other members are then unset.
  std::string problem;
  bool identical = false;
  // The maxima of |a-b| and of the relative difference over finite elements.
  double largest = 0, largest_relative = 0;
  std::optional<double> mean;       // |a-b| over the same elements; absent: no such elements
  double signal = 0, noise = 0;     // sums of a^2 and (a-b)^2 over the same elements
  std::int64_t nan_mismatches = 0;  // pairs of a NaN and a number, or of an infinity and another value
};
TensorDifference CompareTensors(const TensorBytes& a, const TensorBytes& b);
// Compares the elements of two tensors of equal size, as ReadNumbers returns them. Does not set `identical`.
TensorDifference CompareNumbers(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace etprof
