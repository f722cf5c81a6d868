#include "core/file/file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

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

TEST_F(FileTest, AMappedFileThatBecomesShorterIsSaid) {
  const fs::path path = folder_ / "large";
  constexpr std::size_t kSize = std::size_t{20} << 20U;
  std::ofstream(path) << std::string(kSize, 'x');
  const MappedFile whole = MappedFile::Open(path);
  const MappedFile other = MappedFile::Open(path);
  EXPECT_EQ(whole.bytes()[kSize - 1], std::byte{'x'});
  fs::resize_file(path, 5000);
  EXPECT_NO_THROW(whole.RequireUnchanged()) << "nobody has looked there yet";
  const ByteView bytes = whole.bytes();
  EXPECT_EQ(std::count(bytes.begin(), bytes.end(), std::byte{0}), kSize - 5000);
  EXPECT_THAT(MessageOf([&] { whole.RequireUnchanged(); }), HasSubstr("large: changed while it was read"));
  EXPECT_NO_THROW(other.RequireUnchanged());
  // Whatever the reader made of it, this is the reason.
  for (const bool throws : {false, true}) {
    std::ofstream(path) << std::string(kSize, 'x');
    std::ptrdiff_t zeros = 0;
    const auto read = [&](ByteView view) {
      fs::resize_file(path, 0);
      zeros = std::count(view.begin(), view.end(), std::byte{0});
      if (throws) throw Error(ExitCode::kBadInput, "malformed");
      return zeros;
    };
    EXPECT_THAT(MessageOf([&] { WithFile(path, kMostText, read); }), HasSubstr("changed while it was read"));
    EXPECT_EQ(zeros, kSize);
  }
}

TEST_F(FileTest, ASmallFileIsACopy) {
  const fs::path path = folder_ / "small";
  std::ofstream(path) << std::string(100'000, 'x');
  const MappedFile file = MappedFile::Open(path);
  fs::resize_file(path, 0);
  const ByteView bytes = file.bytes();
  EXPECT_EQ(std::count(bytes.begin(), bytes.end(), std::byte{'x'}), 100'000);
}

TEST_F(FileTest, APipeIsNotWaitedFor) {
  const fs::path pipe = folder_ / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THAT(MessageOf([&] { MappedFile::Open(pipe); }), HasSubstr("is not a regular file"));
  EXPECT_THAT(MessageOf([&] { ReadTextFile("/dev/zero"); }), HasSubstr("is not a regular file"));
}

TEST_F(FileTest, WhatIsTooLargeIsRefused) {
  const fs::path path = folder_ / "sparse";
  std::ofstream(path) << "x";
  std::error_code error;
  fs::resize_file(path, std::uintmax_t{100} << 30U, error);
  if (error) GTEST_SKIP() << "needs a file system with sparse files";
  EXPECT_THAT(MessageOf([&] { ReadTextFile(path); }), HasSubstr("sparse: is larger than 537 MB"));
  EXPECT_THAT(MessageOf([&] { MappedFile::Open(path); }), HasSubstr("is larger than"));
}

}  // namespace
}  // namespace etprof
