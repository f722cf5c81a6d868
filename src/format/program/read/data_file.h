#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/file/file.h"
#include "core/json/describe.h"
#include "format/program/program.h"

namespace etprof {

// A piece of data in a .ptd, with the name by which a .pte refers to it.
struct DataFileEntry {
  std::string key;
  std::size_t segment = 0;  // index into DataFile::segments
  // The layout of a tensor; absent for other data (packed by a backend).
  struct Layout {
    DataType type;
    std::vector<std::int64_t> shape;  // elements
    std::vector<std::uint8_t> dim_order;

    static void Describe(auto& v) {
      v("dtype", [](const Layout& json) -> const auto& { return json.type.name; },
        {.meaning = "null, as what follows: it is no tensor"});
      v("shape", &Layout::shape, {.meaning = "elements of each dimension"});
      v("dim_order", &Layout::dim_order, {.meaning = "from the outermost dimension to the innermost"});
    }
  };
  std::optional<Layout> layout;
};

// The contents of a .ptd as values: weights outside of a .pte
// (extension/flat_tensor/serialize/flat_tensor.fbs).
struct DataFile {
  std::uint32_t version = 0;
  Bytes file_bytes = 0;
  Bytes flatbuffer_bytes = 0;  // from the start of the file, including the header
  std::vector<DataSegment> segments;
  std::vector<DataFileEntry> entries;
};

// Returns whether the bytes are a .ptd, by the identifier ("FT01" at byte 4).
bool IsDataFile(ByteView bytes);

// Reads a .ptd. After the identifier, at byte 8, there is a header: "FH01", u32 length of the header, u64
// offset and u64 size of the FlatBuffer, u64 offset of the first segment, u64 size of all segments.
// (FlatTensorHeader in extension/flat_tensor/serialize/serialize.py.) Reads only the structure, never
// weights. Throws Error (kBadInput) with the offset if the file is not a .ptd, is truncated, or has an
// invalid offset.
DataFile ReadDataFile(ByteView bytes, const std::string& file_name);
DataFile ReadDataFile(const std::filesystem::path& path);

// The names that a program expects in a .ptd, without duplicates, in order.
std::vector<std::string> ExternalTensorKeys(const Program& program);

// The `names` that are not in `data`.
std::vector<std::string> FindMissing(const DataFile& data, const std::vector<std::string>& names);

}  // namespace etprof
