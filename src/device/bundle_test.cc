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
  std::optional<RunnerBundle> Of(const std::string& json, const std::string& program = "etprof-runner") {
    std::ofstream(folder_ / "bundle.json") << json;
    return BundleOf(folder_ / program);
  }
  std::filesystem::path folder_;
};

constexpr const char* kWhole = R"({"schema_version": 1, "target": "android", "executorch": "1.5.1",
  "program": "etprof-runner", "start": ["ld.so", "--library-path", ".", "etprof-runner", "--x"],
  "files": [{"name": "ld.so", "bytes": 3, "sha256": "abababababababababababababababababababababababababababababababab"}, {"name": "etprof-runner", "bytes": 4, "sha256": "cdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcd"}]})";

TEST_F(BundleTest, IsStartedByItsLoaderFromAnyFolder) {
  const auto bundle = Of(kWhole);
  ASSERT_TRUE(bundle);
  EXPECT_THAT(bundle->StartWords("/data/x"),
              ElementsAre("/data/x/ld.so", "--library-path", "/data/x", "/data/x/etprof-runner", "--x"));
  EXPECT_EQ(bundle->manifest.files.size(), 2);
  EXPECT_EQ(bundle->manifest.target, "android");
}

TEST_F(BundleTest, AnotherProgramBesideItIsNone) { EXPECT_FALSE(Of(kWhole, "executor_runner")); }

TEST_F(BundleTest, NoManifestIsNone) { EXPECT_FALSE(BundleOf(folder_ / "etprof-runner")); }

TEST_F(BundleTest, ABrokenManifestIsRefused) {
  const std::string whole = kWhole;
  std::string outside = whole;
  outside.replace(outside.find("\"ld.so\", \"bytes"), 7, "\"../ld\"");
  std::string nothing = whole;
  nothing.replace(nothing.find("[\"ld.so"), nothing.find("\"--x\"]") + 6 - nothing.find("[\"ld.so"), "[]");
  for (const std::string& text : {std::string(), std::string("{}"), std::string("[1]"),
                                  whole.substr(0, whole.size() / 2), outside, nothing}) {
    EXPECT_THROW(Of(text), Error) << text;
  }
}

}  // namespace
}  // namespace etprof
