#include "core/file/elf_file.h"

#include <algorithm>
#include <map>

namespace etprof {
namespace {

// Segment types, tags of dynamic entries, and relocation types.
constexpr std::uint64_t kLoad = 1, kDynamic = 2, kInterpreter = 3, kUnwindTable = 0x6474e550;
constexpr std::uint64_t kJumpRelocationsSize = 2, kStringTable = 5, kSymbolTable = 6, kJumpRelocations = 23;
constexpr std::uint64_t kJumpSlotX86 = 7, kJumpSlotAarch64 = 1026;
constexpr std::uint64_t kRelocationSize = 24, kSymbolSize = 24;
constexpr std::uint64_t kFunctionSymbol = 2;          // symbol type FUNC
constexpr std::uint64_t kSymbolSections[] = {2, 11};  // SYMTAB, DYNSYM
constexpr std::uint64_t kMaxEntries = 1 << 20;        // limit for every table: more than real libraries have
constexpr std::uint64_t kExecutable = 1;              // segment flag
constexpr std::uint64_t kNoBits = 8;                  // a section without bytes in the file
constexpr std::size_t kMaxTextBytesRead = 4096;

}  // namespace

std::optional<ElfFile> ElfFile::Open(const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error) || std::filesystem::file_size(path, error) < 64)
    return std::nullopt;
  ElfFile file(MappedFile::Open(path));
  if (file.At(0, 4) != 0x464c457f || file.At(4, 1) != 2 || file.At(5, 1) != 1) return std::nullopt;
  return file;
}

ElfFile::ElfFile(MappedFile file) : file_(std::move(file)) {
  const std::uint64_t headers = At(32, 8), header_size = At(54, 2), count = At(56, 2);
  for (std::uint64_t i = 0; i < count && header_size >= 56; ++i) {
    const std::uint64_t header = headers + i * header_size;
    if (header < headers || header > file_.bytes().size()) break;
    segments_.push_back(
        {At(header, 4), At(header + 4, 4), At(header + 8, 8), At(header + 16, 8), At(header + 32, 8)});
  }
}

std::uint64_t ElfFile::At(std::uint64_t offset, unsigned size) const {
  const ByteView bytes = Bytes(offset, size);
  return bytes.size() == size ? LittleEndian(bytes) : 0;
}

ByteView ElfFile::Bytes(std::uint64_t offset, std::uint64_t size) const {
  const ByteView bytes = file_.bytes();
  if (offset >= bytes.size()) return {};
  return bytes.subspan(static_cast<std::size_t>(offset),
                       static_cast<std::size_t>(std::min<std::uint64_t>(size, bytes.size() - offset)));
}

std::string ElfFile::StringAt(std::uint64_t offset) const {
  const std::string_view text = AsText(Bytes(offset, kMaxTextBytesRead));
  return std::string(text.substr(0, text.find('\0')));
}

const ElfFile::Segment* ElfFile::SegmentAt(std::uint64_t address) const {
  for (const Segment& segment : segments_) {
    if (segment.type == kLoad && address >= segment.address && address - segment.address < segment.size)
      return &segment;
  }
  return nullptr;
}

std::optional<std::uint64_t> ElfFile::FileOffset(std::uint64_t address) const {
  const Segment* const segment = SegmentAt(address);
  if (segment == nullptr) return std::nullopt;
  return segment->offset + (address - segment->address);
}

ByteView ElfFile::AtAddress(std::uint64_t address, std::uint64_t size) const {
  const Segment* const segment = SegmentAt(address);
  if (segment == nullptr) return {};
  const std::uint64_t offset_in_segment = address - segment->address;
  return Bytes(segment->offset + offset_in_segment, std::min(size, segment->size - offset_in_segment));
}

std::vector<std::uint64_t> ElfFile::DynamicValues(std::uint64_t tag) const {
  std::vector<std::uint64_t> values;
  for (const Segment& segment : segments_) {
    if (segment.type != kDynamic) continue;
    const std::uint64_t end = segment.offset + Bytes(segment.offset, segment.size).size();
    for (std::uint64_t entry = segment.offset; entry + 16 <= end && At(entry, 8) != 0; entry += 16) {
      if (At(entry, 8) == tag) values.push_back(At(entry + 8, 8));
    }
  }
  return values;
}

std::uint64_t ElfFile::DynamicValue(std::uint64_t tag) const {
  const std::vector<std::uint64_t> values = DynamicValues(tag);
  return values.empty() ? 0 : values.back();
}

std::vector<std::string> ElfFile::DynamicStrings(std::uint64_t tag) const {
  std::vector<std::string> texts;
  const std::optional<std::uint64_t> strings = FileOffset(DynamicValue(kStringTable));
  if (!strings || *strings > file_.bytes().size()) return texts;
  for (const std::uint64_t text_offset : DynamicValues(tag)) {
    if (text_offset <= file_.bytes().size() - *strings) texts.push_back(StringAt(*strings + text_offset));
  }
  return texts;
}

std::string ElfFile::Interpreter() const {
  const auto header = std::ranges::find(segments_, kInterpreter, &Segment::type);
  return header == segments_.end() ? "" : StringAt(header->offset);
}

ElfFile::Symbol ElfFile::SymbolAt(std::uint64_t offset) const {
  return {.name = At(offset, 4),
          .type = At(offset + 4, 1) & 0xf,
          .address = At(offset + 8, 8),
          .size = At(offset + 16, 8),
          .defined = At(offset + 6, 2) != 0};
}

std::vector<ElfFile::Slot> ElfFile::Slots() const {
  const auto strings = FileOffset(DynamicValue(kStringTable)),
             symbols = FileOffset(DynamicValue(kSymbolTable));
  const auto relocations = FileOffset(DynamicValue(kJumpRelocations));
  std::vector<Slot> slots;
  if (!strings || !symbols || !relocations) return slots;
  const std::uint64_t type = machine() == kX86_64 ? kJumpSlotX86 : kJumpSlotAarch64;
  const std::uint64_t count =
      std::min(Bytes(*relocations, DynamicValue(kJumpRelocationsSize)).size() / kRelocationSize, kMaxEntries);
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t entry = *relocations + i * kRelocationSize;
    if (At(entry + 8, 4) != type) continue;
    const std::uint64_t symbol_offset = *symbols + At(entry + 12, 4) * kSymbolSize;
    if (Bytes(symbol_offset, kSymbolSize).size() < kSymbolSize) continue;
    const Symbol symbol = SymbolAt(symbol_offset);
    Slot slot{StringAt(*strings + symbol.name), At(entry, 8), symbol.defined ? symbol.address : 0};
    if (!slot.name.empty() && slot.address != 0) slots.push_back(std::move(slot));
  }
  return slots;
}

std::vector<ElfFile::Function> ElfFile::Functions() const {
  std::map<std::uint64_t, Function> by_address;
  for (const Segment& segment : segments_) {
    if (segment.type != kUnwindTable) continue;
    // Read only the form that all linkers write: version 1, the number of entries as an unsigned 32-bit word
    // (encoding 0x03), and entries of two signed 32-bit offsets from the header (encoding 0x3b).
    if (At(segment.offset, 1) != 1 || At(segment.offset + 2, 1) != 0x03 || At(segment.offset + 3, 1) != 0x3b)
      continue;
    // Reads an address that is stored relative to the header.
    const auto read_address = [&](std::uint64_t offset) {
      return segment.address +
             static_cast<std::uint64_t>(static_cast<std::int64_t>(static_cast<std::int32_t>(At(offset, 4))));
    };
    const std::uint64_t count = std::min<std::uint64_t>(At(segment.offset + 8, 4), kMaxEntries);
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint64_t entry = segment.offset + 12 + 8 * i;
      if (Bytes(entry, 8).size() < 8) break;
      const std::uint64_t address = read_address(entry);
      // The frame description entry: length, CIE, function address (relative to this field), function size.
      const auto description = FileOffset(read_address(entry + 4));
      by_address[address] = {address, description ? At(*description + 12, 4) : 0, ""};
    }
  }
  const std::uint64_t headers = At(40, 8), header_size = At(58, 2), sections = At(60, 2);
  for (std::uint64_t i = 0; i < sections && header_size >= 64 && headers < file_.bytes().size(); ++i) {
    const std::uint64_t header = headers + i * header_size;
    if (std::ranges::find(kSymbolSections, At(header + 4, 4)) == std::end(kSymbolSections)) continue;
    const std::uint64_t table = At(header + 24, 8),
                        strings = At(headers + At(header + 40, 4) * header_size + 24, 8);
    if (table > file_.bytes().size() || strings > file_.bytes().size()) continue;
    const std::uint64_t count = std::min(Bytes(table, At(header + 32, 8)).size() / kSymbolSize, kMaxEntries);
    for (std::uint64_t k = 0; k < count; ++k) {
      const Symbol symbol = SymbolAt(table + k * kSymbolSize);
      if (symbol.type != kFunctionSymbol || !symbol.defined || symbol.address == 0) continue;
      Function& function = by_address[symbol.address];
      function.address = symbol.address;
      if (function.size == 0) function.size = symbol.size;
      if (function.name.empty()) function.name = StringAt(strings + symbol.name);
    }
  }
  std::vector<Function> functions;
  for (auto& [address, function] : by_address) {
    // A function ends where the next function begins, at the latest.
    if (!functions.empty())
      functions.back().size = std::min(functions.back().size, address - functions.back().address);
    functions.push_back(std::move(function));
  }
  return functions;
}

ByteView ElfFile::Section(std::string_view name) const {
  const std::uint64_t headers = At(40, 8), header_size = At(58, 2), count = At(60, 2), names = At(62, 2);
  if (headers == 0 || header_size < 64 || names >= count) return {};
  const auto header = [&](std::uint64_t index) { return headers + index * header_size; };
  if (header(count) < headers || header(count) > file_.bytes().size()) return {};
  const std::uint64_t table = At(header(names) + 24, 8);
  for (std::uint64_t i = 0; i < count; ++i) {
    if (At(header(i) + 4, 4) == kNoBits || table > file_.bytes().size()) continue;
    if (StringAt(table + At(header(i), 4)) == name)
      return Bytes(At(header(i) + 24, 8), At(header(i) + 32, 8));
  }
  return {};
}

std::vector<ByteView> ElfFile::Code() const {
  std::vector<ByteView> code;
  for (const Segment& segment : segments_) {
    if (segment.type == kLoad && (segment.flags & kExecutable) != 0)
      code.push_back(Bytes(segment.offset, segment.size));
  }
  return code;
}

}  // namespace etprof
