#include "device/executable.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>

#include "core/file/elf_file.h"

namespace etprof {
namespace {

struct FileHead {
  std::array<unsigned char, 20> bytes{};
  std::size_t length = 0;
};

// Reads the first bytes of a file; empty if the file is unreadable.
FileHead ReadHead(const std::string& path) {
  FileHead head;
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return head;  // opening a pipe would block
  std::ifstream file(path, std::ios::binary);
  file.read(reinterpret_cast<char*>(head.bytes.data()), head.bytes.size());
  head.length = static_cast<std::size_t>(file.gcount());
  return head;
}

// ELF's e_machine (System V ABI, byte 18); 0: not an ELF file.
int ElfMachine(const FileHead& head) {
  const bool elf = head.length >= 20 && std::memcmp(head.bytes.data(), "\177ELF", 4) == 0;
  return elf ? head.bytes[18] | head.bytes[19] << 8 : 0;
}

// Describes the kind of program by its first bytes; empty: not known.
std::string DescribeProgramKind(const std::string& path) {
  const FileHead head = ReadHead(path);
  if (head.length == 0) return "an empty file";
  switch (ElfMachine(head)) {
    case 0:
      break;
    case 0x3e:
      return "a program for x86-64";
    case 0xb7:
      return "a program for aarch64";
    case 0x28:
      return "a program for 32-bit Arm";
    case 0xf3:
      return "a program for RISC-V";
    default:
      return "a program for another processor";
  }
  if (head.length >= 4 && (std::memcmp(head.bytes.data(), "\xcf\xfa\xed\xfe", 4) == 0 ||
                           std::memcmp(head.bytes.data(), "\xca\xfe\xba\xbe", 4) == 0)) {
    return "a program for macOS";
  }
  return "";
}

Error UnusableProgram(const std::string& program, const std::string& problem, const std::string& remedy) {
  return Error(ExitCode::kBadInput, problem).InFile(program).Remedy(remedy);
}

}  // namespace

std::string FindProgram(const std::string& program) {
  if (program.find('/') == std::string::npos) {
    const char* path = std::getenv("PATH");
    std::string remaining = path == nullptr ? "" : path;
    while (!remaining.empty()) {
      const std::size_t colon = remaining.find(':');
      const std::string candidate = remaining.substr(0, colon) + "/" + program;
      struct stat status {};
      if (::stat(candidate.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
          ::access(candidate.c_str(), X_OK) == 0) {
        return candidate;
      }
      if (colon == std::string::npos) break;
      remaining.erase(0, colon + 1);
    }
    throw UnusableProgram(program, "no such program in PATH", "give its path, or install it");
  }
  struct stat status {};
  if (::stat(program.c_str(), &status) != 0) {
    throw UnusableProgram(program, errno == ENOENT ? "no such file" : std::strerror(errno),
                          "correct its path");
  }
  if (S_ISDIR(status.st_mode))
    throw UnusableProgram(program, "is a folder, not a program", "give the program in it");
  if (!S_ISREG(status.st_mode)) throw UnusableProgram(program, "is not a regular file", "give a program");
  if (::access(program.c_str(), X_OK) != 0) {
    throw UnusableProgram(program, "is not executable",
                          fmt::format("if it is a program, chmod +x {}", program));
  }
  return program;
}

std::string ProgramArchitecture(const std::string& program) {
  switch (ElfMachine(ReadHead(program))) {
    case 0x3e:
      return "x86_64";
    case 0xb7:
      return "aarch64";
    default:
      return "";
  }
}

std::vector<std::string> NeededLibraries(const std::filesystem::path& program) {
  const std::optional<ElfFile> file = ElfFile::Open(program);
  return file ? file->DynamicTexts(ElfFile::kNeeded) : std::vector<std::string>();
}

Error NotExecutableError(const std::string& program, int error) {
  const std::string kind = DescribeProgramKind(program);
  if (error == ENOEXEC) {
    struct utsname system {};
    ::uname(&system);
    const std::string description = kind.empty() ? "is not a program" : fmt::format("is {}", kind);
    return UnusableProgram(program,
                           fmt::format("cannot be executed here: it {}, and this is {} {}", description,
                                       system.sysname, system.machine),
                           "give a program built for this machine, or an exec_wrapper that runs it");
  }
  if (error == ENOENT) {
    return UnusableProgram(program, "cannot be executed: its interpreter or loader is missing here",
                           "give a program built for this machine, or an exec_wrapper that runs it");
  }
  return UnusableProgram(program, fmt::format("cannot be executed: {}", std::strerror(error)),
                         "check the file and its folder");
}

}  // namespace etprof
