#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace etprof {

// Properties of a runner's build that its files show.
struct RunnerBinary {
  // The compiler of the portable and optimized kernels: "GCC 13.3.1", or "Clang 18.0.2 and GCC 12.2.0" if
  // several compilers were used. Empty: not known.
  std::string compiler;
  // True if the code enters streaming mode (SMSTART), as all SME and SME2 kernels of XNNPACK and KleidiAI do.
  // Absent: not an ELF program for aarch64.
  std::optional<bool> sme;
};

// Reads an executor_runner, which is statically linked, or etprof-runner with the libraries of ExecuTorch's
// wheel, which are found as the loader finds them. Does not throw: values that cannot be read are left empty.
RunnerBinary ReadRunnerBinary(const std::filesystem::path& runner);

// The compilers, such as "GCC 12.2.0", in the contents of an ELF section .comment (strings ended by 0);
// empty: none.
std::string ParseCompilers(std::string_view comment);

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
