#include "format/program/read/data_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "core/file/file_kind.h"
#include "flat_tensor_generated.h"
#include "format/program/read/source.h"

namespace etprof {
namespace {

namespace ptd = flat_tensor_flatbuffer;

constexpr std::size_t kPtdHeaderOffset = 8;  // the header follows the root's offset and the identifier
constexpr std::uint32_t kPtdHeaderBytes = 40;

struct PtdHeader {
  std::uint64_t flatbuffer = 0, flatbuffer_bytes = 0, segment_base = 0;
};

PtdHeader ReadPtdHeader(const Source& source) {
  const ByteView bytes = source.bytes();
  if (bytes.size() < kPtdHeaderOffset + kPtdHeaderBytes || !HasTextAt(bytes, kPtdHeaderOffset, "FH01"))
    throw source.MakeError("is not a .ptd, or is cut short: it has no FH01 header", kPtdHeaderOffset);
  const std::uint64_t length = LittleEndian(bytes.subspan(kPtdHeaderOffset + 4, 4));
  if (length < kPtdHeaderBytes)
    throw source.MakeError(fmt::format("is malformed: its header has {} bytes", length),
                           kPtdHeaderOffset + 4);
  const auto number = [&](std::size_t field) {
    return LittleEndian(bytes.subspan(kPtdHeaderOffset + 8 + 8 * field, 8));
  };
  const PtdHeader header{number(0), number(1), number(2)};
  source.Slice(header.segment_base, number(3), "its data");
  return header;
}

DataFileEntry::Layout ReadLayout(Source& source, const ptd::TensorLayout& layout) {
  DataFileEntry::Layout result;
  result.type = ScalarTypeFromCode(static_cast<int>(layout.scalar_type()));
  if (layout.sizes() != nullptr) {
    source.SpendCopyBudget(layout.sizes()->size() * sizeof(std::int64_t));
    result.shape.assign(layout.sizes()->begin(), layout.sizes()->end());
  }
  if (layout.dim_order() != nullptr) {
    source.SpendCopyBudget(layout.dim_order()->size());
    result.dim_order.assign(layout.dim_order()->begin(), layout.dim_order()->end());
  }
  return result;
}

}  // namespace

bool IsDataFile(ByteView bytes) { return HasTextAt(bytes, 4, ptd::FlatTensorIdentifier()); }

DataFile ReadDataFile(ByteView bytes, const std::string& file_name) {
  Source source(bytes, file_name);
  if (!IsDataFile(bytes)) {
    throw WrongFileKind(bytes, file_name, "a .ptd", "no FT01 identifier",
                        std::min<std::uint64_t>(4, bytes.size()),
                        "give a .ptd that ExecuTorch's exporter wrote");
  }
  const PtdHeader header = ReadPtdHeader(source);
  DataFile data;
  data.file_bytes = static_cast<Bytes>(bytes.size());
  // The FlatBuffer begins at the start of the file; the header was inserted after its root offset.
  std::uint64_t end = 0;
  if (__builtin_add_overflow(header.flatbuffer, header.flatbuffer_bytes, &end))
    throw source.MakeError("is malformed: its FlatBuffer is larger than a file can be", kPtdHeaderOffset + 8);
  const ByteView flatbuffer = source.Slice(0, end, "its FlatBuffer");
  data.flatbuffer_bytes = static_cast<Bytes>(flatbuffer.size());
  const Buffer buffer(source, 0, flatbuffer);
  const auto& file = buffer.VerifyRoot<ptd::FlatTensor>(source, "the list of tensors");
  data.version = file.version();
  data.segments = ReadSegments(source, buffer, file.segments(), header.segment_base);
  if (file.named_data() == nullptr) return data;
  for (const auto* entry : *file.named_data()) {
    source.RequireSegment(entry->segment_index(), data.segments.size(), "named data is", buffer.At(entry));
    source.SpendCopyBudget(sizeof(DataFileEntry));
    DataFileEntry data_entry;
    data_entry.key = source.Text(entry->key());
    data_entry.segment = entry->segment_index();
    if (entry->tensor_layout() != nullptr) data_entry.layout = ReadLayout(source, *entry->tensor_layout());
    data.entries.push_back(std::move(data_entry));
  }
  return data;
}

DataFile ReadDataFile(const std::filesystem::path& path) {
  return WithFile(path, kMaxProgramBytes, [&](ByteView bytes) { return ReadDataFile(bytes, path.string()); });
}

std::vector<std::string> ExternalTensorKeys(const Program& program) {
  std::vector<std::string> names;
  std::set<std::string> seen;
  const auto add = [&](const std::string& name) {
    if (seen.insert(name).second) names.push_back(name);
  };
  for (const Method& method : program.methods) {
    for (const ProgramValue& value : method.values)
      if (value.tensor && value.tensor->data == ProgramTensor::Data::kExternal) add(value.tensor->name);
  }
  for (const XnnGraph& graph : program.xnn_graphs) {
    for (const XnnConstant& constant : graph.constants)
      if (constant.place == XnnConstant::Place::kExternal) add(constant.key);
  }
  return names;
}

std::vector<std::string> FindMissing(const DataFile& data, const std::vector<std::string>& names) {
  std::set<std::string> existing;
  for (const DataFileEntry& entry : data.entries) existing.insert(entry.key);
  std::vector<std::string> missing;
  std::ranges::copy_if(names, std::back_inserter(missing),
                       [&](const std::string& name) { return !existing.contains(name); });
  return missing;
}

}  // namespace etprof
