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
#include <fstream>
#include <optional>

#include "core/file.h"

namespace etprof {
namespace {

struct Head {
  std::array<unsigned char, 20> bytes{};
  std::size_t length = 0;
};

Head HeadOf(const std::string& path) {
  Head head;
  std::ifstream file(path, std::ios::binary);
  file.read(reinterpret_cast<char*>(head.bytes.data()), head.bytes.size());
  head.length = static_cast<std::size_t>(file.gcount());
  return head;
}

// ELF's e_machine (System V ABI, byte 18); 0: no ELF.
int MachineOf(const Head& head) {
  const bool elf = head.length >= 20 && std::memcmp(head.bytes.data(), "\177ELF", 4) == 0;
  return elf ? head.bytes[18] | head.bytes[19] << 8 : 0;
}

// What kind of program the first bytes tell of; empty: none that is known.
std::string KindOfProgram(const std::string& path) {
  const Head head = HeadOf(path);
  if (head.length == 0) return "an empty file";
  switch (MachineOf(head)) {
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

Error Unusable(const std::string& program, const std::string& problem, const std::string& remedy) {
  return Error(ExitCode::kBadInput, problem).InFile(program).Remedy(remedy);
}

}  // namespace

std::string FindProgram(const std::string& program) {
  if (program.find('/') == std::string::npos) {
    const char* path = std::getenv("PATH");
    std::string rest = path == nullptr ? "" : path;
    while (!rest.empty()) {
      const std::size_t colon = rest.find(':');
      const std::string candidate = rest.substr(0, colon) + "/" + program;
      struct stat status {};
      if (::stat(candidate.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
          ::access(candidate.c_str(), X_OK) == 0) {
        return candidate;
      }
      if (colon == std::string::npos) break;
      rest.erase(0, colon + 1);
    }
    throw Unusable(program, "no such program in PATH", "give its path, or install it");
  }
  struct stat status {};
  if (::stat(program.c_str(), &status) != 0) {
    throw Unusable(program, errno == ENOENT ? "no such file" : std::strerror(errno), "correct its path");
  }
  if (S_ISDIR(status.st_mode))
    throw Unusable(program, "is a folder, not a program", "give the program in it");
  if (::access(program.c_str(), X_OK) != 0) {
    throw Unusable(program, "is not executable", fmt::format("if it is a program, chmod +x {}", program));
  }
  return program;
}

std::string ProgramArchitecture(const std::string& program) {
  switch (MachineOf(HeadOf(program))) {
    case 0x3e:
      return "x86_64";
    case 0xb7:
      return "aarch64";
    default:
      return "";
  }
}

std::vector<std::string> NeededLibraries(const std::filesystem::path& program) {
  // Generic ABI of System V, chapters 4 and 5; little endian.
  constexpr std::uint64_t kLoad = 1, kDynamic = 2, kNeeded = 1, kStringTable = 5;
  std::error_code error;
  if (!std::filesystem::is_regular_file(program, error) || std::filesystem::file_size(program, error) < 64)
    return {};
  const MappedFile file = MappedFile::Open(program);
  const ByteView bytes = file.bytes();
  const auto at = [&](std::uint64_t offset, unsigned size) {
    std::uint64_t value = 0;
    if (offset > bytes.size() || bytes.size() - offset < size) return value;
    for (unsigned i = 0; i < size; ++i)
      value |= std::uint64_t{static_cast<unsigned char>(bytes[static_cast<std::size_t>(offset) + i])}
               << (8 * i);
    return value;
  };
  // 64 bits, little endian.
  if (at(0, 4) != 0x464c457f || at(4, 1) != 2 || at(5, 1) != 1) return {};
  struct Segment {
    std::uint64_t type, offset, address, size;
  };
  std::vector<Segment> segments;
  const std::uint64_t headers = at(32, 8), header_size = at(54, 2), count = at(56, 2);
  for (std::uint64_t i = 0; i < count && header_size >= 56; ++i) {
    const std::uint64_t header = headers + i * header_size;
    if (header < headers || header > bytes.size()) return {};
    segments.push_back({at(header, 4), at(header + 8, 8), at(header + 16, 8), at(header + 32, 8)});
  }
  std::vector<std::uint64_t> names;
  std::uint64_t table = 0;
  for (const Segment& segment : segments) {
    if (segment.type != kDynamic || segment.offset > bytes.size()) continue;
    const std::uint64_t end =
        segment.offset + std::min<std::uint64_t>(segment.size, bytes.size() - segment.offset);
    for (std::uint64_t entry = segment.offset; entry + 16 <= end && at(entry, 8) != 0; entry += 16) {
      if (at(entry, 8) == kNeeded) names.push_back(at(entry + 8, 8));
      if (at(entry, 8) == kStringTable) table = at(entry + 8, 8);
    }
  }
  // The table is told by its address in memory.
  std::optional<std::uint64_t> strings;
  for (const Segment& segment : segments) {
    if (segment.type == kLoad && table >= segment.address && table - segment.address < segment.size)
      strings = segment.offset + (table - segment.address);
  }
  std::vector<std::string> libraries;
  for (const std::uint64_t name : names) {
    if (!strings || *strings > bytes.size() || name > bytes.size() - *strings) continue;
    std::string text;
    for (std::uint64_t i = *strings + name; i < bytes.size() && at(i, 1) != 0 && text.size() < 256; ++i)
      text += static_cast<char>(at(i, 1));
    libraries.push_back(text);
  }
  return libraries;
}

Error WhyNotExecutable(const std::string& program, int error) {
  const std::string kind = KindOfProgram(program);
  if (error == ENOEXEC) {
    struct utsname system {};
    ::uname(&system);
    const std::string what = kind.empty() ? "is not a program" : fmt::format("is {}", kind);
    return Unusable(program,
                    fmt::format("cannot be executed here: it {}, and this is {} {}", what, system.sysname,
                                system.machine),
                    "give a program built for this machine, or an exec_wrapper that runs it");
  }
  if (error == ENOENT) {
    return Unusable(program, "cannot be executed: its interpreter or loader is missing here",
                    "give a program built for this machine, or an exec_wrapper that runs it");
  }
  return Unusable(program, fmt::format("cannot be executed: {}", std::strerror(error)),
                  "check the file and its folder");
}

}  // namespace etprof
