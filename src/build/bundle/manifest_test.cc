#include <gtest/gtest.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "build/bundle/bundle.h"
#include "core/file/file.h"

namespace etprof {
namespace {

namespace fs = std::filesystem;

class BundleManifestTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("etprof_bundle_test_" + std::to_string(::getpid()));
    fs::remove_all(folder_);
    WriteFileAtomically(folder_ / "libb.so", std::string("abc"));
    WriteFileAtomically(folder_ / "liba.so", std::string());
    manifest_.target = "linux-aarch64";
    manifest_.executorch = "1.5.1";
    manifest_.start = {"ld-linux-aarch64.so.1", "--library-path", ".", "etprof-runner"};
    manifest_.files = ListFiles(folder_);
    WriteFileAtomically(folder_ / kBundleManifest, ToJsonText(manifest_));
  }
  void TearDown() override { fs::remove_all(folder_); }

  fs::path folder_;
  BundleManifest manifest_;
};

TEST_F(BundleManifestTest, ListsEveryFile) {
  const nlohmann::json json = nlohmann::json::parse(ReadTextFile(folder_ / kBundleManifest));
  EXPECT_EQ(json["schema_version"], 1);
  EXPECT_EQ(json["program"], "etprof-runner");
  EXPECT_EQ(json["start"][3], "etprof-runner");
  ASSERT_EQ(json["files"].size(), 2U);
  EXPECT_EQ(json["files"][0]["name"], "liba.so");
  EXPECT_EQ(json["files"][1]["bytes"], 3);
  EXPECT_EQ(json["files"][1]["sha256"], "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST_F(BundleManifestTest, IsUpToDateSeesAnyDifference) {
  EXPECT_TRUE(IsUpToDate(folder_, manifest_));
  BundleManifest newer = manifest_;
  newer.executorch = "1.5.2";
  EXPECT_FALSE(IsUpToDate(folder_, newer));
  WriteFileAtomically(folder_ / "libb.so", std::string("abd"));
  EXPECT_FALSE(IsUpToDate(folder_, manifest_));
  WriteFileAtomically(folder_ / "libb.so", std::string("abc"));
  EXPECT_TRUE(IsUpToDate(folder_, manifest_));
  WriteFileAtomically(folder_ / "extra", std::string("x"));
  EXPECT_FALSE(IsUpToDate(folder_, manifest_));
  fs::remove(folder_ / "extra");
  fs::remove(folder_ / kBundleManifest);
  EXPECT_FALSE(IsUpToDate(folder_, manifest_));
}

}  // namespace
}  // namespace etprof
