#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/file/file.h"
#include "core/json/describe.h"
#include "program/program.h"

namespace etprof {

// A piece of data in a .ptd, under the name by which a .pte asks for it.
struct DataFileEntry {
  std::string key;
  std::size_t segment = 0;  // in DataFile::segments
  // Of a tensor; absent of other data (what a backend packed).
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

// What is in a .ptd, weights that a .pte leaves out (extension/flat_tensor/serialize/flat_tensor.fbs), as a
// value.
struct DataFile {
  std::uint32_t version = 0;
  Bytes file_bytes = 0;
  Bytes flatbuffer_bytes = 0;  // from the start of the file, the header in it
  std::vector<DataSegment> segments;
  std::vector<DataFileEntry> entries;
};

// Whether the bytes are such a file, by their identifier ("FT01" at byte 4).
bool IsDataFile(ByteView bytes);

// Behind the identifier, at byte 8, a header stands: "FH01", u32 length of the header, u64 offset and u64
// size of the FlatBuffer, u64 offset of the first segment, u64 size of all segments. (FlatTensorHeader in
// extension/flat_tensor/serialize/serialize.py.) Reads structure only, never weights. Throws Error
// (kBadInput), with the offset, for what is no .ptd, is cut short, or points anywhere outside of what it may.
DataFile ReadDataFile(ByteView bytes, const std::string& file_name);
DataFile ReadDataFile(const std::filesystem::path& path);

// The names that a program expects in a .ptd, each once, in order.
std::vector<std::string> ExternalNames(const Program& program);

// Those of `names` that are not in `data`.
std::vector<std::string> MissingFrom(const DataFile& data, const std::vector<std::string>& names);

}  // namespace etprof
