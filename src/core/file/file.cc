#include "core/file/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

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

void OnBusError(int signal, siginfo_t* info, void* /*context*/) {
  const auto* const at = static_cast<const char*>(info->si_addr);
  for (Guarded& file : guarded) {
    const char* const begin = file.begin;
    if (begin == nullptr || at < begin || at >= begin + file.size) continue;
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    auto* const start = const_cast<char*>(begin) + static_cast<std::size_t>(at - begin) / page * page;
    if (::mmap(start, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == start) {
      file.changed = true;
      return;
    }
  }
  // Nobody's: as if there were no handler.
  ::signal(signal, SIG_DFL);
}

// Its place; -1: there is none left.
int Guard(void* data, std::size_t size) {
  static const bool installed = [] {
    struct sigaction action {};
    action.sa_sigaction = OnBusError;
    action.sa_flags = SA_SIGINFO;
    sigemptyset(&action.sa_mask);
    return ::sigaction(SIGBUS, &action, nullptr) == 0;
  }();
  static std::mutex one_at_a_time;
  const std::scoped_lock lock(one_at_a_time);
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

MappedFile MappedFile::Open(const std::filesystem::path& path, std::uint64_t most) {
  // Without waiting for a pipe's other side.
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (descriptor < 0) throw CannotRead(path, errno);
  struct Closer {
    int descriptor;
    ~Closer() { ::close(descriptor); }
  } const closer{descriptor};
  struct stat status {};
  if (::fstat(descriptor, &status) != 0) throw CannotRead(path, errno);
  if (!S_ISREG(status.st_mode)) {
    throw Error(ExitCode::kBadInput,
                S_ISDIR(status.st_mode) ? "is a folder, not a file" : "is not a regular file")
        .InFile(path.string())
        .Remedy("give a file");
  }
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
