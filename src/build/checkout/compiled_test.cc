#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "build/checkout/runner/runner_binary.h"
#include "core/error.h"
#include "core/file/file.h"

namespace etprof {
namespace {

namespace fs = std::filesystem;

// A compile_commands.json as CMake writes it for ExecuTorch. XNNPACK's sources are in the checkout,
// KleidiAI's in the build folder.
std::string CommandsFor(std::initializer_list<const char*> files) {
  std::string text = "[\n";
  for (const char* file : files) {
    text += text.size() > 2 ? ",\n" : "";
    text += std::string(R"({"directory": "/out", "command": "cc -c x", "file": ")") + file + "\"}";
  }
  return text + "\n]\n";
}

const char* const kXnnpackSme2 =
    "/kleidiai/executorch/backends/xnnpack/third-party/XNNPACK/src/pf32-gemm/"
    "pf32-gemm-32x32-minmax-neonsme2.c";
const char* const kXnnpackNeon = "/kleidiai/executorch/x/XNNPACK/src/f32-gemm/gen/f32-gemm-6x8-neonfma.c";
const char* const kKleidiaiSme2 =
    "/out/kleidiai-source/kai/ukernels/matmul/kai_matmul_clamp_f32_f32p2vlx1_f32p2vlx1b_2vlx2vl_sme2_mopa.c";
const char* const kKleidiaiNeon =
    "/out/kleidiai-source/kai/ukernels/matmul/kai_matmul_clamp_f32_f32_f32p_neon.c";

TEST(CountSme2Sources, CountsXnnpackAndKleidiaiSeparately) {
  const auto count = [](const std::string& text) {
    const Sme2Sources sources = CountSme2Sources(text);
    return std::pair(sources.xnnpack, sources.kleidiai);
  };
  EXPECT_EQ(count(CommandsFor({kXnnpackSme2, kXnnpackNeon, kKleidiaiSme2, kKleidiaiNeon})),
            std::pair(std::size_t{1}, std::size_t{1}));
  // With Clang before 18, or with the options off, XNNPACK does not compile its SME2 sources, but KleidiAI
  // does.
  EXPECT_EQ(count(CommandsFor({kXnnpackNeon, kKleidiaiSme2, kKleidiaiNeon})),
            std::pair(std::size_t{0}, std::size_t{1}));
  EXPECT_EQ(count("[]"), std::pair(std::size_t{0}, std::size_t{0}));
}

TEST(CountSme2Sources, RefusesInvalidCompileCommands) {
  for (const char* text : {"", "{}", "[1]", R"([{"file": 1}])", R"([{"directory": "/out"}])", "[{"})
    EXPECT_THROW(CountSme2Sources(text), Error) << text;
}

TEST(ReadCompiler, ReadsCMakesCompilerFile) {
  const fs::path folder = fs::path(testing::TempDir()) / ("compiled_" + std::to_string(::getpid()));
  const fs::path file = folder / "CMakeFiles" / "3.28.1" / "CMakeCXXCompiler.cmake";
  EXPECT_EQ(ReadCompiler(folder), "");
  fs::create_directories(file.parent_path());
  WriteFileAtomically(file,
                      "set(CMAKE_CXX_COMPILER \"/usr/bin/c++\")\nset(CMAKE_CXX_COMPILER_ID \"GNU\")\n"
                      "set(CMAKE_CXX_COMPILER_VERSION \"12.2.0\")\n");
  EXPECT_EQ(ReadCompiler(folder), "GCC 12.2.0");
  WriteFileAtomically(file,
                      "set(CMAKE_CXX_COMPILER_ID \"Clang\")\nset(CMAKE_CXX_COMPILER_VERSION \"18.0.2\")\n");
  EXPECT_EQ(ReadCompiler(folder), "Clang 18.0.2");
  WriteFileAtomically(file, "set(CMAKE_CXX_COMPILER_ID \"Clang\")\n");
  EXPECT_EQ(ReadCompiler(folder), "");
  fs::remove_all(folder);
}

}  // namespace
}  // namespace etprof
