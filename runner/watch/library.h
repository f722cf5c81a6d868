#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/file/elf_file.h"

namespace etprof::runner {

// A library that this process has loaded, and the words through which it calls functions by their names.
class LoadedLibrary {
 public:
  // The one with this code in it; `name` is for messages. Its functions are not looked for. Throws Error
  // (kDeviceFailed) that says why it cannot be watched here: the system, a file that is not what was loaded.
  static LoadedLibrary Holding(const void* code, const char* name);
  // The one with XNNPACK in it. Throws as Holding, also where there is none.
  static LoadedLibrary FindXnnpack();

  const std::string& path() const { return path_; }
  const ElfFile& file() const { return file_; }

  // A place in memory as an address in the file.
  std::uint64_t Address(const void* place) const { return reinterpret_cast<std::uintptr_t>(place) - base_; }
  bool IsCode(std::uintptr_t place) const { return place - code_begin_ < code_size_; }
  // The function that begins at or holds `place`; a name and a size that are not known are empty and what
  // lies before the next function.
  ElfFile::Function FunctionAt(std::uintptr_t place) const;
  // The code of the function that begins at this address of the file, or, on aarch64, to which the entry of
  // the PLT leads that does. Empty: none is known to.
  ByteView CodeOf(std::uint64_t address) const;

  struct Slot {
    std::string name;
    void** place = nullptr;
    void* function = nullptr;  // what it held when it was found
  };
  // Slots whose word holds the function of that name, as the loader resolves it: only such can be replaced.
  std::vector<Slot> Slots() const;

 private:
  LoadedLibrary(std::string path, ElfFile file) : path_(std::move(path)), file_(std::move(file)) {}

  std::string path_;
  ElfFile file_;
  std::vector<ElfFile::Function> functions_;
  std::map<std::uint64_t, std::uint64_t>
      own_slots_;  // address to that of the function, which is in this file
  std::uintptr_t base_ = 0, code_begin_ = 0, code_size_ = 0;
};

// Slots that hold a stand-in. At its end, and when it is told to, each leads where it led before.
class ReplacedSlots {
 public:
  ReplacedSlots() = default;
  ~ReplacedSlots() { Restore(); }
  ReplacedSlots(ReplacedSlots&&) = delete;

  // Also a slot that the loader protected after it had resolved it. Throws Error (kDeviceFailed).
  void Replace(const LoadedLibrary::Slot& slot, void* stand_in);
  void Restore();

 private:
  std::vector<LoadedLibrary::Slot> slots_;
};

}  // namespace etprof::runner
