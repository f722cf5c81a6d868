#include "build/checkout/compiled.h"

#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/file/file.h"
#include "core/json/json.h"

namespace etprof {

namespace fs = std::filesystem;

namespace {

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
