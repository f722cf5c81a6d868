#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/file/elf_file.h"
#include "inference/libraries.h"

namespace etprof::runner {

// A loaded library of this process, and the slots (GOT entries) through which it calls functions by name.
class LoadedLibrary {
 public:
  // Finds the library that contains this code; `name` is for messages. Does not read its functions. Throws
  // Error (kDeviceFailed) with the reason if its calls cannot be watched: an unsupported system, or a file
  // that is not the loaded one.
  static LoadedLibrary Containing(const void* code, const char* name);
  // Finds the library that contains XNNPACK, and reads its functions. Throws Error like Containing(), also if
  // there is no such library.
  static LoadedLibrary FindXnnpack();

  const std::string& path() const { return segment_.path; }
  const ElfFile& file() const { return file_; }

  // Converts a memory address to an address in the file.
  std::uint64_t Address(const void* location) const {
    return reinterpret_cast<std::uintptr_t>(location) - segment_.base;
  }
  bool IsCode(std::uintptr_t location) const { return location - segment_.begin < segment_.size; }
  // The function that begins at or contains `location`. If its name is not known, the name is empty; if its
  // size is not known, the size reaches up to the next function.
  ElfFile::Function FunctionAt(std::uintptr_t location) const;
  // The code of the function at this address of the file. On aarch64, `address` may also be a PLT entry that
  // leads to the function. Empty: the function is not known.
  ByteView FunctionCode(std::uint64_t address) const;

  struct Slot {
    std::string name;
    void** location = nullptr;
    void* function = nullptr;  // contents when the slot was found
  };
  // The slots that already contain the function that the loader finds by the slot's name, or this library's
  // own function of that name. Only these can be replaced.
  std::vector<Slot> Slots() const;

 private:
  LoadedLibrary(CodeSegment segment, ElfFile file) : segment_(std::move(segment)), file_(std::move(file)) {}

  CodeSegment segment_;
  ElfFile file_;
  std::vector<ElfFile::Function> functions_;
  // Slots whose function is in this file: addresses of the functions by addresses of the slots.
  std::map<std::uint64_t, std::uint64_t> own_slots_;
};

// Slots with replaced functions. Restore() and the destructor restore the original functions.
class ReplacedSlots {
 public:
  ReplacedSlots() = default;
  ~ReplacedSlots() { Restore(); }
  ReplacedSlots(ReplacedSlots&&) = delete;

  // Replaces the function in a slot, even if the loader has made the slot read-only. Throws Error
  // (kDeviceFailed).
  void Replace(const LoadedLibrary::Slot& slot, void* replacement);
  void Restore();

 private:
  std::vector<LoadedLibrary::Slot> slots_;
};

}  // namespace etprof::runner
