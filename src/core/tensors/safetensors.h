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
  MappedFile file;  // what `tensors` points into
  std::map<std::string, TensorBytes> tensors;
  std::map<std::string, std::string> metadata;
};

// Throws Error (kBadInput) that names the file and the offset for whatever is not such a file: a header that
// does not fit, is no JSON or of other types, tensors outside of the file, overlapping, or of another size
// than dtype and shape give.
Safetensors ReadSafetensors(const std::filesystem::path& path);

// Writes by rename. Throws Error (kDeviceFailed) as WriteFileAtomically.
void WriteSafetensors(const std::filesystem::path& path,
                      const std::vector<std::pair<std::string, TensorBytes>>& tensors,
                      const std::map<std::string, std::string>& metadata);

// Bytes of one element of a safetensors dtype; 0 for a dtype that is not known.
std::size_t ElementSize(const std::string& dtype);

}  // namespace etprof
