#include "core/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <memory>
#include <utility>

#include "core/error.h"

namespace etprof {
namespace {

std::string SystemReason(int error) { return std::strerror(error); }

Error CannotRead(const std::filesystem::path& path, int error) {
  Error result(ExitCode::kBadInput,
               error == ENOENT ? "no such file" : "cannot be read: " + SystemReason(error));
  result.InFile(path.string());
  return result;
}

Error CannotWrite(const std::filesystem::path& path, int error) {
  const char* remedy = error == ENOSPC || error == EDQUOT ? "free some space, or choose another folder"
                                                          : "check the folder and its permissions";
  Error result(ExitCode::kDeviceFailed, "cannot be written: " + SystemReason(error));
  result.InFile(path.string()).Remedy(remedy);
  return result;
}

}  // namespace

MappedFile MappedFile::Open(const std::filesystem::path& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) throw CannotRead(path, errno);
  struct stat status {};
  if (::fstat(descriptor, &status) != 0) {
    const int error = errno;
    ::close(descriptor);
    throw CannotRead(path, error);
  }
  if (!S_ISREG(status.st_mode)) {
    ::close(descriptor);
    throw Error(ExitCode::kBadInput,
                S_ISDIR(status.st_mode) ? "is a folder, not a file" : "is not a regular file")
        .InFile(path.string());
  }
  const auto size = static_cast<std::size_t>(status.st_size);
  void* data = nullptr;
  if (size > 0) {
    data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (data == MAP_FAILED) {
      const int error = errno;
      ::close(descriptor);
      throw CannotRead(path, error);
    }
  }
  ::close(descriptor);
  return MappedFile(data, size);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(data_, size_);
}

bool Exists(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

std::string ReadTextFile(const std::filesystem::path& path) {
  const MappedFile file = MappedFile::Open(path);
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

void WriteFileAtomically(const std::filesystem::path& path, const std::function<void(std::ostream&)>& write) {
  static std::atomic<unsigned> counter = 0;
  const std::filesystem::path folder = path.parent_path();
  if (!folder.empty()) {
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error) throw CannotWrite(folder, error.value());
  }
  const std::filesystem::path temporary = fmt::format("{}.{}.{}.tmp", path.string(), ::getpid(), counter++);
  try {
    errno = 0;
    std::ofstream stream(temporary, std::ios::binary | std::ios::trunc);
    if (!stream) throw CannotWrite(path, errno);
    write(stream);
    // A buffer that could not be flushed sets the stream's state; errno still says why.
    if (!stream) throw CannotWrite(path, errno != 0 ? errno : EIO);
    stream.close();
    if (!stream) throw CannotWrite(path, errno != 0 ? errno : EIO);
    if (::rename(temporary.c_str(), path.c_str()) != 0) throw CannotWrite(path, errno);
  } catch (...) {
    ::unlink(temporary.c_str());
    throw;
  }
}

void WriteFileAtomically(const std::filesystem::path& path, const std::string& contents) {
  WriteFileAtomically(path, [&](std::ostream& out) {
    out.write(contents.data(), static_cast<std::streamsize>(contents.size()));
  });
}

}  // namespace etprof
