#include "device/elf_file.h"

#include <algorithm>

namespace etprof {
namespace {

constexpr std::uint64_t kLoad = 1, kDynamic = 2, kStringTable = 5;  // of segments and of dynamic entries
constexpr std::uint64_t kExecutable = 1;                            // of a segment's flags
constexpr std::uint64_t kNoBits = 8;                                // a section without bytes in the file
constexpr std::size_t kLongestText = 4096;

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
  const ByteView bytes = file_.bytes();
  std::uint64_t value = 0;
  if (offset > bytes.size() || bytes.size() - offset < size) return value;
  for (unsigned i = 0; i < size; ++i)
    value |= std::uint64_t{static_cast<unsigned char>(bytes[static_cast<std::size_t>(offset) + i])}
             << (8 * i);
  return value;
}

ByteView ElfFile::Bytes(std::uint64_t offset, std::uint64_t size) const {
  const ByteView bytes = file_.bytes();
  if (offset >= bytes.size()) return {};
  return bytes.subspan(static_cast<std::size_t>(offset),
                       static_cast<std::size_t>(std::min<std::uint64_t>(size, bytes.size() - offset)));
}

std::string ElfFile::Text(std::uint64_t offset) const {
  std::string text;
  for (const std::byte byte : Bytes(offset, kLongestText)) {
    if (byte == std::byte{0}) break;
    text += static_cast<char>(byte);
  }
  return text;
}

std::vector<std::string> ElfFile::DynamicTexts(std::uint64_t tag) const {
  std::vector<std::uint64_t> texts;
  std::uint64_t table = 0;
  for (const Segment& segment : segments_) {
    if (segment.type != kDynamic) continue;
    const std::uint64_t end = segment.offset + Bytes(segment.offset, segment.size).size();
    for (std::uint64_t entry = segment.offset; entry + 16 <= end && At(entry, 8) != 0; entry += 16) {
      if (At(entry, 8) == tag) texts.push_back(At(entry + 8, 8));
      if (At(entry, 8) == kStringTable) table = At(entry + 8, 8);
    }
  }
  // The table is told by its address in memory.
  std::optional<std::uint64_t> strings;
  for (const Segment& segment : segments_) {
    if (segment.type == kLoad && table >= segment.address && table - segment.address < segment.size)
      strings = segment.offset + (table - segment.address);
  }
  std::vector<std::string> found;
  for (const std::uint64_t text : texts) {
    if (strings && *strings <= file_.bytes().size() && text <= file_.bytes().size() - *strings)
      found.push_back(Text(*strings + text));
  }
  return found;
}

ByteView ElfFile::Section(std::string_view name) const {
  const std::uint64_t headers = At(40, 8), header_size = At(58, 2), count = At(60, 2), names = At(62, 2);
  if (headers == 0 || header_size < 64 || names >= count) return {};
  const auto header = [&](std::uint64_t index) { return headers + index * header_size; };
  if (header(count) < headers || header(count) > file_.bytes().size()) return {};
  const std::uint64_t table = At(header(names) + 24, 8);
  for (std::uint64_t i = 0; i < count; ++i) {
    if (At(header(i) + 4, 4) == kNoBits || table > file_.bytes().size()) continue;
    if (Text(table + At(header(i), 4)) == name) return Bytes(At(header(i) + 24, 8), At(header(i) + 32, 8));
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
