#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <ostream>
#include <span>
#include <string>

namespace etprof {

using ByteView = std::span<const std::byte>;

// A whole file mapped read-only into memory. An empty file is an empty view.
class MappedFile {
 public:
  // Throws Error (kBadInput) naming `path` when it is missing, a folder, or unreadable.
  static MappedFile Open(const std::filesystem::path& path);
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  ByteView bytes() const { return {static_cast<const std::byte*>(data_), size_}; }

 private:
  MappedFile(void* data, std::size_t size) : data_(data), size_(size) {}
  void* data_ = nullptr;
  std::size_t size_ = 0;
};

// Also false where it cannot be looked at (permissions, a loop of links).
bool Exists(const std::filesystem::path& path);

// Reads a text file whole. Throws as MappedFile::Open.
std::string ReadTextFile(const std::filesystem::path& path);

// Writes by way of a temporary file beside `path` and a rename, so that a reader (or a crash) sees the old
// file or the whole new one. `write` streams the contents. Creates missing parent folders. Throws Error
// (kDeviceFailed) with the system's reason when anything could not be written (disk full, permission), and
// removes the temporary file.
void WriteFileAtomically(const std::filesystem::path& path, const std::function<void(std::ostream&)>& write);
void WriteFileAtomically(const std::filesystem::path& path, const std::string& contents);

}  // namespace etprof
