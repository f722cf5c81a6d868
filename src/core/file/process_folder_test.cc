#include "core/file/process_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>

namespace etprof {
namespace {

namespace fs = std::filesystem;

TEST(ProcessFolders, AreAbandonedWhenTheirProcessEnded) {
  const std::string prefix = "etprof-folder-test" + std::to_string(::getpid());
  int pipe_ends[2];
  ASSERT_EQ(::pipe(pipe_ends), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const ProcessFolder folder(prefix, "a folder");
    const std::string path = folder.path();
    std::ofstream(folder.path() / "file") << "x";
    if (::write(pipe_ends[1], path.data(), path.size()) < 0) ::_exit(1);
    ::pause();
    ::_exit(0);
  }
  std::string path(4096, '\0');
  const ssize_t length = ::read(pipe_ends[0], path.data(), path.size());
  ASSERT_GT(length, 0);
  path.resize(static_cast<std::size_t>(length));
  fs::path folder_path;
  {
    const ProcessFolder folder(prefix, "a folder");
    folder_path = folder.path();
    EXPECT_TRUE(fs::is_directory(folder_path));
    EXPECT_THAT(FindAbandonedFolders(prefix), testing::IsEmpty());
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    EXPECT_THAT(FindAbandonedFolders(prefix), testing::ElementsAre(fs::path(path)));
  }
  EXPECT_FALSE(fs::exists(folder_path));
  fs::create_directory(fs::temp_directory_path() /
                       (prefix + "-mine"));  // the name has no process id, so the folder is not one of ours
  EXPECT_THAT(FindAbandonedFolders(prefix), testing::ElementsAre(fs::path(path)));
  fs::remove_all(path);
  fs::remove_all(fs::temp_directory_path() / (prefix + "-mine"));
  ::close(pipe_ends[0]);
  ::close(pipe_ends[1]);
}

}  // namespace
}  // namespace etprof
