#pragma once

#include <executorch/runtime/core/exec_aten/exec_aten.h>

#include <string>
#include <vector>

#include "core/file/file.h"

namespace etprof::runner {

// The safetensors name of an ExecuTorch element type ("F32" for Float); "U8" for the few that safetensors has
// no name for (quantized, bit-packed, half and double complex), whose tensors are then written as their
// bytes.
std::string SafetensorsName(executorch::aten::ScalarType type);
bool HasSafetensorsName(executorch::aten::ScalarType type);

// ExecuTorch's own name: "Float", "Half", "Long".
std::string Name(executorch::aten::ScalarType type);

// Elements as numbers, by safetensors dtype: integers above 2^53 are rounded, a complex number is two. Empty
// for an unknown dtype.
std::vector<double> NumbersOf(const std::string& dtype, ByteView bytes);

// Copies between row-major order and the order in memory that `dim_order` gives (its first entry varies
// slowest).
void CopyToMemoryOrder(std::byte* to, const std::byte* from_row_major, const std::vector<std::int64_t>& shape,
                       const std::vector<std::uint8_t>& dim_order, std::size_t element_size);
void CopyToRowMajor(std::byte* to, const std::byte* from_memory, const std::vector<std::int64_t>& shape,
                    const std::vector<std::uint8_t>& dim_order, std::size_t element_size);

}  // namespace etprof::runner
