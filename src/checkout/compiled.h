#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

namespace etprof {

// What CMake wrote of a build when it configured it.

// Source files for SME2 that are compiled. KleidiAI compiles its own whatever the options are; which of them
// the runner has depends on XNNPACK's, that call them.
struct Sme2Sources {
  std::size_t xnnpack = 0, kleidiai = 0;
};
// Of the text of a compile_commands.json. Throws Error (kBadInput), without a file name, when it is none.
Sme2Sources CountSme2Sources(std::string_view compile_commands);

// The C++ compiler, "GCC 12.2.0", "Clang 18.0.2", "AppleClang 15.0.0"; empty: `folder` does not tell.
std::string CompilerOf(const std::filesystem::path& folder);

}  // namespace etprof
