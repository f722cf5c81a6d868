#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <functional>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <string_view>

namespace etprof {

class Error;
struct GuardedFile;

using ByteView = std::span<const std::byte>;

// Reads a little-endian number of at most 8 bytes.
inline std::uint64_t LittleEndian(ByteView bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) value = value << 8U | std::to_integer<std::uint64_t>(bytes[i]);
  return value;
}

// Returns whether the bytes from `offset` on begin with `text`, such as the identifier of a format.
inline bool HasTextAt(ByteView bytes, std::size_t offset, std::string_view text) {
  return bytes.size() >= offset + text.size() &&
         std::memcmp(bytes.data() + offset, text.data(), text.size()) == 0;
}

inline std::string_view AsText(ByteView bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// The largest files that etprof reads, by their contents (docs/reference/files.md). Larger files are refused
// with a message: a sparse file of 100 GB takes no room on a disk, but hours to read.
inline constexpr std::uint64_t kMaxTextBytes = 512ULL << 20U;    // JSON, latencies, tables in memory
inline constexpr std::uint64_t kMaxTableBytes = 8ULL << 30U;     // timelines, logs
inline constexpr std::uint64_t kMaxProgramBytes = 64ULL << 30U;  // .pte, .ptd

// Returns whether `path` is a folder; false if that cannot be determined.
bool IsFolder(const std::filesystem::path& path);

// The path relative to the working directory if that is shorter: "runs/a" for "/here/runs/a".
std::string ShortestPath(const std::filesystem::path& path);

// Throws Error (kBadInput) if `path` is missing, a folder, a pipe, a device, or a socket. Call this before a
// library or another process opens a file by its name: opening a pipe would block.
void RequireRegularFile(const std::filesystem::path& path);

// The bytes of a whole file. A small file is read into memory. A large file is mapped, so that only
// accessed pages are read. An empty file is an empty view.
class MappedFile {
 public:
  // Throws Error (kBadInput) with the path if the file is missing, not a regular file (a pipe does not
  // block), unreadable, larger than `max_bytes`, or became shorter during the read.
  static MappedFile Open(const std::filesystem::path& path, std::uint64_t max_bytes = kMaxProgramBytes);
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  ByteView bytes() const { return {static_cast<const std::byte*>(data_), size_}; }

  // Throws Error (kBadInput) if a mapped file became shorter after Open: bytes beyond its end read as zeros.
  void RequireUnchanged() const;

 private:
  MappedFile() = default;
  std::filesystem::path path_;
  void* data_ = nullptr;
  std::size_t size_ = 0;
  GuardedFile* guard_ = nullptr;  // entry in the table that the SIGBUS handler knows; null: not mapped
};

// Calls `read` with the file's bytes and returns its result. Throws the exceptions of `read`,
// MappedFile::Open, and RequireUnchanged.
template <typename Read>
auto WithFile(const std::filesystem::path& path, std::uint64_t max_bytes, const Read& read) {
  const MappedFile file = MappedFile::Open(path, max_bytes);
  try {
    auto result = read(file.bytes());
    file.RequireUnchanged();
    return result;
  } catch (...) {
    file.RequireUnchanged();  // a truncated file is the cause of the exception
    throw;
  }
}

// Returns whether `path` exists; false if that cannot be determined (permissions, a loop of links).
bool Exists(const std::filesystem::path& path);

// Reads a whole text file of at most kMaxTextBytes. Throws the exceptions of MappedFile::Open.
std::string ReadTextFile(const std::filesystem::path& path);

// Writes a temporary file next to `path` and renames it, so that a reader (or a crash) sees either the old
// file or the whole new one. `write` streams the contents. Missing parent folders are created. A link is
// replaced, not followed. A device or a descriptor (/dev/null, /dev/stdout) is written to. This is for files
// whose names etprof chooses; a file that a user names in an option goes through WriteOutput. Throws Error
// (kDeviceFailed) with the system's reason if the file cannot be written (disk full, permission), and removes
// the temporary file.
void WriteFileAtomically(const std::filesystem::path& path, const std::function<void(std::ostream&)>& write);
void WriteFileAtomically(const std::filesystem::path& path, std::string_view contents);

// As WriteFileAtomically, but a file that has these contents is left as it is, so its folder may be
// read-only. Calls `write` once, and keeps neither contents in memory.
void WriteFileIfChanged(const std::filesystem::path& path, const std::function<void(std::ostream&)>& write);

// The Error (kDeviceFailed) for a file that cannot be written, with the system's reason (an errno) and a
// remedy.
Error CannotWrite(const std::filesystem::path& path, int error);

// The time of the last write to a file; absent if that cannot be determined.
std::optional<std::filesystem::file_time_type> LastWriteTime(const std::filesystem::path& path);

// Writes a file that a user names in an option. "-" is the standard output. Links are followed: the regular
// file at their end is replaced as by WriteFileAtomically and keeps its permissions. A path that is not a
// regular file (a device, a pipe, a socket, a descriptor such as /dev/fd/3) is opened and written to. A file
// that is not an earlier output of the same kind is never replaced. Throws the exceptions of
// RequireReplaceable and WriteFileAtomically.
void WriteOutput(const std::filesystem::path& path, const std::function<void(std::ostream&)>& write);
// Returns whether the path is "-" or names the descriptor of the standard output, as /dev/stdout does.
bool IsStdout(const std::filesystem::path& path);

// Throws Error (kUsage) if `path` is a file that no output may replace: a file that the manifest of a results
// directory names, or a file that does not begin like an output of etprof (a program, tensors, an archive).
// Commands that measure call this before they measure.
void RequireReplaceable(const std::filesystem::path& path);

// Creates a folder in the system's temporary folder whose name begins with `prefix` and that only this user
// can access. The caller removes it. `description` is for messages: "a folder for a checkout". Throws Error
// (kDeviceFailed).
std::filesystem::path MakeTemporaryFolder(const std::string& prefix, const std::string& description);

// Removes the temporary files that this process is writing. For signal handlers that end the process.
void RemoveUnfinishedTemporaries();

// Returns whether the file's name is that of a temporary file of the functions above.
bool IsTemporaryName(const std::filesystem::path& path);
// Removes temporary files from a folder whose writing process was killed. The functions above call this when
// they first write into a folder.
void RemoveStaleTemporaries(const std::filesystem::path& folder);

}  // namespace etprof
