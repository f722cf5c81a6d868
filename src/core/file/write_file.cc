#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <iostream>
#include <mutex>
#include <optional>
#include <random>
#include <streambuf>
#include <utility>

#include "core/error.h"
#include "core/file/file.h"
#include "core/file/process_folder.h"
#include "core/text/escape.h"
#include "core/text/text.h"

namespace etprof {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kTemporaryStart = ".etprof-";
constexpr std::string_view kTemporaryEnd = ".tmp";

// An open descriptor that is closed at the end.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&&) = delete;
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  int number() const { return number_; }
  // What close(2) says: a full disk may be told of only there.
  int Close() { return ::close(std::exchange(number_, -1)) == 0 ? 0 : errno; }

 private:
  int number_;
};

// Writes to a descriptor, and remembers the first error.
class DescriptorBuffer : public std::streambuf {
 public:
  explicit DescriptorBuffer(int descriptor) : descriptor_(descriptor) {
    setp(buffer_.data(), buffer_.data() + buffer_.size());
  }
  int error() const { return error_; }

 protected:
  int_type overflow(int_type character) override {
    if (sync() != 0) return traits_type::eof();
    if (!traits_type::eq_int_type(character, traits_type::eof())) sputc(traits_type::to_char_type(character));
    return traits_type::not_eof(character);
  }
  int sync() override {
    for (const char* at = pbase(); at < pptr() && error_ == 0;) {
      const ssize_t count = ::write(descriptor_, at, static_cast<std::size_t>(pptr() - at));
      if (count > 0) {
        at += count;
      } else if (count == 0 || errno != EINTR) {
        error_ = count == 0 ? EIO : errno;
      }
    }
    setp(buffer_.data(), buffer_.data() + buffer_.size());
    return error_ == 0 ? 0 : -1;
  }

 private:
  int descriptor_;
  int error_ = 0;
  std::array<char, 1 << 16> buffer_;
};

// Throws when not all of it could be written.
void WriteInto(Descriptor& descriptor, const fs::path& path,
               const std::function<void(std::ostream&)>& write) {
  DescriptorBuffer buffer(descriptor.number());
  std::ostream stream(&buffer);
  write(stream);
  stream.flush();
  int error = buffer.error();
  if (error == 0 && !stream) error = EIO;
  if (const int closing = descriptor.Close(); error == 0) error = closing;
  if (error != 0) throw CannotWrite(path, error);
}

// The number of one of this process's descriptors that a path names: /dev/stdout, /dev/fd/63.
std::optional<int> OwnDescriptor(const fs::path& path) {
  const std::string text = path.lexically_normal().string();
  if (text == "/dev/stdout") return STDOUT_FILENO;
  if (text == "/dev/stderr") return STDERR_FILENO;
  for (const std::string_view folder : {"/dev/fd/", "/proc/self/fd/"}) {
    if (text.starts_with(folder)) return AsNumber<int>(std::string_view(text).substr(folder.size()));
  }
  return std::nullopt;
}

int ConnectTo(const fs::path& socket) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string name = socket.string();
  if (name.size() >= sizeof(address.sun_path)) {
    errno = ENAMETOOLONG;
    return -1;
  }
  name.copy(address.sun_path, name.size());
  const int descriptor = ::socket(AF_UNIX, SOCK_STREAM, 0);
  if (descriptor >= 0) ::fcntl(descriptor, F_SETFD, FD_CLOEXEC);
  if (descriptor >= 0 && ::connect(descriptor, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    const int error = errno;
    ::close(descriptor);
    errno = error;
    return -1;
  }
  return descriptor;
}

// Where links lead that stand at the end of `path`; the file itself need not be there.
fs::path Followed(fs::path path) {
  constexpr int kMostLinks = 40;  // as Linux follows
  for (int i = 0; i < kMostLinks; ++i) {
    std::error_code error;
    const fs::path target = fs::read_symlink(path, error);
    if (error) return path;
    path = target.is_absolute() ? target : path.parent_path() / target;
  }
  throw CannotWrite(path, ELOOP);
}

std::uint64_t Draw() {
  static std::mutex one_at_a_time;
  static std::random_device device;  // which asks the processor what it is, each time one is made
  const std::scoped_lock lock(one_at_a_time);
  return static_cast<std::uint64_t>(device()) << 32 | device();
}

// A new file beside `path` under a name that cannot be foreseen; `temporary` is set to it.
int OpenTemporary(const fs::path& path, fs::path& temporary) {
  for (int attempt = 0; attempt < 100; ++attempt) {
    temporary = path.parent_path() /
                fmt::format("{}{}-{:016x}{}", kTemporaryStart, ::getpid(), Draw(), kTemporaryEnd);
    const int descriptor =
        ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (descriptor >= 0 || errno != EEXIST) return descriptor;
  }
  errno = EEXIST;
  return -1;
}

// The process that a name of OpenTemporary's holds; absent: it is none.
std::optional<pid_t> WriterOf(std::string_view name) {
  if (!name.starts_with(kTemporaryStart) || !name.ends_with(kTemporaryEnd)) return std::nullopt;
  name.remove_prefix(kTemporaryStart.size());
  name.remove_suffix(kTemporaryEnd.size());
  const std::size_t dash = name.find('-');
  if (dash == std::string_view::npos || name.size() != dash + 17) return std::nullopt;
  const auto is_digit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  for (const char c : name.substr(dash + 1)) {
    if (!is_digit(c)) return std::nullopt;
  }
  const auto process = AsNumber<pid_t>(name.substr(0, dash));
  return process && *process > 0 ? process : std::nullopt;
}

// Writes by way of a temporary file beside `target`. Messages name `path`. `permissions` absent: the usual
// ones.
void Replace(const fs::path& target, const fs::path& path, std::optional<mode_t> permissions,
             const std::function<void(std::ostream&)>& write) {
  const fs::path folder = target.parent_path();
  if (!folder.empty()) {
    std::error_code error;
    fs::create_directories(folder, error);
    if (error) throw CannotWrite(folder, error.value());
  }
  fs::path temporary;
  Descriptor descriptor(OpenTemporary(target, temporary));
  if (descriptor.number() < 0) throw CannotWrite(path, errno);
  try {
    if (permissions) static_cast<void>(::fchmod(descriptor.number(), *permissions));
    WriteInto(descriptor, path, write);
    if (::rename(temporary.c_str(), target.c_str()) != 0) throw CannotWrite(path, errno);
  } catch (...) {
    ::unlink(temporary.c_str());
    throw;
  }
}

}  // namespace

Error CannotWrite(const fs::path& path, int error) {
  const char* remedy = error == ENOSPC || error == EDQUOT || error == EFBIG
                           ? "free some space, or choose another folder"
                           : "check the folder and its permissions";
  return Error(ExitCode::kDeviceFailed, fmt::format("cannot be written: {}", std::strerror(error)))
      .InFile(path.string())
      .Remedy(remedy);
}

std::optional<fs::file_time_type> WrittenAt(const fs::path& path) {
  std::error_code error;
  const fs::file_time_type time = fs::last_write_time(path, error);
  return error ? std::nullopt : std::optional(time);
}

void WriteFileAtomically(const fs::path& path, const std::function<void(std::ostream&)>& write) {
  Replace(path, path, std::nullopt, write);
}

void WriteFileAtomically(const fs::path& path, const std::string& contents) {
  WriteFileAtomically(path, [&](std::ostream& out) {
    out.write(contents.data(), static_cast<std::streamsize>(contents.size()));
  });
}

void WriteOutput(const fs::path& path, const std::function<void(std::ostream&)>& write) {
  if (IsStdout(path)) {
    std::cout.flush();
    write(RawStdout());
    RawStdout().flush();
    return;
  }
  if (const auto own = OwnDescriptor(path)) {
    Descriptor descriptor(::fcntl(*own, F_DUPFD_CLOEXEC, 3));
    if (descriptor.number() < 0) throw CannotWrite(path, errno);
    return WriteInto(descriptor, path, write);
  }
  struct stat there {};
  const bool exists = ::stat(path.c_str(), &there) == 0;
  if (exists && S_ISDIR(there.st_mode)) throw CannotWrite(path, EISDIR);
  if (exists && !S_ISREG(there.st_mode)) {
    Descriptor descriptor(S_ISSOCK(there.st_mode) ? ConnectTo(path)
                                                  : ::open(path.c_str(), O_WRONLY | O_NOCTTY | O_CLOEXEC));
    if (descriptor.number() < 0) throw CannotWrite(path, errno);
    return WriteInto(descriptor, path, write);
  }
  Replace(Followed(path), path, exists ? std::optional<mode_t>(there.st_mode & 07777) : std::nullopt, write);
}

bool IsStdout(const fs::path& path) { return path == "-"; }

bool IsTemporaryName(const fs::path& path) { return WriterOf(path.filename().string()).has_value(); }

void RemoveStaleTemporaries(const fs::path& folder) {
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const auto writer = WriterOf(at->path().filename().string());
    std::error_code ignored;
    if (writer && at->symlink_status(ignored).type() == fs::file_type::regular && ProcessIsGone(*writer))
      ::unlink(at->path().c_str());
  }
}

std::filesystem::path MakeTemporaryFolder(const std::string& start, const std::string& what) {
  std::string folder = (std::filesystem::temp_directory_path() / (start + "-XXXXXX")).string();
  if (::mkdtemp(folder.data()) == nullptr)
    throw Error(ExitCode::kDeviceFailed, "cannot make " + what + ": " + std::strerror(errno))
        .InFile(folder)
        .Remedy("free some space, or set TMPDIR to another folder");
  return folder;
}

}  // namespace etprof
