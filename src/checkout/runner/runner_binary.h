#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace etprof {

// What the files of a runner show of how it was built.
struct RunnerBinary {
  // Of its portable and optimized kernels: "GCC 13.3.1", "Clang 18.0.2 and GCC 12.2.0" where several took
  // part. Empty: the files do not say.
  std::string compiler;
  // Whether its code enters streaming mode (SMSTART), as all kernels for SME and SME2 of XNNPACK and KleidiAI
  // do. Absent: it is no ELF program for aarch64.
  std::optional<bool> sme;
};

// Of an executor_runner, whose libraries are in it, or of etprof-runner with the libraries of ExecuTorch's
// wheel, which are looked for where its loader does. Never throws: what cannot be read is not known.
RunnerBinary ReadRunnerBinary(const std::filesystem::path& runner);

// "GCC 12.2.0" of the texts, each ended by a 0, that compilers leave in the section .comment; empty: none of
// a compiler.
std::string CompilersIn(std::string_view comment);

}  // namespace etprof
