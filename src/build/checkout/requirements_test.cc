#include "build/checkout/requirements.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "core/error.h"
#include "core/file/file.h"
#include "core/golden_testing.h"

namespace etprof {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
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
    host_.make = HostTool{"/bin/make", "4.3"};
    host_.python = HostPython{"/bin/python3", {}};
    host_.free_disk = 10'000'000'000;
  }
  ~Requirements() override { fs::remove_all(root_); }

  void Write(const fs::path& file, const std::string& text) const { WriteFileAtomically(root_ / file, text); }
  void MakeNdk(const std::string& revision) {
    Write("ndk/build/cmake/android.toolchain.cmake", "");
    Write("ndk/source.properties", "Pkg.Desc = Android NDK\nPkg.Revision = " + revision + "\n");
    host_.ndk = NdkVariable{"ANDROID_NDK_HOME", root_ / "ndk"};
  }
  // The missing requirements as "problem | remedy" in one line.
  std::string Missing(const std::string& preset_name, bool llm = false) const {
    std::string text;
    for (const RunnerPreset& preset : RunnerPresets()) {
      if (preset.name != preset_name) continue;
      for (const auto& [problem, remedy] : MissingRequirements(checkout_, {preset}, llm, host_)) {
        text += (text.empty() ? "" : "; ") + problem + " | " + remedy;
      }
    }
    return ReplaceAll(text, root_.string(), "/root");
  }

  fs::path root_;
  Checkout checkout_;
  BuildHost host_;
};

TEST_F(Requirements, FindsNothingMissingOnACompleteHost) {
  EXPECT_EQ(Missing("native"), "");
  MakeNdk("27.0.12077973");
  EXPECT_EQ(Missing("android-arm64-v9a-sme2-off-xnnlog"), "");
  host_.system = "Darwin";
  EXPECT_EQ(Missing("mac-arm64"), "");
}

TEST_F(Requirements, ReportsTheMissingRequirement) {
  const BuildHost complete_host = host_;
  CaseMessages missing;
  const auto add = [&](const char* name, const char* preset_name = "native") {
    missing.emplace_back(name, Missing(preset_name));
    host_ = complete_host;
  };
  host_.cmake = HostTool{"/bin/cmake", "3.9.6"};
  host_.ninja.reset();
  host_.make.reset();
  add("old CMake, no ninja, no make");
  host_.python->missing_modules = {"torch", "yaml"};
  add("no Python modules");
  host_.python.reset();
  add("no Python");
  add("no NDK", "android-arm64-v9a");
  host_.ndk = NdkVariable{"ANDROID_NDK_ROOT", "/nowhere"};
  add("a folder without the NDK", "android-arm64-v9a");
  MakeNdk("26.1.10909125");
  add("an old NDK", "android-arm64-v9a");
  MakeNdk("26.1.10909125");
  EXPECT_EQ(Missing("native"), "");
  Write("ndk/source.properties", "");
  add("an NDK without a version", "android-arm64-v9a");
  add("no Mac", "mac-arm64-sme2-off");
  host_.free_disk = 100'000'000;
  add("little free disk");
  host_.free_disk.reset();  // free space is not known
  EXPECT_EQ(Missing("native"), "");
  fs::create_directories(root_ / "executorch-main");
  checkout_.folder = root_ / "executorch-main";
  add("another name of the folder");
  ExpectGoldenMessages("build/missing_requirements", missing);
}

TEST_F(Requirements, PrefersEtprofsPythonIfItHasMoreModules) {
  const auto make_python = [&](const fs::path& file, const std::string& missing_modules) {
    Write(file, "#!/bin/sh\necho lacks: " + missing_modules + "\n");
    fs::permissions(root_ / file, fs::perms::owner_all);
  };
  const std::string path = std::getenv("PATH");
  make_python("bin/python3", "torch");
  ::setenv("PATH", ((root_ / "bin").string() + ":" + path).c_str(), 1);
  const auto find = [&] { return FindPython(root_ / "own"); };
  EXPECT_EQ(find()->path, (root_ / "bin" / "python3").string());
  EXPECT_THAT(find()->missing_modules, ElementsAre("torch"));
  make_python("own/python3", "");
  EXPECT_EQ(find()->path, (root_ / "own" / "python3").string());
  EXPECT_THAT(find()->missing_modules, IsEmpty());
  make_python("bin/python3", "");
  EXPECT_EQ(find()->path, (root_ / "bin" / "python3").string());
  ::setenv("PATH", path.c_str(), 1);
}

TEST_F(Requirements, ReportsEmptySubmodules) {
  Write("executorch/.gitmodules",
        "[submodule \"a\"]\n\tpath = backends/xnnpack/third-party/XNNPACK\n\turl = u\n"
        "[submodule \"b\"]\n\tpath=third-party/flatcc\n[submodule \"c\"]\n\tpath = "
        "backends/vulkan/third-party/x\n");
  fs::create_directories(checkout_.folder / "third-party" / "flatcc");
  EXPECT_THAT(MissingSubmodules(checkout_.folder, false),
              ElementsAre("backends/xnnpack/third-party/XNNPACK", "third-party/flatcc"));
  ExpectGolden("build/missing_submodules", Missing("native") + "\n");
  Write("executorch/third-party/flatcc/a", "");
  Write("executorch/backends/xnnpack/third-party/XNNPACK/a", "");
  EXPECT_THAT(MissingSubmodules(checkout_.folder, false), IsEmpty());
}

// The paths in the .gitmodules of ExecuTorch 1.5.0.
TEST_F(Requirements, IgnoresSubmodulesThatNoRunnerNeeds) {
  std::string text;
  for (const char* path : {"backends/arm/third-party/ethos-u-core-driver",
                           "backends/cadence/utils/FACTO",
                           "backends/vulkan/third-party/volk",
                           "backends/xnnpack/third-party/FP16",
                           "backends/xnnpack/third-party/FXdiv",
                           "backends/xnnpack/third-party/XNNPACK",
                           "backends/xnnpack/third-party/cpuinfo",
                           "backends/xnnpack/third-party/pthreadpool",
                           "extension/llm/tokenizers",
                           "kernels/optimized/third-party/eigen",
                           "third-party/flatbuffers",
                           "third-party/flatcc",
                           "third-party/gflags",
                           "third-party/googletest",
                           "third-party/ios-cmake",
                           "third-party/json",
                           "third-party/pocketfft",
                           "third-party/prelude",
                           "third-party/pybind11",
                           "third-party/ao",
                           "shim"})
    text += std::string("[submodule \"x\"]\n\tpath = ") + path + "\n";
  Write("executorch/.gitmodules", text);
  EXPECT_THAT(
      MissingSubmodules(checkout_.folder, false),
      ElementsAre("backends/xnnpack/third-party/FXdiv", "backends/xnnpack/third-party/XNNPACK",
                  "backends/xnnpack/third-party/cpuinfo", "backends/xnnpack/third-party/pthreadpool",
                  "kernels/optimized/third-party/eigen", "third-party/flatbuffers", "third-party/flatcc",
                  "third-party/gflags", "third-party/json", "third-party/pocketfft"));
  EXPECT_THAT(MissingSubmodules(checkout_.folder, true), testing::Contains("third-party/ao"));
  ExpectGoldenMessages("build/all_submodules_missing",
                       {{"native", Missing("native")}, {"native with LLMs", Missing("native", true)}});
}

TEST_F(Requirements, ReadCheckoutAcceptsOnlyExecuTorch) {
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
  EXPECT_EQ(ParseVersion("cmake version 3.28.1-rc2\n\nCMake suite"), "3.28.1");
  EXPECT_EQ(ParseVersion("1.11.1.git.kitware.jobserver-1"), "1.11.1");
  EXPECT_EQ(ParseVersion("no 5 here"), "");
  EXPECT_TRUE(VersionAtLeast("3.24", "3.24.0"));
  EXPECT_TRUE(VersionAtLeast("4.0", "3.24"));
  EXPECT_TRUE(VersionAtLeast("26.1.10909125", "21"));
  EXPECT_FALSE(VersionAtLeast("3.9.6", "3.24"));
  EXPECT_FALSE(VersionAtLeast("", "3.24"));
}

TEST(RunTool, KeepsTheOrderOfTheStreamsAndTheExitCode) {
  const ToolRun run = RunTool({{"sh", "-c", "echo a; echo b >&2; echo c; exit 3"}, {}, {}}, 120, {}, {});
  EXPECT_EQ(run.output, "a\nb\nc\n");
  EXPECT_EQ(run.status.code, 3);
}

TEST(RunTool, EndsASilentProgram) { EXPECT_THROW(RunTool({{"sleep", "60"}, {}, {}}, 0.1, {}, {}), Error); }

}  // namespace
}  // namespace etprof
