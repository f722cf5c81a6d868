#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/file/file.h"

namespace etprof {

// A program or library of 64-bit little-endian ELF (Generic ABI of System V, chapters 4 and 5). What is cut
// short or contradicts itself is left out: nothing here throws but for a file that cannot be read. Addresses
// are the file's own: of a library that is loaded they lie above its base.
class ElfFile {
 public:
  static constexpr std::uint64_t kX86_64 = 0x3e, kAarch64 = 0xb7;            // machine()
  static constexpr std::uint64_t kNeeded = 1, kRunPath = 29, kOldPath = 15;  // tags of DynamicTexts

  // Absent: it is no such file.
  static std::optional<ElfFile> Open(const std::filesystem::path& path);

  std::uint64_t machine() const { return At(18, 2); }
  // The texts of all dynamic entries of this tag, in their order, each of at most 4096 bytes.
  std::vector<std::string> DynamicTexts(std::uint64_t tag) const;
  // The path of the loader that a program asks for; empty: none.
  std::string Interpreter() const;
  // The first section of this name; empty where there is none.
  ByteView Section(std::string_view name) const;
  // What the loader maps as executable.
  std::vector<ByteView> Code() const;

  // A word through which the code calls a function by its name (a relocation of the type JUMP_SLOT).
  struct Slot {
    std::string name;
    std::uint64_t address = 0;  // of the word
    std::uint64_t defined = 0;  // where this file has the function itself; 0: another one has it
    bool operator==(const Slot&) const = default;
  };
  std::vector<Slot> Slots() const;

  struct Function {
    std::uint64_t address = 0, size = 0;
    std::string name;  // empty: it has none here
    bool operator==(const Function&) const = default;
  };
  // Where functions begin, by address: what the table for unwinding says (.eh_frame_hdr; Linux Standard Base,
  // Core, 10.6) and the symbols of type FUNC.
  std::vector<Function> Functions() const;

  // What lies in the file for an address; cut to what the segment has. Empty: nothing.
  ByteView AtAddress(std::uint64_t address, std::uint64_t size) const;

 private:
  struct Segment {
    std::uint64_t type, flags, offset, address, size;
  };
  struct Symbol {
    std::uint64_t name = 0, type = 0, address = 0, size = 0;
    bool defined = false;
  };
  std::vector<std::uint64_t> DynamicValues(std::uint64_t tag) const;
  std::uint64_t DynamicValue(std::uint64_t tag) const;    // the last one; 0: there is none
  const Segment* SegmentAt(std::uint64_t address) const;  // of the file that is loaded there
  std::optional<std::uint64_t> OffsetOf(std::uint64_t address) const;
  Symbol SymbolAt(std::uint64_t offset) const;
  explicit ElfFile(MappedFile file);
  std::uint64_t At(std::uint64_t offset, unsigned size) const;  // 0 beyond the end
  ByteView Bytes(std::uint64_t offset, std::uint64_t size) const;
  std::string Text(std::uint64_t offset) const;

  MappedFile file_;
  std::vector<Segment> segments_;
};

}  // namespace etprof
