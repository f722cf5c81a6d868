#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "core/file/file.h"

// The safetensors format (github.com/huggingface/safetensors): an 8-byte little-endian header length, a JSON
// header {name: {dtype, shape, data_offsets: [begin, end]}, "__metadata__": {text: text}}, then the tensors'
// bytes, row-major and little-endian, at offsets counted from the end of the header.
namespace etprof {

struct TensorBytes {
  std::string dtype;  // "F32", "BF16", "I64", "BOOL", ...
  std::vector<std::int64_t> shape;
  ByteView bytes;
};

struct Safetensors {
  MappedFile file;  // `tensors` points into this file
  std::map<std::string, TensorBytes> tensors;
  std::map<std::string, std::string> metadata;
};

// Throws Error (kBadInput) with the file and the offset if the file is invalid: a header that is too long,
// not JSON, or has wrong types; tensors that lie outside of the file, overlap, or do not have the size that
// their dtype and shape give.
Safetensors ReadSafetensors(const std::filesystem::path& path);

// Writes a temporary file and renames it. Throws the exceptions of WriteFileAtomically.
void WriteSafetensors(const std::filesystem::path& path,
                      const std::vector<std::pair<std::string, TensorBytes>>& tensors,
                      const std::map<std::string, std::string>& metadata);

}  // namespace etprof
