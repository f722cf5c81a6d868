#include "build/checkout/runner/runner_binary.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <exception>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "build/checkout/host_tools.h"
#include "core/error.h"
#include "core/file/elf_file.h"
#include "core/file/file.h"
#include "core/json/json.h"
#include "core/text/text.h"

namespace etprof {

namespace fs = std::filesystem;

namespace {

// Names of libraries in ExecuTorch's wheel: the prefix of all libraries, the prefix of libraries with
// kernels, and the XNNPACK backend, which etprof-runner loads at run time.
constexpr std::string_view kWheelLibraryPrefix = "libexecutorch";
constexpr std::string_view kKernelLibraryPrefix = "libexecutorch_kernels_";
constexpr const char* kXnnpackLibrary = "libexecutorch_backend_xnnpack.so";

// MSR SVCRSM, #1 and MSR SVCRSMZA, #1 (Arm ARM, C6.2 "SMSTART"): enter streaming mode, the second with ZA.
// MSR SVCRZA, #1 does not count, since C libraries may contain it.
constexpr std::array<std::uint32_t, 2> kStartStreamingInstructions = {0xd503437f, 0xd503477f};

bool EntersStreamingMode(const ElfFile& file) {
  for (const ByteView code : file.Code()) {
    for (std::size_t offset = 0; offset + 4 <= code.size(); offset += 4) {
      const std::uint64_t word = LittleEndian(code.subspan(offset, 4));
      if (std::ranges::find(kStartStreamingInstructions, word) != kStartStreamingInstructions.end())
        return true;
    }
  }
  return false;
}

// The folders that a program's loader searches first.
std::vector<fs::path> LibraryFolders(const ElfFile& program, const fs::path& path) {
  std::vector<fs::path> folders = {path.parent_path()};  // the libraries of a bundle are next to the program
  for (const std::uint64_t tag : {ElfFile::kRunPath, ElfFile::kRPath}) {
    for (const std::string& list : program.DynamicStrings(tag)) {
      for (const std::string_view part : SplitAt(list, ':')) {
        std::string folder(part);
        for (const std::string_view origin : {"$ORIGIN", "${ORIGIN}"}) {
          if (folder.starts_with(origin)) folder = path.parent_path().string() + folder.substr(origin.size());
        }
        if (!folder.empty()) folders.emplace_back(folder);
      }
    }
  }
  return folders;
}

std::vector<fs::path> WheelLibraries(const ElfFile& program, const fs::path& path) {
  std::set<std::string> names;
  for (const std::string& name : program.DynamicStrings(ElfFile::kNeeded)) {
    if (name.starts_with(kWheelLibraryPrefix)) names.insert(name);
  }
  if (!names.empty()) names.insert(kXnnpackLibrary);
  const std::vector<fs::path> folders = LibraryFolders(program, path);
  std::vector<fs::path> libraries;
  for (const std::string& name : names) {
    for (const fs::path& folder : folders) {
      if (!Exists(folder / name)) continue;
      libraries.push_back(folder / name);
      break;
    }
  }
  return libraries;
}

void AddComment(const ElfFile& file, std::string& comments) {
  for (const std::byte byte : file.Section(".comment")) comments += static_cast<char>(byte);
  comments += '\0';
}

// The value of `set(NAME "value")` in a CMake file; empty: not set there.
std::string CMakeVariable(std::string_view text, std::string_view name) {
  const std::string prefix = "set(" + std::string(name) + " \"";
  const std::size_t begin = text.find(prefix);
  if (begin == std::string_view::npos) return {};
  const std::size_t start = begin + prefix.size();
  const std::size_t end = text.find('"', start);
  return std::string(text.substr(start, end == std::string_view::npos ? 0 : end - start));
}

}  // namespace

std::string ParseCompilers(std::string_view comment) {
  std::set<std::string> compilers;
  for (const std::string_view text : SplitAt(comment, '\0')) {
    // Examples: "GCC: (Debian 12.2.0-14) 12.2.0", "Android (1234, based on r522817) clang version 18.0.2
    // (https://...)".
    constexpr std::string_view kGcc = "GCC: (", kClang = "clang version ";
    const std::size_t clang = text.find(kClang);
    if (clang != std::string_view::npos) {
      const std::string version = ParseVersion(text.substr(clang + kClang.size()));
      if (!version.empty()) compilers.insert("Clang " + version);
    } else if (text.starts_with(kGcc) && text.find(") ") != std::string_view::npos) {
      const std::string version = ParseVersion(text.substr(text.find(") ") + 2));
      if (!version.empty()) compilers.insert("GCC " + version);
    }
  }
  return fmt::format("{}", fmt::join(compilers, " and "));
}

RunnerBinary ReadRunnerBinary(const fs::path& runner) {
  RunnerBinary binary;
  try {
    const fs::path path = fs::canonical(runner);
    const std::optional<ElfFile> program = ElfFile::Open(path);
    if (!program) return binary;
    const bool is_arm = program->machine() == ElfFile::kAarch64;
    if (is_arm) binary.sme = EntersStreamingMode(*program);
    std::string comments;
    for (const fs::path& library : WheelLibraries(*program, path)) {
      const std::optional<ElfFile> file = ElfFile::Open(library);
      if (!file) continue;
      if (is_arm && EntersStreamingMode(*file)) binary.sme = true;
      if (library.filename().string().starts_with(kKernelLibraryPrefix)) AddComment(*file, comments);
    }
    if (comments.empty()) AddComment(*program, comments);
    binary.compiler = ParseCompilers(comments);
  } catch (const std::exception&) {
    // The properties stay unknown.
  }
  return binary;
}

Sme2Sources CountSme2Sources(std::string_view compile_commands) {
  const auto make_error = [] { return Error(ExitCode::kBadInput, "is not a list of compile commands"); };
  Sme2Sources sources;
  const nlohmann::json commands = ParseJson(compile_commands);
  if (!commands.is_array()) throw make_error();
  for (const nlohmann::json& command : commands) {
    const auto file = command.is_object() ? command.find("file") : command.end();
    if (file == command.end() || !file->is_string()) throw make_error();
    const std::string name = fs::path(file->get<std::string>()).filename().string();
    if (name.find("sme2") == std::string::npos) continue;
    ++(name.starts_with("kai_") ? sources.kleidiai : sources.xnnpack);
  }
  return sources;
}

std::string ReadCompiler(const fs::path& folder) {
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder / "CMakeFiles", error)) {
    const fs::path file = entry.path() / "CMakeCXXCompiler.cmake";  // CMakeFiles/<version of CMake>/
    if (!Exists(file)) continue;
    const std::string text = ReadTextFile(file);
    const std::string id = CMakeVariable(text, "CMAKE_CXX_COMPILER_ID");
    const std::string version = CMakeVariable(text, "CMAKE_CXX_COMPILER_VERSION");
    if (!id.empty() && !version.empty()) return (id == "GNU" ? "GCC" : id) + " " + version;
  }
  return {};
}

}  // namespace etprof
