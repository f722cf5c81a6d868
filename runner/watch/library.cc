#include "watch/library.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/error.h"
#include "inference/libraries.h"

#if defined(__linux__)
#include <link.h>
#endif

namespace etprof::runner {
namespace {

Error CannotWatch(const std::string& reason) { return Error(ExitCode::kDeviceFailed, reason); }

}  // namespace

#if defined(__linux__)

LoadedLibrary LoadedLibrary::Containing(const void* code, const char* name) {
  struct Search {
    std::uintptr_t address;
    std::string path;
    std::uintptr_t base = 0, begin = 0, size = 0;
  } search{reinterpret_cast<std::uintptr_t>(code), {}};
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* data) {
        auto& search_result = *static_cast<Search*>(data);
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const auto& header = info->dlpi_phdr[i];
          const std::uintptr_t begin = info->dlpi_addr + header.p_vaddr;
          if (header.p_type != PT_LOAD || (header.p_flags & PF_X) == 0 ||
              search_result.address - begin >= header.p_memsz)
            continue;
          search_result.path = info->dlpi_name;
          search_result.base = info->dlpi_addr;
          search_result.begin = begin;
          search_result.size = header.p_memsz;
          return 1;
        }
        return 0;
      },
      &search);
  if (search.size == 0) throw CannotWatch(fmt::format("the loader does not tell where {} lies", name));
  std::optional<ElfFile> file = ElfFile::Open(search.path);
  if (!file) throw CannotWatch("is not a library of 64-bit little-endian ELF").InFile(search.path);
  LoadedLibrary library(search.path, std::move(*file));
  library.base_ = search.base;
  library.code_begin_ = search.begin;
  library.code_size_ = search.size;
  // The file may have been replaced since it was loaded, so compare its code with the code in memory.
  const std::uint64_t address = library.Address(code);
  const ByteView bytes = library.file_.AtAddress(address, 64);
  if (bytes.size() < 64 || std::memcmp(bytes.data(), code, bytes.size()) != 0)
    throw CannotWatch("is not the library that was loaded").InFile(search.path);
  return library;
}

#else

LoadedLibrary LoadedLibrary::Containing(const void*, const char*) {
  throw CannotWatch("on this system a library's calls cannot be watched: Linux and Android allow it");
}

#endif

LoadedLibrary LoadedLibrary::FindXnnpack() {
  const void* const function = ::dlsym(RTLD_DEFAULT, kXnnpackFunction);
  if (function == nullptr) throw CannotWatch("the XNNPACK backend is not loaded as a library of its own");
  LoadedLibrary library = Containing(function, "the XNNPACK backend");
  library.functions_ = library.file_.Functions();
  for (const ElfFile::Slot& slot : library.file_.Slots()) {
    if (slot.defined != 0) library.own_slots_[slot.address] = slot.defined;
  }
  return library;
}

ElfFile::Function LoadedLibrary::FunctionAt(std::uintptr_t location) const {
  const std::uint64_t address = location - base_;
  auto next = std::ranges::upper_bound(functions_, address, {}, &ElfFile::Function::address);
  const std::uint64_t end = next == functions_.end() ? code_begin_ + code_size_ - base_ : next->address;
  if (next != functions_.begin()) {
    const ElfFile::Function& previous = *std::prev(next);
    if (previous.address == address && previous.size > 0) return previous;
    if (previous.address == address) return {address, end - address, previous.name};
    if (address - previous.address < previous.size)
      return {address, previous.address + previous.size - address, ""};
  }
  return {address, end - address, ""};
}

ByteView LoadedLibrary::FunctionCode(std::uint64_t address) const {
  // The instructions of a PLT entry: adrp x16, PAGE; ldr x17, [x16, #OFFSET] (the same for all linkers; after
  // `bti c` if that is used).
  const auto word = [&](std::uint64_t at) {
    std::uint32_t value = 0;
    if (const ByteView bytes = file_.AtAddress(at, sizeof(value)); bytes.size() == sizeof(value))
      std::memcpy(&value, bytes.data(), sizeof(value));
    return value;
  };
  std::uint64_t entry = address;
  if (word(entry) == 0xd503245fU) entry += 4;
  const std::uint32_t page = word(entry), load = word(entry + 4);
  if (file_.machine() == ElfFile::kAarch64 && (page & 0x9f00001fU) == 0x90000010U &&
      (load & 0xffc003ffU) == 0xf9400211U) {
    const std::uint32_t pages = (page >> 29U & 3U) | (page >> 5U & 0x7ffffU) << 2U;
    const std::int64_t distance =
        static_cast<std::int64_t>(static_cast<std::int32_t>(pages << 11U) >> 11) * 4096;
    const std::uint64_t slot =
        (entry & ~std::uint64_t{4095}) + static_cast<std::uint64_t>(distance) + (load >> 10U & 0xfffU) * 8;
    if (const auto found = own_slots_.find(slot); found != own_slots_.end()) address = found->second;
  }
  const auto found = std::ranges::lower_bound(functions_, address, {}, &ElfFile::Function::address);
  if (found == functions_.end() || found->address != address) return {};
  return file_.AtAddress(address, found->size);
}

std::vector<LoadedLibrary::Slot> LoadedLibrary::Slots() const {
  std::vector<Slot> slots;
  for (const ElfFile::Slot& slot : file_.Slots()) {
    // The slot is not in the file's data.
    if (file_.AtAddress(slot.address, sizeof(void*)).size() < sizeof(void*)) continue;
    Slot loaded{slot.name, reinterpret_cast<void**>(base_ + slot.address), nullptr};
    const void* const own_function =
        slot.defined != 0 ? reinterpret_cast<const void*>(base_ + slot.defined) : nullptr;
    const void* const resolved = ::dlsym(RTLD_DEFAULT, slot.name.c_str());
    loaded.function = *loaded.location;
    if (loaded.function != nullptr && (loaded.function == resolved || loaded.function == own_function))
      slots.push_back(std::move(loaded));
  }
  return slots;
}

void ReplacedSlots::Replace(const LoadedLibrary::Slot& slot, void* replacement) {
  slots_.reserve(slots_.size() + 1);  // no allocation can fail after the slot is written
  const auto page_size = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const std::uintptr_t page = reinterpret_cast<std::uintptr_t>(slot.location) / page_size * page_size;
  // The page stays writable: its previous protection is not known, and other slots of the library may be on
  // it.
  if (::mprotect(reinterpret_cast<void*>(page), page_size, PROT_READ | PROT_WRITE) != 0) {
    throw CannotWatch(fmt::format("the call of {} cannot be replaced: {}", slot.name, std::strerror(errno)));
  }
  __atomic_store_n(slot.location, replacement, __ATOMIC_SEQ_CST);
  slots_.push_back(slot);
}

void ReplacedSlots::Restore() {
  // These pages have been writable since the slots were replaced.
  for (const LoadedLibrary::Slot& slot : slots_)
    __atomic_store_n(slot.location, slot.function, __ATOMIC_SEQ_CST);
  slots_.clear();
}

}  // namespace etprof::runner
