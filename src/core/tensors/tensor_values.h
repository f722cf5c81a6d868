#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/file/file.h"
#include "core/tensors/safetensors.h"

namespace etprof {

// The safetensors name of the elements that ExecuTorch's ScalarType has this number for
// (schema/scalar_type.fbs): "F32" for 6. Empty for the few that safetensors has no name for (quantized,
// bit-packed, half and double complex).
std::string SafetensorsName(int scalar_type);

// Elements as numbers, by safetensors dtype: integers above 2^53 are rounded, a complex number is two. Empty
// for an unknown dtype.
std::vector<double> NumbersOf(const std::string& dtype, ByteView bytes);

// Copies between row-major order and the order in memory that `dim_order` gives (its first entry varies
// slowest).
void CopyToMemoryOrder(std::byte* to, const std::byte* from_row_major, const std::vector<std::int64_t>& shape,
                       const std::vector<std::uint8_t>& dim_order, std::size_t element_size);
void CopyToRowMajor(std::byte* to, const std::byte* from_memory, const std::vector<std::int64_t>& shape,
                    const std::vector<std::uint8_t>& dim_order, std::size_t element_size);

// How two tensors differ. The relative difference of two elements is |a-b| / max(|a|,|b|).
struct TensorDifference {
  std::string problem;  // why they cannot be compared ("dtype F32 against F16"); nothing else holds then
  bool identical = false;
  double largest = 0, largest_relative = 0;  // over the elements that are finite in both
  std::optional<double> mean;                // |a-b| over the same elements; absent: there are none
  std::int64_t nan_mismatches = 0;           // a NaN against a number, an infinity that the other lacks
};
TensorDifference CompareTensors(const TensorBytes& a, const TensorBytes& b);

}  // namespace etprof
