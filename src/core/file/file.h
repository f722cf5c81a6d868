#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <ostream>
#include <span>
#include <string>

namespace etprof {

class Error;

using ByteView = std::span<const std::byte>;

// The largest files that are read, by what they hold (docs/reference/files.md). Larger ones are refused with
// a message: a sparse file of 100 GB takes no room on a disk, and hours to read.
inline constexpr std::uint64_t kMostText = std::uint64_t{512} << 20U;    // JSON, latencies, tables in memory
inline constexpr std::uint64_t kMostTable = std::uint64_t{8} << 30U;     // timelines, logs
inline constexpr std::uint64_t kMostProgram = std::uint64_t{64} << 30U;  // .pte, .ptd

// Whether there is a folder; false where nobody can tell.
bool IsFolder(const std::filesystem::path& path);

// "runs/a" of "/here/runs/a": as seen from the working directory, where that is shorter.
std::string FromHere(const std::filesystem::path& path);

// Throws Error (kBadInput) where `path` is missing, a folder, a pipe, a device, or a socket. What a library
// or another process opens by its name is required to be a regular file first; a pipe would be waited for.
void RequireRegularFile(const std::filesystem::path& path);

// A whole file in memory: a small one read into it, a large one mapped, so that what is not looked at is not
// read. An empty file is an empty view.
class MappedFile {
 public:
  // Throws Error (kBadInput) naming `path` when it is missing, no regular file (a pipe is not waited for),
  // unreadable, larger than `most` bytes, or became shorter while it was read.
  static MappedFile Open(const std::filesystem::path& path, std::uint64_t most = kMostProgram);
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  ByteView bytes() const { return {static_cast<const std::byte*>(data_), size_}; }

  // Throws Error (kBadInput) where a mapped file became shorter since: what was beyond its end read as zeros.
  void RequireUnchanged() const;

 private:
  MappedFile() = default;
  std::filesystem::path path_;
  void* data_ = nullptr;
  std::size_t size_ = 0;
  int guard_ = -1;  // of a mapped file: its place among those that SIGBUS is caught for
};

// What `read` makes of the file's bytes. Throws what it throws, and as MappedFile::Open and RequireUnchanged.
template <typename Read>
auto WithFile(const std::filesystem::path& path, std::uint64_t most, const Read& read) {
  const MappedFile file = MappedFile::Open(path, most);
  try {
    auto result = read(file.bytes());
    file.RequireUnchanged();
    return result;
  } catch (...) {
    file.RequireUnchanged();  // the reason, where it is one
    throw;
  }
}

// Also false where it cannot be looked at (permissions, a loop of links).
bool Exists(const std::filesystem::path& path);

// Reads a text file of at most kMostText whole. Throws as MappedFile::Open.
std::string ReadTextFile(const std::filesystem::path& path);

// Writes by way of a temporary file beside `path` and a rename, so that a reader (or a crash) sees the old
// file or the whole new one. `write` streams the contents. Creates missing parent folders. A link is
// replaced, not followed. For files of etprof's own names; what a user's option names goes through
// WriteOutput. Throws Error (kDeviceFailed) with the system's reason when anything could not be written (disk
// full, permission), and removes the temporary file.
void WriteFileAtomically(const std::filesystem::path& path, const std::function<void(std::ostream&)>& write);
void WriteFileAtomically(const std::filesystem::path& path, const std::string& contents);

// The Error (kDeviceFailed) of a file that cannot be written, with the system's reason (an errno) and what to
// do about it.
Error CannotWrite(const std::filesystem::path& path, int error);

// When a file was last written to; absent where that cannot be told.
std::optional<std::filesystem::file_time_type> WrittenAt(const std::filesystem::path& path);

// Writes what a user's option names. "-" is the standard output. Links are followed: the regular file that
// they lead to is replaced as WriteFileAtomically does, and keeps its permissions. What is no regular file (a
// device, a pipe, a socket, a descriptor such as /dev/stdout) is written into. A file that is not an earlier
// output of the same kind is never replaced. Throws as RequireReplaceable and WriteFileAtomically.
void WriteOutput(const std::filesystem::path& path, const std::function<void(std::ostream&)>& write);
bool IsStdout(const std::filesystem::path& path);

// Throws Error (kUsage) where `path` is a file that no output may replace: one that a results directory's
// manifest names, or whose contents begin like nothing that etprof writes as an output (a program, tensors,
// an archive). Commands that measure first ask before that.
void RequireReplaceable(const std::filesystem::path& path);

// A new folder among the system's temporary files whose name begins with `start`, for this user alone. Who
// makes it removes it. `what` is for people: "a folder for a checkout". Throws Error (kDeviceFailed).
std::filesystem::path MakeTemporaryFolder(const std::string& start, const std::string& what);

// Removes the temporary files that this process is writing. For signal handlers that end it.
void RemoveUnfinishedTemporaries();

// Whether a file has a name of these functions' temporary files.
bool IsTemporaryName(const std::filesystem::path& path);
// Removes those in a folder whose writer is gone: it was killed. The functions above do so, too, when they
// first write into a folder.
void RemoveStaleTemporaries(const std::filesystem::path& folder);

}  // namespace etprof
