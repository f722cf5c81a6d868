#include "core/file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "core/error.h"

namespace etprof {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class FileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("etprof_file_test_" + std::to_string(::getpid()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  fs::path folder_;
};

std::string MessageOf(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.Message();
  }
  return "no error";
}

TEST_F(FileTest, WritesWholeAndReadsBack) {
  const fs::path path = folder_ / "new" / "a.txt";
  WriteFileAtomically(path, std::string("one\n"));
  EXPECT_EQ(ReadTextFile(path), "one\n");
  WriteFileAtomically(path, std::string());
  EXPECT_EQ(ReadTextFile(path), "");
}

TEST_F(FileTest, AWriterThatThrowsLeavesTheOldFileAndNoTemporaryOne) {
  const fs::path path = folder_ / "a.txt";
  WriteFileAtomically(path, std::string("old"));
  EXPECT_THROW(WriteFileAtomically(path,
                                   [](std::ostream& out) {
                                     out << "half";
                                     throw Error(ExitCode::kBadInput, "x");
                                   }),
               Error);
  EXPECT_EQ(ReadTextFile(path), "old");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 1);
}

TEST_F(FileTest, AFullDiskIsAnErrorNotASuccess) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "needs /dev/full";
  // /dev/full cannot be renamed over, so the stream itself is tried: what WriteFileAtomically relies on.
  const fs::path path = folder_ / "b.txt";
  const std::string message = MessageOf(
      [&] { WriteFileAtomically(path, [](std::ostream& out) { out.setstate(std::ios::badbit); }); });
  EXPECT_THAT(message, HasSubstr("cannot be written"));
  EXPECT_FALSE(fs::exists(path));
}

TEST_F(FileTest, NamesMissingFilesAndFolders) {
  EXPECT_THAT(MessageOf([&] { MappedFile::Open(folder_ / "absent"); }), HasSubstr("absent: no such file"));
  EXPECT_THAT(MessageOf([&] { MappedFile::Open(folder_); }), HasSubstr("is a folder"));
}

}  // namespace
}  // namespace etprof
