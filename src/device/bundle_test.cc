#include "device/bundle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "core/error.h"

namespace etprof {
namespace {

using testing::ElementsAre;

class BundleTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(testing::TempDir()) /
              ("etprof_bundle_of_" + std::to_string(::getpid()) + "_" +
               testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::optional<RunnerBundle> ReadBundle(const std::string& json,
                                         const std::string& program = "etprof-runner") {
    std::ofstream(folder_ / "bundle.json") << json;
    return FindBundle(folder_ / program);
  }
  std::filesystem::path folder_;
};

constexpr const char* kManifest = R"({"schema_version": 1, "target": "android", "executorch": "1.5.1",
  "program": "etprof-runner", "start": ["ld.so", "--library-path", ".", "etprof-runner", "--x"],
  "files": [{"name": "ld.so", "bytes": 3, "sha256": "abababababababababababababababababababababababababababababababab"}, {"name": "etprof-runner", "bytes": 4, "sha256": "cdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcd"}]})";

TEST_F(BundleTest, StartsWithItsLoaderFromAnyFolder) {
  const auto bundle = ReadBundle(kManifest);
  ASSERT_TRUE(bundle);
  EXPECT_THAT(bundle->StartCommand("/data/x"),
              ElementsAre("/data/x/ld.so", "--library-path", "/data/x", "/data/x/etprof-runner", "--x"));
  EXPECT_EQ(bundle->manifest.files.size(), 2);
  EXPECT_EQ(bundle->manifest.target, "android");
}

TEST_F(BundleTest, IgnoresBundleOfAnotherProgram) { EXPECT_FALSE(ReadBundle(kManifest, "executor_runner")); }

TEST_F(BundleTest, ReturnsNothingWithoutManifest) { EXPECT_FALSE(FindBundle(folder_ / "etprof-runner")); }

TEST_F(BundleTest, RejectsInvalidManifests) {
  const std::string complete = kManifest;
  std::string outside = complete;
  outside.replace(outside.find("\"ld.so\", \"bytes"), 7, "\"../ld\"");
  std::string no_start = complete;
  no_start.replace(no_start.find("[\"ld.so"), no_start.find("\"--x\"]") + 6 - no_start.find("[\"ld.so"),
                   "[]");
  for (const std::string& text : {std::string(), std::string("{}"), std::string("[1]"),
                                  complete.substr(0, complete.size() / 2), outside, no_start}) {
    EXPECT_THROW(ReadBundle(text), Error) << text;
  }
}

}  // namespace
}  // namespace etprof
