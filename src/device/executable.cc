#include "device/executable.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>

#include "core/file/elf_file.h"
#include "core/text/text.h"

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
  const bool is_elf = head.length >= 20 && std::memcmp(head.bytes.data(), "\177ELF", 4) == 0;
  return is_elf ? head.bytes[18] | head.bytes[19] << 8 : 0;
}

struct Machine {
  int value;  // e_machine

  const char* architecture;  // as `uname -m` names it; empty: no runner is built for it
  const char* name;
};
constexpr Machine kMachines[] = {
    {0x3e, "x86_64", "x86-64"}, {0xb7, "aarch64", "aarch64"}, {0x28, "", "32-bit Arm"}, {0xf3, "", "RISC-V"}};

const Machine* FindMachine(const FileHead& head) {
  const auto* const found = std::ranges::find(kMachines, ElfMachine(head), &Machine::value);
  return found == std::end(kMachines) ? nullptr : found;
}

// Describes the kind of program by its first bytes; empty: not known.
std::string DescribeProgramKind(const std::string& path) {
  const FileHead head = ReadHead(path);
  if (head.length == 0) return "an empty file";
  if (ElfMachine(head) != 0) {
    const Machine* const machine = FindMachine(head);
    return fmt::format("a program for {}", machine == nullptr ? "another processor" : machine->name);
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
    for (const std::string_view folder : SplitAt(path == nullptr ? "" : path, ':')) {
      const std::string candidate = fmt::format("{}/{}", folder, program);
      struct stat status {};
      if (::stat(candidate.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
          ::access(candidate.c_str(), X_OK) == 0) {
        return candidate;
      }
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
  const Machine* const machine = FindMachine(ReadHead(program));
  return machine == nullptr ? "" : machine->architecture;
}

std::vector<std::string> NeededLibraries(const std::filesystem::path& program) {
  const std::optional<ElfFile> file = ElfFile::Open(program);
  return file ? file->DynamicStrings(ElfFile::kNeeded) : std::vector<std::string>();
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
                         error == E2BIG ? "shorten its environment and arguments (env, extra_args)"
                                        : "check the file and its folder");
}

}  // namespace etprof
