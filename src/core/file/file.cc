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
#include <cstring>
#include <mutex>
#include <new>
#include <utility>

#include "core/error.h"
#include "core/parallel.h"
#include "core/units.h"

namespace etprof {
namespace {

std::string SystemReason(int error) { return std::strerror(error); }

Error CannotRead(const std::filesystem::path& path, int error) {
  const bool is_limit = IsLimit(std::error_code(error, std::generic_category()));
  return Error(is_limit ? ExitCode::kDeviceFailed : ExitCode::kBadInput,
               error == ENOENT ? "no such file" : "cannot be read: " + SystemReason(error))
      .InFile(path.string())
      .Remedy(is_limit ? kSeeLimits : "check the path and its permissions");
}

void RequireRegular(const std::filesystem::path& path, const struct stat& status) {
  if (S_ISREG(status.st_mode)) return;
  throw Error(ExitCode::kBadInput,
              S_ISDIR(status.st_mode) ? "is a folder, not a file" : "is not a regular file")
      .InFile(path.string())
      .Remedy("give a file");
}

Error Changed(const std::filesystem::path& path) {
  return Error(ExitCode::kBadInput, "changed while it was read: it became shorter")
      .InFile(path.string())
      .Remedy("try again once nothing writes it");
}

// Files up to this size are read: a copy cannot become shorter. Mapping pays where much is not looked at.
constexpr std::size_t kLargestRead = std::size_t{16} << 20U;

// The mapped files. Where one becomes shorter, the system answers a read beyond its new end with SIGBUS. The
// handler puts a page of zeros there and notes it, and the reader finds nonsense, or nothing, and then the
// note.
struct Guarded {
  std::atomic<const char*> begin = nullptr;  // null: free
  std::atomic<std::size_t> size = 0;
  std::atomic<bool> changed = false;
};
constexpr int kMostGuarded = 64;
std::array<Guarded, kMostGuarded> guarded;

// Makes a read beyond the end of a mapped file find zeros. False: the address is in no such mapping.
bool ReplacePage(const char* at) {
  for (Guarded& file : guarded) {
    const char* const begin = file.begin;
    if (begin == nullptr || at < begin || at >= begin + file.size) continue;
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    auto* const start = const_cast<char*>(begin) + static_cast<std::size_t>(at - begin) / page * page;
    if (::mmap(start, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == start) {
      file.changed = true;
      return true;
    }
  }
  return false;
}

// The handlers of SIGBUS that ours replaced. The process may belong to a host with handlers of its own, such
// as Python's faulthandler, installed before ours or after. Each installation of ours is another function, so
// that a host that restores an earlier one never forms a cycle with it.
constexpr std::size_t kMaxInstallations = 8;
std::array<struct sigaction, kMaxInstallations> replaced;
std::size_t installations = 0;

// Does what the process would do without our handler.
void ForwardBusError(struct sigaction& before, int signal, siginfo_t* info, void* context) {
  const bool is_sent = info->si_code <= 0;  // by kill() or raise(): there is no access to repeat
  const struct sigaction handler = before;
  if ((handler.sa_flags & static_cast<int>(SA_RESETHAND)) != 0) before.sa_handler = SIG_DFL;
  if ((handler.sa_flags & SA_SIGINFO) != 0) {
    handler.sa_sigaction(signal, info, context);
  } else if (handler.sa_handler == SIG_DFL || (handler.sa_handler == SIG_IGN && !is_sent)) {
    ::signal(signal, SIG_DFL);  // the access is repeated, and ends the process
    if (is_sent) ::raise(signal);
  } else if (handler.sa_handler != SIG_IGN) {
    handler.sa_handler(signal);
  }
}

template <std::size_t kInstallation>
void OnBusError(int signal, siginfo_t* info, void* context) {
  if (info->si_code > 0 && ReplacePage(static_cast<const char*>(info->si_addr))) return;
  ForwardBusError(replaced[kInstallation], signal, info, context);
}

template <std::size_t... kInstallation>
constexpr auto MakeBusErrorHandlers(std::index_sequence<kInstallation...>) {
  return std::array{&OnBusError<kInstallation>...};
}

// Installs the handler, again where another one was installed since. False: it cannot be installed. Not
// thread-safe.
bool HandleBusErrors() {
  constexpr auto kHandlers = MakeBusErrorHandlers(std::make_index_sequence<kMaxInstallations>());
  struct sigaction current {};
  if (::sigaction(SIGBUS, nullptr, &current) != 0) return false;
  const bool is_ours = (current.sa_flags & SA_SIGINFO) != 0 &&
                       std::ranges::find(kHandlers, current.sa_sigaction) != kHandlers.end();
  if (is_ours) return true;
  if (installations == kMaxInstallations) return false;
  replaced[installations] = current;
  struct sigaction action {};
  action.sa_sigaction = kHandlers[installations];
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  action.sa_mask = current.sa_mask;
  if (::sigaction(SIGBUS, &action, nullptr) != 0) return false;
  ++installations;
  return true;
}

// Its place; -1: there is none left.
int Guard(void* data, std::size_t size) {
  static std::mutex one_at_a_time;
  const std::scoped_lock lock(one_at_a_time);
  const bool installed = HandleBusErrors();
  for (int place = 0; installed && place < kMostGuarded; ++place) {
    Guarded& file = guarded[static_cast<std::size_t>(place)];
    if (file.begin != nullptr) continue;
    file.changed = false;
    file.size = size;
    file.begin = static_cast<const char*>(data);
    return place;
  }
  return -1;
}

// Reads `size` bytes. Returns how many there were.
std::size_t ReadAll(int descriptor, char* data, std::size_t size, const std::filesystem::path& path) {
  std::size_t done = 0;
  while (done < size) {
    const ssize_t count = ::read(descriptor, data + done, size - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw CannotRead(path, errno);
    if (count == 0) break;
    done += static_cast<std::size_t>(count);
  }
  return done;
}

}  // namespace

bool IsFolder(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::is_directory(path, ignored);
}

std::string FromHere(const std::filesystem::path& path) {
  const std::string near = path.lexically_proximate(std::filesystem::current_path()).string();
  return near.size() < path.string().size() ? near : path.string();
}

void RequireRegularFile(const std::filesystem::path& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) throw CannotRead(path, errno);
  RequireRegular(path, status);
}

MappedFile MappedFile::Open(const std::filesystem::path& path, std::uint64_t most) {
  RequireRegularFile(path);  // a socket cannot be opened, and a device may act when it is
  // Without waiting for a pipe's other side.
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (descriptor < 0) throw CannotRead(path, errno);
  struct Closer {
    int descriptor;
    ~Closer() { ::close(descriptor); }
  } const closer{descriptor};
  struct stat status {};
  if (::fstat(descriptor, &status) != 0) throw CannotRead(path, errno);
  RequireRegular(path, status);  // another one may have taken its name
  const auto size = static_cast<std::uint64_t>(status.st_size);
  if (size > most) {
    throw Error(ExitCode::kBadInput,
                fmt::format("is larger than {}, the most that etprof reads of such a file",
                            FormatBytes(static_cast<double>(most))))
        .InFile(path.string())
        .Remedy("check whether it is the file that was meant");
  }
  MappedFile file;
  file.path_ = path;
  if (size == 0) return file;
  file.size_ = static_cast<std::size_t>(size);
  if (size > kLargestRead) {
    void* const data = ::mmap(nullptr, file.size_, PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (data != MAP_FAILED) {
      file.data_ = data;
      file.guard_ = Guard(data, file.size_);
      if (file.guard_ >= 0) return file;
      ::munmap(data, file.size_);
    }
  }
  file.data_ = ::operator new(file.size_, std::align_val_t{64});
  file.guard_ = -1;
  if (ReadAll(descriptor, static_cast<char*>(file.data_), file.size_, path) < file.size_) throw Changed(path);
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
  if (guard_ >= 0) {
    // The pages first, which takes a while: by several threads at once.
    constexpr std::size_t kPart = std::size_t{4} << 20U;
    try {
      ParallelForParts(size_, kPart, 0, [&](std::size_t first, std::size_t end) {
        ::madvise(static_cast<char*>(data_) + first, end - first, MADV_DONTNEED);
      });
    } catch (const std::bad_alloc&) {
      // munmap does it, too.
    }
    ::munmap(data_, size_);
    guarded[static_cast<std::size_t>(guard_)].begin = nullptr;
  } else {
    ::operator delete(data_, std::align_val_t{64});
  }
}

void MappedFile::RequireUnchanged() const {
  if (guard_ >= 0 && guarded[static_cast<std::size_t>(guard_)].changed) throw Changed(path_);
}

bool Exists(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

std::string ReadTextFile(const std::filesystem::path& path) {
  return WithFile(path, kMostText, [](ByteView bytes) {
    return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  });
}

}  // namespace etprof
