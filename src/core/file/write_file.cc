#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstring>
#include <exception>
#include <functional>
#include <iostream>
#include <mutex>
#include <optional>
#include <random>
#include <set>
#include <streambuf>
#include <utility>

#include "core/error.h"
#include "core/file/descriptor.h"
#include "core/file/file.h"
#include "core/file/process_folder.h"
#include "core/text/escape.h"
#include "core/text/text.h"

namespace etprof {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kTemporaryPrefix = ".etprof-";
constexpr std::string_view kTemporarySuffix = ".tmp";
constexpr std::size_t kHeadBytes = 4096;  // the kind of a file is recognized by these first bytes

// Writes to a descriptor, and remembers the first error. The descriptor is opened at the first difference
// from `old_contents`, and then the equal beginning is written. So nothing is opened for equal contents.
class DescriptorBuffer : public std::streambuf {
 public:
  // `open` returns a descriptor or throws. Without `old_contents`, it is called here.
  explicit DescriptorBuffer(std::function<int()> open, std::optional<ByteView> old_contents = {})
      : open_(std::move(open)), old_contents_(AsText(old_contents.value_or(ByteView()))) {
    setp(buffer_.data(), buffer_.data() + buffer_.size());
    if (!old_contents) descriptor_ = open_();
  }
  // Writes what is buffered. Returns whether the contents differ from the old ones. Throws the exceptions of
  // `open`.
  bool Finish() {
    sync();
    if (!descriptor_ && !failure_ && equal_bytes_ < old_contents_.size()) Open();
    if (failure_) std::rethrow_exception(failure_);
    return descriptor_.has_value();
  }
  int error() const { return error_; }
  // The first kHeadBytes bytes that were written.
  std::string_view head() const { return head_; }

 protected:
  int_type overflow(int_type character) override {
    if (sync() != 0) return traits_type::eof();
    if (!traits_type::eq_int_type(character, traits_type::eof())) sputc(traits_type::to_char_type(character));
    return traits_type::not_eof(character);
  }
  int sync() override {
    const auto head_bytes = std::min(static_cast<std::size_t>(pptr() - pbase()), kHeadBytes - head_.size());
    head_.append(pbase(), head_bytes);
    const std::string_view written(pbase(), pptr());
    if (!descriptor_ && !failure_) {
      if (old_contents_.substr(equal_bytes_).starts_with(written)) {
        equal_bytes_ += written.size();
      } else {
        Open();
      }
    }
    if (descriptor_ && error_ == 0) error_ = WriteAll(*descriptor_, written);
    setp(buffer_.data(), buffer_.data() + buffer_.size());
    return error_ == 0 && !failure_ ? 0 : -1;
  }

 private:
  // Opens the descriptor, and writes the equal beginning.
  void Open() {
    try {
      descriptor_ = open_();
      error_ = WriteAll(*descriptor_, old_contents_.substr(0, equal_bytes_));
    } catch (...) {
      failure_ = std::current_exception();  // a stream does not pass on exceptions of its buffer
    }
  }

  std::function<int()> open_;
  std::string_view old_contents_;
  std::size_t equal_bytes_ = 0;  // bytes before the first difference
  std::optional<int> descriptor_;
  std::exception_ptr failure_;
  int error_ = 0;
  std::string head_;
  std::array<char, 1 << 16> buffer_;
};

// Writes the contents through `buffer` to `descriptor`, and closes it. Returns the first bytes of the
// contents; absent if they equal the old contents, so that nothing was written. Throws if a write fails.
std::optional<std::string> WriteInto(DescriptorBuffer& buffer, Descriptor& descriptor, const fs::path& path,
                                     const std::function<void(std::ostream&)>& write) {
  std::ostream stream(&buffer);
  write(stream);
  if (!buffer.Finish()) return std::nullopt;
  int error = buffer.error();
  if (error == 0 && !stream) error = EIO;
  if (const int close_error = descriptor.Close(); error == 0) error = close_error;
  if (error != 0) throw CannotWrite(path, error);
  return std::string(buffer.head());
}

// The number of a descriptor of this process that the path names: /dev/stdout, /dev/fd/63.
std::optional<int> DescriptorNumber(const fs::path& path) {
  const std::string text = path.lexically_normal().string();
  if (text == "/dev/stdout") return STDOUT_FILENO;
  if (text == "/dev/stderr") return STDERR_FILENO;
  for (const std::string_view folder : {"/dev/fd/", "/proc/self/fd/"}) {
    if (text.starts_with(folder)) return AsNumber<int>(std::string_view(text).substr(folder.size()));
  }
  return std::nullopt;
}

Descriptor ConnectTo(const fs::path& socket) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string name = socket.string();
  if (name.size() >= sizeof(address.sun_path)) {
    errno = ENAMETOOLONG;
    return Descriptor();
  }
  name.copy(address.sun_path, name.size());
  Descriptor descriptor(::socket(AF_UNIX, SOCK_STREAM, 0));
  if (!descriptor) return descriptor;
  ::fcntl(descriptor.number(), F_SETFD, FD_CLOEXEC);
  if (::connect(descriptor.number(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    const int error = errno;
    descriptor.Close();
    errno = error;
  }
  return descriptor;
}

// Follows the links at the end of `path`. The file that they lead to need not exist.
fs::path FollowLinks(fs::path path) {
  constexpr int kMaxLinks = 40;  // Linux's limit
  for (int i = 0; i < kMaxLinks; ++i) {
    std::error_code error;
    const fs::path target = fs::read_symlink(path, error);
    if (error) return path;
    path = target.is_absolute() ? target : path.parent_path() / target;
  }
  throw CannotWrite(path, ELOOP);
}

std::uint64_t RandomNumber() {
  static std::mutex mutex;
  static std::random_device device;  // static, because its constructor queries the processor
  const std::scoped_lock lock(mutex);
  return static_cast<std::uint64_t>(device()) << 32 | device();
}

// Names of the temporary files that this process is writing, stored for the signal handler.
struct TemporaryName {
  std::atomic<bool> in_use = false;
  std::array<char, PATH_MAX> path{};
};
std::array<TemporaryName, 16> temporary_names;
constexpr std::array kTerminationSignals = {SIGINT, SIGTERM, SIGHUP};

// Removes the temporary files, then restores the default action and raises the signal again.
void OnTerminationSignal(int signal) {
  RemoveUnfinishedTemporaries();
  ::signal(signal, SIG_DFL);
  ::raise(signal);
}

// Removes a temporary file when a signal such as Ctrl-C ends the process. The handlers are installed only
// while a file is written. (If more than 16 files are written at once, RemoveStaleTemporaries removes the
// others.)
class TemporaryGuard {
 public:
  explicit TemporaryGuard(const fs::path& path) : path_(path) {
    const std::scoped_lock lock(mutex_);
    for (TemporaryName& name : temporary_names) {
      if (name.in_use || path.native().size() >= name.path.size()) continue;
      *std::ranges::copy(path.native(), name.path.begin()).out = '\0';
      name.in_use = true;
      name_ = &name;
      break;
    }
    if (guards_++ > 0) return;
    for (std::size_t i = 0; i < kTerminationSignals.size(); ++i) {
      struct sigaction previous {};
      ::sigaction(kTerminationSignals[i], nullptr, &previous);
      installed_[i] = (previous.sa_flags & SA_SIGINFO) == 0 && previous.sa_handler == SIG_DFL;
      if (installed_[i]) ::signal(kTerminationSignals[i], OnTerminationSignal);
    }
  }
  TemporaryGuard(TemporaryGuard&&) = delete;
  ~TemporaryGuard() {
    if (!is_kept_) ::unlink(path_.c_str());
    const std::scoped_lock lock(mutex_);
    if (name_ != nullptr) name_->in_use = false;
    if (--guards_ > 0) return;
    for (std::size_t i = 0; i < kTerminationSignals.size(); ++i) {
      struct sigaction current {};
      ::sigaction(kTerminationSignals[i], nullptr, &current);
      if (installed_[i] && current.sa_handler == OnTerminationSignal)
        ::signal(kTerminationSignals[i], SIG_DFL);
    }
  }
  // Call this when the file has its final name.
  void Keep() { is_kept_ = true; }

 private:
  static inline std::mutex mutex_;
  static inline int guards_ = 0;
  static inline std::array<bool, kTerminationSignals.size()> installed_{};

  fs::path path_;
  TemporaryName* name_ = nullptr;
  bool is_kept_ = false;
};

// Removes temporary files of killed processes from a folder when this process first writes into it.
void RemoveStaleTemporariesOnce(const fs::path& folder) {
  static std::mutex mutex;
  static std::set<fs::path> cleaned;
  std::error_code ignored;
  const fs::path canonical = fs::canonical(folder.empty() ? "." : folder, ignored);
  const std::scoped_lock lock(mutex);
  if (!canonical.empty() && cleaned.insert(canonical).second) RemoveStaleTemporaries(canonical);
}

// A temporary name next to `path` that cannot be predicted.
fs::path MakeTemporaryName(const fs::path& path) {
  return path.parent_path() /
         fmt::format("{}{}-{:016x}{}", kTemporaryPrefix, ::getpid(), RandomNumber(), kTemporarySuffix);
}

// The process id in a temporary name; absent if the name is not a temporary name.
std::optional<pid_t> WriterProcess(std::string_view name) {
  if (!name.starts_with(kTemporaryPrefix) || !name.ends_with(kTemporarySuffix)) return std::nullopt;
  name.remove_prefix(kTemporaryPrefix.size());
  name.remove_suffix(kTemporarySuffix.size());
  const std::size_t dash = name.find('-');
  if (dash == std::string_view::npos || name.size() != dash + 17) return std::nullopt;
  if (name.find_first_not_of("0123456789abcdef", dash + 1) != std::string_view::npos) return std::nullopt;
  const auto process = AsNumber<pid_t>(name.substr(0, dash));
  return process && *process > 0 ? process : std::nullopt;
}

// Writes a temporary file next to `target` and renames it to `target`, unless the contents are
// `old_contents`. Messages name `path`. Absent `permissions` are the default ones. `check` gets the first
// bytes of the new contents and throws if they must not replace the target.
void ReplaceFile(const fs::path& target, const fs::path& path, std::optional<mode_t> permissions,
                 const std::function<void(std::ostream&)>& write,
                 const std::function<void(std::string_view head)>& check = {},
                 std::optional<ByteView> old_contents = {}) {
  const fs::path temporary = MakeTemporaryName(target);
  std::optional<TemporaryGuard> guard;
  Descriptor descriptor;
  DescriptorBuffer buffer(
      [&] {
        const fs::path folder = target.parent_path();
        if (!folder.empty()) {
          std::error_code error;
          fs::create_directories(folder, error);
          if (error) throw CannotWrite(folder, error.value());
        }
        RemoveStaleTemporariesOnce(folder);
        guard.emplace(temporary);
        descriptor =
            Descriptor(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666));
        if (!descriptor) throw CannotWrite(path, errno);
        // RemoveStaleTemporaries does not remove a locked file.
        ::flock(descriptor.number(), LOCK_EX | LOCK_NB);
        if (permissions) static_cast<void>(::fchmod(descriptor.number(), *permissions));
        return descriptor.number();
      },
      old_contents);
  const std::optional<std::string> head = WriteInto(buffer, descriptor, path, write);
  if (!head) return;
  if (check) check(*head);
  if (::rename(temporary.c_str(), target.c_str()) != 0) throw CannotWrite(path, errno);
  guard->Keep();
}

Error CannotReplace(const fs::path& path, const std::string& reason) {
  return Error(ExitCode::kUsage, "is not overwritten: " + reason)
      .InFile(path.string())
      .Remedy("name another file, or remove this one");
}

// The first bytes of a regular file. Throws Error if it cannot be read.
std::string ReadHead(const fs::path& path) {
  const Descriptor descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  std::string head(kHeadBytes, '\0');
  const ssize_t count = !descriptor ? -1 : ::pread(descriptor.number(), head.data(), head.size(), 0);
  if (count < 0) throw CannotReplace(path, fmt::format("it cannot be read: {}", std::strerror(errno)));
  head.resize(static_cast<std::size_t>(count));
  return head;
}

// Writes to a descriptor of this process, a device, a pipe, or a socket.
void WriteToDescriptor(const fs::path& path, const std::function<void(std::ostream&)>& write) {
  std::error_code ignored;
  const auto number = DescriptorNumber(path);
  Descriptor descriptor = number ? Descriptor(::fcntl(*number, F_DUPFD_CLOEXEC, 3))
                          : fs::is_socket(path, ignored)
                              ? ConnectTo(path)
                              : Descriptor(::open(path.c_str(), O_WRONLY | O_NOCTTY | O_CLOEXEC));
  if (!descriptor) throw CannotWrite(path, errno);
  DescriptorBuffer buffer([&] { return descriptor.number(); });
  WriteInto(buffer, descriptor, path, write);
}

// True for /dev/null and other devices, and for descriptors such as /dev/stdout. Root could replace them.
bool IsDevice(const fs::path& path) {
  struct stat status {};
  return DescriptorNumber(path) ||
         (::lstat(path.c_str(), &status) == 0 && (S_ISCHR(status.st_mode) || S_ISBLK(status.st_mode)));
}

// The kind of a file's contents. An output replaces only an empty file or a file of its own kind.
enum class ContentKind { kEmpty, kText, kMarkdown, kJson, kMarkup, kGzip, kPerfetto, kUnknown };

// Recognizes the kind by the first bytes. Programs, tensors, archives, and measurements are kUnknown here.
ContentKind RecognizeContents(std::string_view head) {
  if (head.empty()) return ContentKind::kEmpty;
  if (head.starts_with("\x1f\x8b")) return ContentKind::kGzip;
  const bool is_text = std::ranges::none_of(head, [](char c) {
    return (static_cast<unsigned char>(c) < ' ' &&
            std::string_view("\t\n\f\r\x1b").find(c) == std::string_view::npos) ||
           c == '\x7f';
  });
  // A Perfetto trace begins with a packet (field 1); the packet's length is followed by its sequence id
  // (field 10).
  const bool is_perfetto = head[0] == '\n' && head.substr(1, 4).find("\x50\x01") != std::string_view::npos;
  if (!is_text) return is_perfetto ? ContentKind::kPerfetto : ContentKind::kUnknown;
  const std::size_t begin = head.find_first_not_of(" \t\n\f\r");
  const char first = begin == std::string_view::npos ? ' ' : head[begin];
  if (first == '{' || first == '[') return ContentKind::kJson;
  if (first == '<') return ContentKind::kMarkup;
  return first == '#' && !head.starts_with("#!") ? ContentKind::kMarkdown : ContentKind::kText;
}

// Returns whether the file was measured: the manifest of a results directory in its folder or in the folder
// above names it.
bool IsMeasured(const fs::path& path) {
  std::error_code error;
  const fs::path canonical = fs::weakly_canonical(path, error);
  if (error) return false;
  fs::path folder = canonical.parent_path();
  for (int levels = 0; levels < 2; ++levels, folder = folder.parent_path()) {
    const fs::path manifest = folder / "manifest.json";
    if (!fs::is_regular_file(manifest, error)) continue;
    if (canonical == manifest) return true;
    const std::string quoted = fmt::format("\"{}\"", canonical.lexically_relative(folder).string());
    try {
      const std::string text = ReadTextFile(manifest);
      if (text.find("\"results\"") != std::string::npos && text.find(quoted) != std::string::npos)
        return true;
    } catch (const Error&) {
      continue;  // not a results directory
    }
  }
  return false;
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

std::optional<fs::file_time_type> LastWriteTime(const fs::path& path) {
  std::error_code error;
  const fs::file_time_type time = fs::last_write_time(path, error);
  return error ? std::nullopt : std::optional(time);
}

void WriteFileAtomically(const fs::path& path, const std::function<void(std::ostream&)>& write) {
  if (IsDevice(path)) return WriteToDescriptor(path, write);
  ReplaceFile(path, path, std::nullopt, write);
}

void WriteFileAtomically(const fs::path& path, std::string_view contents) {
  WriteFileAtomically(path, [&](std::ostream& out) { out << contents; });
}

void WriteFileIfChanged(const fs::path& path, const std::function<void(std::ostream&)>& write) {
  std::optional<MappedFile> old;
  try {
    old = MappedFile::Open(path, kMaxTableBytes);
  } catch (const Error&) {
    // A missing or unreadable file is written below.
  }
  if (!old) return WriteFileAtomically(path, write);
  ReplaceFile(
      path, path, std::nullopt, write, [&](std::string_view) { old->RequireUnchanged(); }, old->bytes());
}

void WriteOutput(const fs::path& path, const std::function<void(std::ostream&)>& write) {
  if (IsStdout(path)) {
    std::cout.flush();
    write(RawStdout());
    RawStdout().flush();
    return;
  }
  if (DescriptorNumber(path)) return WriteToDescriptor(path, write);
  struct stat status {};
  const bool exists = ::stat(path.c_str(), &status) == 0;
  if (exists && S_ISDIR(status.st_mode)) throw CannotWrite(path, EISDIR);
  if (exists && !S_ISREG(status.st_mode)) return WriteToDescriptor(path, write);
  const fs::path target = FollowLinks(path);
  if (!exists) return ReplaceFile(target, path, std::nullopt, write);
  RequireReplaceable(path);
  ReplaceFile(target, path, status.st_mode & 07777, write, [&](std::string_view head) {
    const ContentKind old_kind = RecognizeContents(ReadHead(path));
    if (old_kind != ContentKind::kEmpty && old_kind != RecognizeContents(head))
      throw CannotReplace(path, "it is not an earlier output of this kind");
  });
}

void RequireReplaceable(const fs::path& path) {
  std::error_code error;
  if (IsStdout(path) || !fs::is_regular_file(path, error)) return;
  if (IsMeasured(path)) throw CannotReplace(path, "it was measured");
  if (RecognizeContents(ReadHead(path)) == ContentKind::kUnknown)
    throw CannotReplace(path, "it is not an earlier output, which is text or a trace");
}

void RemoveUnfinishedTemporaries() {
  for (TemporaryName& name : temporary_names) {
    if (name.in_use) ::unlink(name.path.data());
  }
}

bool IsStdout(const fs::path& path) { return path == "-" || DescriptorNumber(path) == STDOUT_FILENO; }

bool IsTemporaryName(const fs::path& path) { return WriterProcess(path.filename().string()).has_value(); }

void RemoveStaleTemporaries(const fs::path& folder) {
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const auto writer = WriterProcess(entry->path().filename().string());
    std::error_code ignored;
    if (!writer || entry->symlink_status(ignored).type() != fs::file_type::regular || !ProcessIsGone(*writer))
      continue;
    // The process id of a writer in another container means nothing here, but the writer holds the lock.
    const Descriptor file(::open(entry->path().c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
    if (file && ::flock(file.number(), LOCK_EX | LOCK_NB) == 0) ::unlink(entry->path().c_str());
  }
}

std::filesystem::path MakeTemporaryFolder(const std::string& prefix, const std::string& description) {
  std::string folder = (std::filesystem::temp_directory_path() / (prefix + "-XXXXXX")).string();
  if (::mkdtemp(folder.data()) == nullptr)
    throw Error(ExitCode::kDeviceFailed, "cannot make " + description + ": " + std::strerror(errno))
        .InFile(folder)
        .Remedy("free some space, or set TMPDIR to another folder");
  return folder;
}

}  // namespace etprof
