#include "core/file/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <mutex>
#include <new>
#include <utility>

#include "core/error.h"
#include "core/file/descriptor.h"
#include "core/parallel.h"
#include "core/units.h"

namespace etprof {

// The mapped files. If a file becomes shorter, the system answers a read beyond its new end with SIGBUS. The
// handler maps a page of zeros there and marks the file. The reader then finds zeros, and RequireUnchanged
// finds the mark.
struct GuardedFile {
  std::atomic<const char*> begin = nullptr;  // null: this entry is free
  std::atomic<std::size_t> size = 0;
  std::atomic<bool> changed = false;
};

namespace {

Error CannotRead(const std::filesystem::path& path, int error) {
  const bool is_limit = IsResourceLimit(std::error_code(error, std::generic_category()));
  return Error(is_limit ? ExitCode::kDeviceFailed : ExitCode::kBadInput,
               error == ENOENT ? "no such file" : fmt::format("cannot be read: {}", std::strerror(error)))
      .InFile(path.string())
      .Remedy(is_limit ? kLimitsRemedy : "check the path and its permissions");
}

void RequireRegular(const std::filesystem::path& path, const struct stat& status) {
  if (S_ISREG(status.st_mode)) return;
  throw Error(ExitCode::kBadInput,
              S_ISDIR(status.st_mode) ? "is a folder, not a file" : "is not a regular file")
      .InFile(path.string())
      .Remedy("give a file");
}

Error ChangedWhileRead(const std::filesystem::path& path) {
  return Error(ExitCode::kBadInput, "changed while it was read: it became shorter")
      .InFile(path.string())
      .Remedy("try again once nothing writes it");
}

// Files up to this size are read into memory, because a copy cannot become shorter. Mapping is faster if
// large parts of a file are never accessed.
constexpr std::size_t kMaxReadBytes = std::size_t{16} << 20U;

std::array<GuardedFile, 64> guarded_files;

// Makes a read beyond the end of a mapped file return zeros. Returns false if the address is not in one of
// our mappings.
bool MapZeroPage(const char* address) {
  for (GuardedFile& file : guarded_files) {
    const char* const begin = file.begin;
    if (begin == nullptr || address < begin || address >= begin + file.size) continue;
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    auto* const start = const_cast<char*>(begin) + static_cast<std::size_t>(address - begin) / page * page;
    if (::mmap(start, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == start) {
      file.changed = true;
      return true;
    }
  }
  return false;
}

// The SIGBUS handlers that ours replaced. The process may belong to a host with its own handlers, such as
// Python's faulthandler, installed before or after ours. Each of our installations uses a different function,
// so that a host that restores an earlier handler never creates a cycle with ours.
constexpr std::size_t kMaxInstallations = 8;
std::array<struct sigaction, kMaxInstallations> replaced_handlers;
std::size_t installations = 0;

// Does what the process would do without our handler.
void ForwardBusError(struct sigaction& before, int signal, siginfo_t* info, void* context) {
  const bool is_sent = info->si_code <= 0;  // sent by kill() or raise(): no memory access is repeated
  const struct sigaction handler = before;
  if ((handler.sa_flags & static_cast<int>(SA_RESETHAND)) != 0) before.sa_handler = SIG_DFL;
  if ((handler.sa_flags & SA_SIGINFO) != 0) {
    handler.sa_sigaction(signal, info, context);
  } else if (handler.sa_handler == SIG_DFL || (handler.sa_handler == SIG_IGN && !is_sent)) {
    ::signal(signal, SIG_DFL);  // the access is repeated and ends the process
    if (is_sent) ::raise(signal);
  } else if (handler.sa_handler != SIG_IGN) {
    handler.sa_handler(signal);
  }
}

template <std::size_t kInstallation>
void OnBusError(int signal, siginfo_t* info, void* context) {
  if (info->si_code > 0 && MapZeroPage(static_cast<const char*>(info->si_addr))) return;
  ForwardBusError(replaced_handlers[kInstallation], signal, info, context);
}

template <std::size_t... kInstallation>
constexpr auto MakeBusErrorHandlers(std::index_sequence<kInstallation...>) {
  return std::array{&OnBusError<kInstallation>...};
}

// Installs the SIGBUS handler, and installs it again if another handler has replaced it. Returns false if the
// handler cannot be installed. Not thread-safe.
bool HandleBusErrors() {
  constexpr auto kHandlers = MakeBusErrorHandlers(std::make_index_sequence<kMaxInstallations>());
  struct sigaction current {};
  if (::sigaction(SIGBUS, nullptr, &current) != 0) return false;
  const bool is_ours = (current.sa_flags & SA_SIGINFO) != 0 &&
                       std::ranges::find(kHandlers, current.sa_sigaction) != kHandlers.end();
  if (is_ours) return true;
  if (installations == kMaxInstallations) return false;
  replaced_handlers[installations] = current;
  struct sigaction action {};
  action.sa_sigaction = kHandlers[installations];
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  action.sa_mask = current.sa_mask;
  if (::sigaction(SIGBUS, &action, nullptr) != 0) return false;
  ++installations;
  return true;
}

// Registers a mapping for the SIGBUS handler. Returns null if the table is full, or there is no handler.
GuardedFile* GuardMapping(void* data, std::size_t size) {
  static std::mutex mutex;
  const std::scoped_lock lock(mutex);
  if (!HandleBusErrors()) return nullptr;
  for (GuardedFile& file : guarded_files) {
    if (file.begin != nullptr) continue;
    file.changed = false;
    file.size = size;
    file.begin = static_cast<const char*>(data);
    return &file;
  }
  return nullptr;
}

// Reads up to `size` bytes, and returns the number of bytes read.
std::size_t ReadAll(int descriptor, char* data, std::size_t size, const std::filesystem::path& path) {
  std::size_t bytes_read = 0;
  while (bytes_read < size) {
    const ssize_t count = ::read(descriptor, data + bytes_read, size - bytes_read);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw CannotRead(path, errno);
    if (count == 0) break;
    bytes_read += static_cast<std::size_t>(count);
  }
  return bytes_read;
}

}  // namespace

bool IsFolder(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::is_directory(path, ignored);
}

std::string ShortestPath(const std::filesystem::path& path) {
  const std::string relative = path.lexically_proximate(std::filesystem::current_path()).string();
  return relative.size() < path.string().size() ? relative : path.string();
}

void RequireRegularFile(const std::filesystem::path& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) throw CannotRead(path, errno);
  RequireRegular(path, status);
}

MappedFile MappedFile::Open(const std::filesystem::path& path, std::uint64_t max_bytes) {
  RequireRegularFile(path);  // opening a socket fails, and opening a device may trigger an action
  // O_NONBLOCK: do not wait for the other end of a pipe.
  const Descriptor descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!descriptor) throw CannotRead(path, errno);
  struct stat status {};
  if (::fstat(descriptor.number(), &status) != 0) throw CannotRead(path, errno);
  RequireRegular(path, status);  // another file may have taken the name in the meantime
  const auto size = static_cast<std::uint64_t>(status.st_size);
  if (size > max_bytes) {
    throw Error(ExitCode::kBadInput,
                fmt::format("is larger than {}, the most that etprof reads of such a file",
                            FormatBytes(static_cast<double>(max_bytes))))
        .InFile(path.string())
        .Remedy("check whether it is the file that was meant");
  }
  MappedFile file;
  file.path_ = path;
  if (size == 0) return file;
  file.size_ = static_cast<std::size_t>(size);
  if (size > kMaxReadBytes) {
    void* const data = ::mmap(nullptr, file.size_, PROT_READ, MAP_PRIVATE, descriptor.number(), 0);
    if (data != MAP_FAILED) {
      file.data_ = data;
      file.guard_ = GuardMapping(data, file.size_);
      if (file.guard_ != nullptr) return file;
      ::munmap(data, file.size_);
    }
  }
  file.data_ = ::operator new(file.size_, std::align_val_t{64});
  if (ReadAll(descriptor.number(), static_cast<char*>(file.data_), file.size_, path) < file.size_)
    throw ChangedWhileRead(path);
  return file;
}

MappedFile::MappedFile(MappedFile&& other) noexcept { *this = std::move(other); }

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(guard_, other.guard_);
  return *this;
}

MappedFile::~MappedFile() {
  if (data_ == nullptr) return;
  if (guard_ != nullptr) {
    // Releasing the pages takes a while, so several threads do that before munmap.
    constexpr std::size_t kPartBytes = std::size_t{4} << 20U;
    try {
      ParallelForParts(size_, kPartBytes, 0, [&](std::size_t first, std::size_t end) {
        ::madvise(static_cast<char*>(data_) + first, end - first, MADV_DONTNEED);
      });
    } catch (const std::bad_alloc&) {
      // If there is no memory for this, munmap releases the pages.
    }
    ::munmap(data_, size_);
    guard_->begin = nullptr;
  } else {
    ::operator delete(data_, std::align_val_t{64});
  }
}

void MappedFile::RequireUnchanged() const {
  if (guard_ != nullptr && guard_->changed) throw ChangedWhileRead(path_);
}

bool Exists(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

std::string ReadTextFile(const std::filesystem::path& path) {
  return WithFile(path, kMaxTextBytes, [](ByteView bytes) { return std::string(AsText(bytes)); });
}

}  // namespace etprof
