#include "format/program/read/program_reader.h"

#include <fmt/format.h>

#include <map>

#include "core/file/file_kind.h"
#include "core/text/text.h"
#include "format/program/read/bundled_program.h"
#include "format/program/read/method_reader.h"
#include "format/program/read/source.h"
#include "format/program/xnn/xnn_graph_reader.h"
#include "program_generated.h"

namespace etprof {
namespace {

namespace pte = executorch_flatbuffer;

constexpr std::size_t kHeaderAt = 8;            // after the root's offset and the identifier
constexpr std::uint32_t kMinHeaderBytes = 24;   // up to the offset of the first segment
constexpr std::uint32_t kFullHeaderBytes = 32;  // including the size of the segments
constexpr const char* kRemedy = "give a .pte that ExecuTorch's exporter wrote";

struct Header {
  std::uint64_t flatbuffer_bytes = 0;
  std::uint64_t segment_base = 0;
};

Error NotAProgram(const Source& source, const std::string& reason) {
  return WrongFileKind(source.bytes(), source.file(), "an ExecuTorch program", reason, 4, kRemedy);
}

void RequireContents(const Source& source) {
  if (!source.bytes().empty()) return;
  throw Error(ExitCode::kBadInput, "is empty (0 bytes)")
      .InFile(source.file())
      .Remedy("export the model again");
}

std::optional<Header> ReadHeader(const Source& source) {
  const ByteView bytes = source.bytes();
  if (bytes.size() < kHeaderAt + kMinHeaderBytes || !HasTextAt(bytes, kHeaderAt, "eh00")) return std::nullopt;
  const std::uint64_t length = LittleEndian(bytes.subspan(kHeaderAt + 4, 4));
  if (length < kMinHeaderBytes) {
    throw source.MakeError(fmt::format("is malformed: its extended header has {} bytes", length),
                           kHeaderAt + 4);
  }
  Header header;
  header.flatbuffer_bytes = LittleEndian(bytes.subspan(kHeaderAt + 8, 8));
  header.segment_base = LittleEndian(bytes.subspan(kHeaderAt + 16, 8));
  std::uint64_t end = header.flatbuffer_bytes;
  if (length >= kFullHeaderBytes && bytes.size() >= kHeaderAt + kFullHeaderBytes &&
      header.segment_base != 0) {
    const std::uint64_t data = LittleEndian(bytes.subspan(kHeaderAt + 24, 8));
    if (__builtin_add_overflow(header.segment_base, data, &end))
      throw source.MakeError("is malformed: its segments are larger than a file can be", kHeaderAt + 24);
  }
  end = std::max(end, header.flatbuffer_bytes);
  if (end > bytes.size()) {
    throw source.MakeError(fmt::format("is cut short: {} of {} bytes are there", bytes.size(), end),
                           bytes.size());
  }
  if (header.segment_base != 0 && header.segment_base < header.flatbuffer_bytes)
    throw source.MakeError("is malformed: its segments begin within the program", kHeaderAt + 16);
  return header;
}

// Reads the table of constants or initial states: a segment, and the offset of each constant in the segment.
// The first entry is reserved. Returns the size of the segment.
Bytes ReadOffsets(const Source& source, const Buffer& buffer, const pte::SubsegmentOffsets& table,
                  const Program& program) {
  const auto* offsets = table.offsets();
  if (offsets == nullptr || offsets->size() == 0) return 0;
  buffer.RequireAligned(source, *offsets);
  source.RequireSegment(table.segment_index(), program.segments.size(), "constants are", buffer.At(&table));
  const Bytes bytes = program.segments[table.segment_index()].bytes;
  for (const std::uint64_t offset : *offsets) {
    if (offset > static_cast<std::uint64_t>(bytes)) {
      throw source.MakeError(fmt::format("a constant at {} is not in its segment of {} bytes", offset, bytes),
                             buffer.At(offsets));
    }
  }
  return bytes;
}

void ReadConstants(const Source& source, const Buffer& buffer, const pte::Program& file, Program& program) {
  std::size_t entries = 0;
  if (const auto* inline_buffers = file.constant_buffer(); inline_buffers != nullptr) {
    entries = inline_buffers->size();
    for (const auto* constant : *inline_buffers) {
      if (constant->storage() != nullptr) program.inline_constant_bytes += constant->storage()->size();
    }
    program.constant_bytes += program.inline_constant_bytes;
  }
  if (const auto* table = file.constant_segment(); table != nullptr) {
    const Bytes bytes = ReadOffsets(source, buffer, *table, program);
    if (table->offsets() != nullptr && table->offsets()->size() > 0) {
      entries = table->offsets()->size();
      program.constant_bytes += bytes;
    }
  }
  program.constants = entries == 0 ? 0 : entries - 1;
  if (file.mutable_data_segments() == nullptr) return;
  for (const auto* table : *file.mutable_data_segments()) {
    program.mutable_bytes += ReadOffsets(source, buffer, *table, program);
  }
}

std::map<std::string, Bytes> ReadNamedData(Source& source, const Buffer& buffer, const pte::Program& file,
                                           Program& program) {
  std::map<std::string, Bytes> bytes;
  if (file.named_data() == nullptr) return bytes;
  for (const auto* entry : *file.named_data()) {
    source.RequireSegment(entry->segment_index(), program.segments.size(), "named data is", buffer.At(entry));
    source.SpendCopyBudget(sizeof(NamedData));
    program.named_data.push_back({source.Text(entry->key()), entry->segment_index()});
    bytes[program.named_data.back().key] = program.segments[entry->segment_index()].bytes;
  }
  return bytes;
}

// Reads the graphs of XNNPACK delegates. Delegates with the same payload share a graph.
void ReadGraphs(Source& source, const std::map<std::string, Bytes>& named_bytes, Program& program) {
  std::map<std::pair<std::uint64_t, Bytes>, std::size_t> graphs_by_payload;
  for (Method& method : program.methods) {
    for (Delegate& delegate : method.delegates) {
      if (!delegate.IsXnnpack()) continue;
      const auto [entry, is_new] =
          graphs_by_payload.try_emplace({delegate.offset, delegate.payload}, program.xnn_graphs.size());
      if (is_new) {
        program.xnn_graphs.push_back(
            ReadXnnGraph(source, delegate.offset, static_cast<std::uint64_t>(delegate.payload), named_bytes));
      }
      delegate.graph = entry->second;
    }
  }
}

}  // namespace

void CheckIsProgram(ByteView bytes, const std::string& file_name) {
  const Source source(ExtractProgram(bytes, file_name).program, file_name);
  bytes = source.bytes();
  const auto is_digit = [&](std::size_t at) { return IsDigit(static_cast<char>(bytes[at])); };
  RequireContents(source);
  if (bytes.size() < kHeaderAt || !HasTextAt(bytes, 4, "ET") || !is_digit(6) || !is_digit(7))
    throw NotAProgram(source, "no ET12 identifier");
  ReadHeader(source);
}

Program ReadProgram(ByteView bytes, const std::string& file_name) {
  BundledProgram bundled = ExtractProgram(bytes, file_name);
  bytes = bundled.program;
  Source source(bytes, file_name);
  RequireContents(source);
  if (bytes.size() < kHeaderAt)
    throw NotAProgram(source, fmt::format("it ends after {} bytes", bytes.size()));
  if (!HasTextAt(bytes, 4, "ET")) throw NotAProgram(source, "no ET12 identifier");
  if (!HasTextAt(bytes, 4, pte::ProgramIdentifier())) {
    throw NotAProgram(source, fmt::format("its identifier is not {}: another version of the format",
                                          pte::ProgramIdentifier()));
  }
  const std::optional<Header> header = ReadHeader(source);
  Program program;
  program.test_cases = std::move(bundled.test_cases);
  program.file_bytes = static_cast<Bytes>(bytes.size());
  program.extended_header = header.has_value();
  program.segment_base = header ? header->segment_base : 0;
  const ByteView flatbuffer = header ? source.Slice(0, header->flatbuffer_bytes, "the program") : bytes;
  program.flatbuffer_bytes = static_cast<Bytes>(flatbuffer.size());
  const Buffer buffer(source, 0, flatbuffer);
  const pte::Program& file = buffer.VerifyRoot<pte::Program>(source, "the program");
  program.version = file.version();
  // A file with only empty segments has no base.
  program.segments =
      ReadSegments(source, buffer, file.segments(),
                   program.segment_base != 0 ? std::optional(program.segment_base) : std::nullopt);
  ReadConstants(source, buffer, file, program);
  const std::map<std::string, Bytes> named_bytes = ReadNamedData(source, buffer, file, program);
  if (file.execution_plan() != nullptr) {
    for (const auto* plan : *file.execution_plan()) {
      program.methods.push_back(ReadMethod(source, buffer, file, *plan, program));
    }
  }
  ReadGraphs(source, named_bytes, program);
  return program;
}

Program ReadProgramFile(const std::filesystem::path& path) {
  return WithFile(path, kMaxProgramBytes, [&](ByteView bytes) { return ReadProgram(bytes, path.string()); });
}

}  // namespace etprof
