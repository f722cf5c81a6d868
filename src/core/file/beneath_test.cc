#include "core/file/beneath.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <fstream>
#include <string>

namespace etprof {
namespace {

namespace fs = std::filesystem;

class Beneath : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "etprof_beneath_XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = fs::canonical(name);
    root_ = folder_ / "root";
    fs::create_directories(root_ / "a/b");
    fs::create_directories(folder_ / "outside");
    for (const char* file : {"root/a/b/file", "root/file", "outside/thesis.txt"})
      std::ofstream(folder_ / file) << file;
    fs::create_directory_symlink(folder_ / "outside", root_ / "link");
    fs::create_symlink(folder_ / "outside/thesis.txt", root_ / "a/thesis");
  }
  void TearDown() override { fs::remove_all(folder_); }

  fs::path folder_, root_;
};

TEST_F(Beneath, FilesAreReachedWithoutLinks) {
  EXPECT_TRUE(IsFileBeneath(root_, "file"));
  EXPECT_TRUE(IsFileBeneath(root_, "a/b/file"));
  EXPECT_TRUE(IsFolderBeneath(root_, "a/b"));
  EXPECT_TRUE(IsFolderBeneath(root_, ""));
  for (const std::string name : {"link/thesis.txt", "a/thesis", "../outside/thesis.txt", "a/../file", "a/b",
                                 "a/", "", ".", "missing", "missing/file", "./file"})
    EXPECT_FALSE(IsFileBeneath(root_, name)) << name;
  EXPECT_FALSE(IsFileBeneath(root_, folder_ / "outside/thesis.txt"));
  for (const std::string name : {"link", "..", "a/..", "file", "missing"})
    EXPECT_FALSE(IsFolderBeneath(root_, name)) << name;
  EXPECT_FALSE(IsFileBeneath(folder_ / "missing", "file"));
  // The root itself may be a link, because the user named it.
  fs::create_directory_symlink(root_, folder_ / "run");
  EXPECT_TRUE(IsFileBeneath(folder_ / "run", "a/b/file"));
}

TEST_F(Beneath, RemovesOnlyFilesReachedWithoutLinks) {
  for (const std::string name :
       {"link/thesis.txt", "a/thesis", "../outside/thesis.txt", "a", "a/b", "link", "missing", ""})
    RemoveFileBeneath(root_, name);
  RemoveFileBeneath(root_, folder_ / "outside/thesis.txt");
  EXPECT_TRUE(fs::exists(folder_ / "outside/thesis.txt"));
  EXPECT_TRUE(fs::exists(root_ / "a/thesis") && fs::exists(root_ / "a/b/file"));
  RemoveFileBeneath(root_, "a/b/file");
  EXPECT_FALSE(fs::exists(root_ / "a/b"));
  EXPECT_TRUE(fs::exists(root_ / "a/thesis"));
  RemoveFileBeneath(root_, "file");
  EXPECT_TRUE(fs::exists(root_));
}

TEST_F(Beneath, LiesBeneathResolvesLinks) {
  EXPECT_TRUE(LiesBeneath(root_, root_));
  EXPECT_TRUE(LiesBeneath(root_, root_ / "a/b/not_yet/file"));
  EXPECT_FALSE(LiesBeneath(root_, root_ / "link/file"));
  EXPECT_FALSE(LiesBeneath(root_, folder_ / "root2"));
  EXPECT_FALSE(LiesBeneath(root_, folder_));
  fs::create_directory_symlink(root_ / "a", folder_ / "back");
  EXPECT_TRUE(LiesBeneath(root_, folder_ / "back/b"));
}

}  // namespace
}  // namespace etprof
