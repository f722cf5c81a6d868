#include "watch/library.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/error.h"

namespace etprof::runner {
namespace {

Error CannotWatch(const std::string& reason) { return Error(ExitCode::kDeviceFailed, reason); }

#if defined(__linux__)
constexpr const char* kSegmentUnknown = "the loader does not tell where {} lies";
#else
constexpr const char* kSegmentUnknown =
    "on this system a library's calls cannot be watched: Linux and Android allow it";
#endif

}  // namespace

LoadedLibrary LoadedLibrary::Containing(const void* code, const char* name) {
  const std::optional<CodeSegment> segment = FindCodeSegment(code);
  if (!segment) throw CannotWatch(fmt::format(kSegmentUnknown, name));
  std::optional<ElfFile> file = ElfFile::Open(segment->path);
  if (!file) throw CannotWatch("is not a library of 64-bit little-endian ELF").InFile(segment->path);
  LoadedLibrary library(*segment, std::move(*file));
  // The file may have been replaced since it was loaded, so compare its code with the code in memory.
  const std::uint64_t address = library.Address(code);
  const ByteView bytes = library.file_.AtAddress(address, 64);
  if (bytes.size() < 64 || std::memcmp(bytes.data(), code, bytes.size()) != 0)
    throw CannotWatch("is not the library that was loaded").InFile(segment->path);
  return library;
}

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
  const std::uint64_t address = location - segment_.base;
  auto next = std::ranges::upper_bound(functions_, address, {}, &ElfFile::Function::address);
  const std::uint64_t end =
      next == functions_.end() ? segment_.begin + segment_.size - segment_.base : next->address;
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
    // Skip slots outside of the file's data.
    if (file_.AtAddress(slot.address, sizeof(void*)).size() < sizeof(void*)) continue;
    Slot loaded{slot.name, reinterpret_cast<void**>(segment_.base + slot.address), nullptr};
    const void* const own_function =
        slot.defined != 0 ? reinterpret_cast<const void*>(segment_.base + slot.defined) : nullptr;
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
