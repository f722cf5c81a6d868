#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

namespace etprof {

// These functions read files that CMake wrote when it configured a build.

// Numbers of compiled source files for SME2. KleidiAI always compiles its own; whether the runner uses them
// depends on XNNPACK's sources, which call them.
struct Sme2Sources {
  std::size_t xnnpack = 0, kleidiai = 0;
};
// Counts the sources in the text of a compile_commands.json. Throws Error (kBadInput), without a file name,
// for invalid text.
Sme2Sources CountSme2Sources(std::string_view compile_commands);

// The C++ compiler of the build in `folder`, "GCC 12.2.0", "Clang 18.0.2", "AppleClang 15.0.0"; empty:
// the compiler is not known.
std::string ReadCompiler(const std::filesystem::path& folder);

}  // namespace etprof
