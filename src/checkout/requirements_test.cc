#include "checkout/requirements.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "core/error.h"
#include "core/file.h"

namespace etprof {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class Requirements : public testing::Test {
 protected:
  Requirements()
      : root_(fs::path(testing::TempDir()) /
              ("requirements_" + std::to_string(::getpid()) + "_" +
               testing::UnitTest::GetInstance()->current_test_info()->name())) {
    fs::remove_all(root_);
    fs::create_directories(root_ / "executorch");
    checkout_.folder = root_ / "executorch";
    host_.system = "Linux";
    host_.cmake = HostTool{"/bin/cmake", "3.24.0"};
    host_.ninja = HostTool{"/bin/ninja", "1.11.1"};
    host_.free_disk = 10'000'000'000;
  }
  ~Requirements() override { fs::remove_all(root_); }

  void Write(const fs::path& file, const std::string& text) const { WriteFileAtomically(root_ / file, text); }
  void MakeNdk(const std::string& revision) {
    Write("ndk/build/cmake/android.toolchain.cmake", "");
    Write("ndk/source.properties", "Pkg.Desc = Android NDK\nPkg.Revision = " + revision + "\n");
    host_.ndk = root_ / "ndk";
  }
  // "problem | remedy", one a line.
  std::string Missing(const std::string& preset) const {
    std::string text;
    for (const RunnerPreset& known : RunnerPresets()) {
      if (known.name != preset) continue;
      for (const auto& [problem, remedy] : MissingRequirements(checkout_, {known}, host_)) {
        text += problem + " | " + remedy + "\n";
      }
    }
    return text;
  }

  fs::path root_;
  Checkout checkout_;
  BuildHost host_;
};

TEST_F(Requirements, NothingIsMissingWhereAllIsThere) {
  EXPECT_EQ(Missing("native"), "");
  MakeNdk("21.0.6113669");
  EXPECT_EQ(Missing("android-arm64-v9a-sme2-off-xnnlog"), "");
  host_.system = "Darwin";
  EXPECT_EQ(Missing("mac-arm64"), "");
}

TEST_F(Requirements, OldAndAbsentTools) {
  host_.cmake = HostTool{"/bin/cmake", "3.9.6"};
  host_.ninja.reset();
  EXPECT_THAT(Missing("native"), HasSubstr("/bin/cmake is 3.9.6; 3.24 or later is needed | install it"));
  EXPECT_THAT(Missing("native"), HasSubstr("ninja was not found"));
}

TEST_F(Requirements, TheNdkIsAskedForByAndroidOnly) {
  EXPECT_THAT(Missing("android-arm64-v9a"), HasSubstr("ANDROID_NDK is not set"));
  host_.ndk = root_ / "nowhere";
  EXPECT_THAT(Missing("android-arm64-v9a"), HasSubstr("has no build/cmake/android.toolchain.cmake"));
  MakeNdk("20.1.5948944");
  EXPECT_THAT(Missing("android-arm64-v9a"), HasSubstr("is 20.1.5948944, older than r21"));
  EXPECT_EQ(Missing("native"), "");
  Write("ndk/source.properties", "");
  EXPECT_THAT(Missing("android-arm64-v9a"), HasSubstr("does not say its version"));
}

TEST_F(Requirements, MacsAreBuiltOnMacs) {
  EXPECT_THAT(Missing("mac-arm64-sme2-off"), HasSubstr("built on a Mac, and this is Linux"));
}

TEST_F(Requirements, TheFoldersName) {
  fs::create_directories(root_ / "executorch-main");
  checkout_.folder = root_ / "executorch-main";
  EXPECT_THAT(Missing("native"), HasSubstr("is named executorch-main"));
  EXPECT_THAT(Missing("native"), HasSubstr("mv " + checkout_.folder.string()));
}

TEST_F(Requirements, EmptySubmodulesThatTheRunnerNeeds) {
  Write("executorch/.gitmodules",
        "[submodule \"a\"]\n\tpath = backends/xnnpack/third-party/XNNPACK\n\turl = u\n"
        "[submodule \"b\"]\n\tpath=third-party/flatcc\n[submodule \"c\"]\n\tpath = "
        "backends/vulkan/third-party/x\n");
  fs::create_directories(checkout_.folder / "third-party" / "flatcc");
  EXPECT_THAT(MissingSubmodules(checkout_.folder),
              ElementsAre("backends/xnnpack/third-party/XNNPACK", "third-party/flatcc"));
  EXPECT_THAT(Missing("native"), HasSubstr("2 of its submodules are not there: backends/xnnpack"));
  EXPECT_THAT(Missing("native"), HasSubstr("submodule update --init --recursive"));
  Write("executorch/third-party/flatcc/a", "");
  Write("executorch/backends/xnnpack/third-party/XNNPACK/a", "");
  EXPECT_THAT(MissingSubmodules(checkout_.folder), IsEmpty());
}

TEST_F(Requirements, FreeDisk) {
  host_.free_disk = 100'000'000;
  EXPECT_THAT(Missing("native"), HasSubstr("has 100 MB free; about 2.00 GB are needed"));
  host_.free_disk.reset();  // not known
  EXPECT_EQ(Missing("native"), "");
}

TEST_F(Requirements, ACheckoutIsExecuTorchs) {
  EXPECT_THROW(ReadCheckout(root_ / "nowhere", {}), Error);
  EXPECT_THROW(ReadCheckout(root_ / "executorch", {}), Error);
  Write("executorch/CMakeLists.txt", "project(other)");
  EXPECT_THROW(ReadCheckout(root_ / "executorch", {}), Error);
  Write("executorch/CMakeLists.txt", "project(executorch)");
  Write("executorch/version.txt", "1.5.1\n");
  const Checkout checkout = ReadCheckout(root_ / "executorch", {});
  EXPECT_EQ(checkout.version, "1.5.1");
  EXPECT_FALSE(checkout.commit);
  EXPECT_NE(checkout.git_problem, "");
}

TEST(Versions, AreFoundAndCompared) {
  EXPECT_EQ(VersionIn("cmake version 3.28.1-rc2\n\nCMake suite"), "3.28.1");
  EXPECT_EQ(VersionIn("1.11.1.git.kitware.jobserver-1"), "1.11.1");
  EXPECT_EQ(VersionIn("no 5 here"), "");
  EXPECT_TRUE(VersionAtLeast("3.24", "3.24.0"));
  EXPECT_TRUE(VersionAtLeast("4.0", "3.24"));
  EXPECT_TRUE(VersionAtLeast("26.1.10909125", "21"));
  EXPECT_FALSE(VersionAtLeast("3.9.6", "3.24"));
  EXPECT_FALSE(VersionAtLeast("", "3.24"));
}

TEST(RunTool, KeepsTheOrderOfTheStreamsAndTheExitCode) {
  const ToolRun run = RunTool({{"sh", "-c", "echo a; echo b >&2; echo c; exit 3"}, {}, {}}, 20, {}, {});
  EXPECT_EQ(run.output, "a\nb\nc\n");
  EXPECT_EQ(run.status.code, 3);
}

TEST(RunTool, EndsWhatSaysNothing) { EXPECT_THROW(RunTool({{"sleep", "60"}, {}, {}}, 0.1, {}, {}), Error); }

}  // namespace
}  // namespace etprof
