#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/file.h"

namespace etprof {

// A program or library of 64-bit little-endian ELF (Generic ABI of System V, chapters 4 and 5). What is cut
// short or contradicts itself is left out: nothing here throws but for a file that cannot be read.
class ElfFile {
 public:
  static constexpr std::uint64_t kAarch64 = 0xb7;                            // machine()
  static constexpr std::uint64_t kNeeded = 1, kRunPath = 29, kOldPath = 15;  // tags of DynamicTexts

  // Absent: it is no such file.
  static std::optional<ElfFile> Open(const std::filesystem::path& path);

  std::uint64_t machine() const { return At(18, 2); }
  // The texts of all dynamic entries of this tag, in their order, each of at most 4096 bytes.
  std::vector<std::string> DynamicTexts(std::uint64_t tag) const;
  // The first section of this name; empty where there is none.
  ByteView Section(std::string_view name) const;
  // What the loader maps as executable.
  std::vector<ByteView> Code() const;

 private:
  struct Segment {
    std::uint64_t type, flags, offset, address, size;
  };
  explicit ElfFile(MappedFile file);
  std::uint64_t At(std::uint64_t offset, unsigned size) const;  // 0 beyond the end
  ByteView Bytes(std::uint64_t offset, std::uint64_t size) const;
  std::string Text(std::uint64_t offset) const;

  MappedFile file_;
  std::vector<Segment> segments_;
};

}  // namespace etprof
