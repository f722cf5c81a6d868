#include "measure/participants/runner_libraries.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "core/error.h"

namespace etprof {
namespace {

namespace fs = std::filesystem;

class Libraries : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::temp_directory_path() / fmt::format("etprof-libraries-{}", ::getpid());
    fs::remove_all(root_);
    fs::create_directories(root_);
    for (const char* name : {"ANDROID_NDK", "ANDROID_NDK_HOME", "ANDROID_NDK_ROOT"}) ::unsetenv(name);
    // The header of an aarch64 ELF file whose only library is libc++_shared.so.
    std::string file(64 + 2 * 56 + 3 * 16, '\0');
    const auto put = [&file](std::size_t at, std::uint64_t value) {
      for (std::size_t i = 0; i < 8; ++i) file[at + i] = static_cast<char>(value >> (8 * i));
    };
    put(0, 0x00010102464c457f);
    file[18] = '\xb7';
    put(32, 64);
    file[54] = 56;
    file[56] = 2;
    file[64] = 1;
    put(64 + 32, 1000);
    file[120] = 2;
    put(120 + 8, 176);
    put(120 + 32, 48);
    put(176, 1);
    put(192, 5);
    put(200, 224);
    std::ofstream(root_ / "executor_runner", std::ios::binary) << file << "libc++_shared.so" << '\0';
  }
  void TearDown() override {
    ::unsetenv("ANDROID_NDK");
    fs::remove_all(root_);
  }
  fs::path MakeLibrary(const fs::path& file) const {
    fs::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << "library";
    return root_ / file;
  }
  std::string ErrorMessage() const {
    try {
      AndroidRunnerLibraries(root_ / "executor_runner");
    } catch (const Error& error) {
      return error.Message();
    }
    return "";
  }
  fs::path root_;
};

TEST_F(Libraries, AreFoundNextToTheRunnerAndInTheNdk) {
  EXPECT_NE(ErrorMessage().find("needs libc++_shared.so, which is not next to it"), std::string::npos)
      << ErrorMessage();
  ::setenv("ANDROID_NDK", (root_ / "ndk").c_str(), 1);
  EXPECT_NE(ErrorMessage().find("neither next to it nor in"), std::string::npos) << ErrorMessage();
  using Paths = std::vector<fs::path>;
  const fs::path older = MakeLibrary("ndk/sources/cxx-stl/llvm-libc++/libs/arm64-v8a/libc++_shared.so");
  MakeLibrary(
      "ndk/toolchains/llvm/prebuilt/linux-x86_64/sysroot/usr/lib/x86_64-linux-android/libc++_shared.so");
  EXPECT_EQ(AndroidRunnerLibraries(root_ / "executor_runner"), Paths{older});
  const fs::path newer = MakeLibrary(
      "ndk/toolchains/llvm/prebuilt/linux-x86_64/sysroot/usr/lib/aarch64-linux-android/libc++_shared.so");
  EXPECT_EQ(AndroidRunnerLibraries(root_ / "executor_runner"), Paths{newer});
  const fs::path beside = MakeLibrary("libc++_shared.so");
  EXPECT_EQ(AndroidRunnerLibraries(root_ / "executor_runner"), Paths{beside});
}

TEST_F(Libraries, AreEmptyForARunnerThatNeedsNone) {
  std::ofstream(root_ / "runner.py") << "#!/usr/bin/env python3\n";
  EXPECT_TRUE(AndroidRunnerLibraries(root_ / "runner.py").empty());
}

}  // namespace
}  // namespace etprof
