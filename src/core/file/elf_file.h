#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/file/file.h"

namespace etprof {

// A program or library in the 64-bit little-endian ELF format (System V Generic ABI, chapters 4 and 5).
// Truncated or contradictory parts are left out: only an unreadable file throws. Addresses are those of the
// file; a loaded library adds its base address to them.
class ElfFile {
 public:
  static constexpr std::uint64_t kX86_64 = 0x3e, kAarch64 = 0xb7;          // values of machine()
  static constexpr std::uint64_t kNeeded = 1, kRunPath = 29, kRPath = 15;  // tags for DynamicStrings

  // Absent if the file is not a 64-bit little-endian ELF file.
  static std::optional<ElfFile> Open(const std::filesystem::path& path);

  std::uint64_t machine() const { return At(18, 2); }
  // The strings of all dynamic entries with this tag, in file order, each at most 4096 bytes.
  std::vector<std::string> DynamicStrings(std::uint64_t tag) const;
  // The path of the loader that the program requests; empty if it requests none.
  std::string Interpreter() const;
  // The contents of the first section with this name; empty if there is none.
  ByteView Section(std::string_view name) const;
  // The segments that the loader maps as executable.
  std::vector<ByteView> Code() const;

  // A pointer through which the code calls a function by name (a relocation of type JUMP_SLOT).
  struct Slot {
    std::string name;
    std::uint64_t address = 0;  // address of the pointer
    std::uint64_t defined = 0;  // address of the function; 0: another file defines it
    bool operator==(const Slot&) const = default;
  };
  std::vector<Slot> Slots() const;

  struct Function {
    std::uint64_t address = 0, size = 0;
    std::string name;  // empty: the file does not name the function
    bool operator==(const Function&) const = default;
  };
  // All functions, sorted by address, from the unwind table (.eh_frame_hdr; Linux Standard Base, Core, 10.6)
  // and the symbols of type FUNC.
  std::vector<Function> Functions() const;

  // The bytes that the file has for an address range, truncated to the segment's end. Empty if no segment
  // contains the address.
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
  // The value of the last dynamic entry with this tag; 0: there is no such entry.
  std::uint64_t DynamicValue(std::uint64_t tag) const;
  // The loaded segment that contains the address; null if there is none.
  const Segment* SegmentAt(std::uint64_t address) const;
  std::optional<std::uint64_t> FileOffset(std::uint64_t address) const;
  Symbol SymbolAt(std::uint64_t offset) const;
  explicit ElfFile(MappedFile file);
  std::uint64_t At(std::uint64_t offset, unsigned size) const;  // 0 beyond the end of the file
  ByteView Bytes(std::uint64_t offset, std::uint64_t size) const;
  std::string StringAt(std::uint64_t offset) const;

  MappedFile file_;
  std::vector<Segment> segments_;
};

}  // namespace etprof
