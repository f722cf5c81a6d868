#include "core/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/evp.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
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

std::string Sha256Hex(ByteView bytes) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned length = 0;
  if (EVP_Digest(bytes.data(), bytes.size(), digest.data(), &length, EVP_sha256(), nullptr) != 1) {
    throw Error(ExitCode::kDeviceFailed, "the system's crypto library has no SHA-256");
  }
  std::string text;
  for (unsigned i = 0; i < length; ++i) text += fmt::format("{:02x}", digest[i]);
  return text;
}

std::string Sha256HexOfFile(const std::filesystem::path& path) {
  return Sha256Hex(MappedFile::Open(path).bytes());
}

}  // namespace etprof
