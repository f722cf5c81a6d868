#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>

#include "core/error.h"
#include "core/file/file.h"

namespace etprof {
namespace {

namespace fs = std::filesystem;

class WriteFile : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "etprof_write_XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { fs::remove_all(folder_); }

  static std::string Contents(const fs::path& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  static void WriteText(const fs::path& file, const std::string& text) {
    std::ofstream(file, std::ios::binary) << text;
  }
  std::size_t CountEntries() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_), {}));
  }

  fs::path folder_;
};

const std::function<void(std::ostream&)> kWriteNew = [](std::ostream& out) { out << "new"; };

TEST_F(WriteFile, NeverReplacesADevice) {
  const int number = ::open((folder_ / "file").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  WriteFileAtomically("/dev/fd/" + std::to_string(number), "new");
  EXPECT_EQ(Contents(folder_ / "file"), "new");
  ::close(number);
  // Only root can make a device, and could replace it.
  const fs::path null = folder_ / "null";
  struct stat status {};
  ASSERT_EQ(::stat("/dev/null", &status), 0);
  if (::mknod(null.c_str(), S_IFCHR | 0600, status.st_rdev) != 0) return;
  WriteFileAtomically(null, "new");
  EXPECT_TRUE(fs::is_character_file(null));
}

TEST_F(WriteFile, FollowsChainsOfLinks) {
  fs::create_directory(folder_ / "there");
  WriteText(folder_ / "there/file", "old");
  fs::permissions(folder_ / "there/file", fs::perms::owner_read | fs::perms::owner_write);
  fs::create_symlink("there/file", folder_ / "one");
  fs::create_symlink("one", folder_ / "two");
  WriteOutput(folder_ / "two", kWriteNew);
  EXPECT_EQ(Contents(folder_ / "there/file"), "new");
  EXPECT_TRUE(fs::is_symlink(folder_ / "two") && fs::is_symlink(folder_ / "one"));
  EXPECT_EQ(fs::status(folder_ / "there/file").permissions(), fs::perms::owner_read | fs::perms::owner_write);
  fs::create_symlink("there/missing", folder_ / "dangling");
  WriteOutput(folder_ / "dangling", kWriteNew);
  EXPECT_EQ(Contents(folder_ / "there/missing"), "new");
  fs::create_symlink("round", folder_ / "round");
  EXPECT_THROW(WriteOutput(folder_ / "round", kWriteNew), Error);
}

TEST_F(WriteFile, WriteFileAtomicallyReplacesLinks) {
  WriteText(folder_ / "thesis.txt", "precious");
  fs::create_symlink("thesis.txt", folder_ / "report.md");
  WriteFileAtomically(folder_ / "report.md", "new");
  EXPECT_EQ(Contents(folder_ / "thesis.txt"), "precious");
  EXPECT_EQ(Contents(folder_ / "report.md"), "new");
  EXPECT_FALSE(fs::is_symlink(folder_ / "report.md"));
}

TEST_F(WriteFile, WritesIntoPipesAndSockets) {
  const fs::path pipe = folder_ / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  std::string received;
  std::thread reader([&] { received = Contents(pipe); });
  const std::string large(300'000, 'x');
  WriteOutput(pipe, [&](std::ostream& out) { out << large; });
  reader.join();
  EXPECT_EQ(received, large);
  EXPECT_TRUE(fs::is_fifo(pipe));

  const fs::path socket = folder_ / "socket";
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  socket.string().copy(address.sun_path, sizeof(address.sun_path) - 1);
  const int server = ::socket(AF_UNIX, SOCK_STREAM, 0);
  ASSERT_EQ(::bind(server, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(::listen(server, 1), 0);
  WriteOutput(socket, kWriteNew);
  const int client = ::accept(server, nullptr, nullptr);
  std::array<char, 8> buffer{};
  EXPECT_EQ(::read(client, buffer.data(), buffer.size()), 3);
  EXPECT_EQ(std::string(buffer.data()), "new");
  ::close(client);
  ::close(server);
  EXPECT_TRUE(fs::is_socket(socket));
}

TEST_F(WriteFile, WritesOnlyChangedFilesAndRendersThemOnce) {
  const fs::path file = folder_ / "table.csv";
  const std::string old_text(300'000, 'x');  // longer than a buffer
  const auto file_number = [&] {
    struct stat status {};
    return ::stat(file.c_str(), &status) == 0 ? status.st_ino : 0;
  };
  // Returns whether the file was replaced.
  const auto write = [&](const std::string& text) {
    int calls = 0;
    const auto old_number = file_number();
    WriteFileIfChanged(file, [&](std::ostream& out) {
      ++calls;
      out << text;
    });
    EXPECT_EQ(calls, 1);
    EXPECT_EQ(Contents(file), text);
    return file_number() != old_number;
  };
  EXPECT_TRUE(write(old_text));
  EXPECT_FALSE(write(old_text));
  fs::permissions(folder_, fs::perms::owner_read | fs::perms::owner_exec);
  EXPECT_FALSE(write(old_text));
  fs::permissions(folder_, fs::perms::owner_all);
  for (const std::string& text : {old_text + "more", old_text, old_text.substr(1), std::string(),
                                  std::string("y"), old_text.substr(0, 200'000) + "y"}) {
    EXPECT_TRUE(write(text)) << text.size();
    EXPECT_FALSE(write(text)) << text.size();
  }
  EXPECT_EQ(CountEntries(), 1U);
  // A file that cannot be replaced keeps its contents.
  EXPECT_THROW(WriteFileIfChanged(file, [](std::ostream&) { throw std::runtime_error("stop"); }),
               std::runtime_error);
  EXPECT_EQ(Contents(file), old_text.substr(0, 200'000) + "y");
}

TEST_F(WriteFile, WritesIntoDevicesAndOwnDescriptors) {
  WriteOutput("/dev/null", kWriteNew);
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  try {
    WriteOutput("/dev/full", kWriteNew);
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_NE(error.Message().find("No space left"), std::string::npos);
  }
  // A file that a shell opened with >> keeps its contents.
  WriteText(folder_ / "log", "first ");
  const int log = ::open((folder_ / "log").c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  WriteOutput("/dev/fd/" + std::to_string(log), kWriteNew);
  EXPECT_NE(::fcntl(log, F_GETFD), -1) << "closed";
  ::close(log);
  EXPECT_EQ(Contents(folder_ / "log"), "first new");
  EXPECT_THROW(WriteOutput("/dev/fd/" + std::to_string(log), kWriteNew), Error);
}

TEST_F(WriteFile, KnowsTheNamesOfTheStandardOutput) {
  for (const char* name : {"-", "/dev/stdout", "/dev/./stdout", "/dev/fd/1", "/proc/self/fd/1"})
    EXPECT_TRUE(IsStdout(name)) << name;
  for (const char* name : {"", "./-", "stdout", "/dev/stderr", "/dev/fd/2", "/dev/fd/10", "/dev/fd/"})
    EXPECT_FALSE(IsStdout(name)) << name;
}

TEST_F(WriteFile, RefusesFolders) {
  EXPECT_THROW(WriteOutput(folder_, kWriteNew), Error);
  EXPECT_THROW(WriteFileAtomically(folder_, "new"), Error);
  EXPECT_TRUE(fs::is_directory(folder_));
}

TEST_F(WriteFile, RemovesTheTemporaryFileAfterAFailure) {
  EXPECT_THROW(WriteFileAtomically(folder_ / "file",
                                   [](std::ostream&) { throw Error(ExitCode::kInterrupted, "stop"); }),
               Error);
  EXPECT_EQ(CountEntries(), 0U);
}

TEST_F(WriteFile, RemovesTemporaryFilesOnEndingSignals) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    const pid_t child = ::fork();
    if (child == 0) {
      WriteFileAtomically(folder_ / "file", [&](std::ostream& out) {
        out << std::string(100'000, 'x') << std::flush;
        ::raise(signal);
      });
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == signal);
    EXPECT_EQ(CountEntries(), 0U);
  }
  struct sigaction after {};
  WriteFileAtomically(folder_ / "file", "new");
  ::sigaction(SIGTERM, nullptr, &after);
  EXPECT_EQ(after.sa_handler, SIG_DFL);
}

TEST_F(WriteFile, RemovesTemporaryFilesOfKilledWriters) {
  const pid_t child = ::fork();
  if (child == 0) {
    WriteFileAtomically(folder_ / "file", [](std::ostream&) { ::raise(SIGKILL); });
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_EQ(CountEntries(), 1U);
  // A writer in another container still holds its lock, although no process here has its id.
  const fs::path locked_file = folder_ / (".etprof-" + std::to_string(child) + "-0123456789abcdef.tmp");
  const int descriptor = ::open(locked_file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  ASSERT_EQ(::flock(descriptor, LOCK_EX), 0);
  WriteFileAtomically(folder_ / "file", "new");
  EXPECT_EQ(CountEntries(), 2U);
  EXPECT_TRUE(fs::exists(locked_file));
  ::close(descriptor);
}

TEST_F(WriteFile, OutputsReplaceOnlyTheirOwnKind) {
  using namespace std::string_literals;
  const auto writes = [&](const std::string& old, const std::string& contents) {
    WriteText(folder_ / "out", old);
    try {
      WriteOutput(folder_ / "out", [&](std::ostream& out) { out << contents; });
      EXPECT_EQ(Contents(folder_ / "out"), contents);
      return true;
    } catch (const Error& error) {
      EXPECT_EQ(error.exit_code(), ExitCode::kUsage);
      EXPECT_EQ(Contents(folder_ / "out"), old);
      return false;
    }
  };
  const std::string csv = "a,b\n1,2\n", object = "{\n}", html = "<!doctype html>", markdown = "# Title\n",
                    gzip = "\x1f\x8b\b\0\0"s, perfetto = "\n\x10\x50\x01\0"s;
  const std::vector<std::string> outputs = {csv, object, html, markdown, gzip, perfetto};
  for (const std::string& old : outputs) {
    for (const std::string& contents : outputs) EXPECT_EQ(writes(old, contents), old == contents) << old;
    EXPECT_TRUE(writes("", old));
  }
  const std::vector<std::string> inputs = {"\x1c\0\0\0ET12"s,
                                           "\x7f"
                                           "ELF\x02\x01"s,
                                           "PK\x03\x04\x14\0"s,
                                           "SQLite format 3\0"s,
                                           "\x58\0\0\0\0\0\0\0{\"x\":"s,
                                           "\x20\0\0\0ED00"s};
  for (const std::string& old : inputs) {
    for (const std::string& contents : outputs) EXPECT_FALSE(writes(old, contents)) << old;
    EXPECT_THROW(RequireReplaceable(folder_ / "out"), Error);
  }
  EXPECT_FALSE(writes("#!/bin/sh\n", markdown));
  EXPECT_EQ(CountEntries(), 1U);
}

TEST_F(WriteFile, OutputsDoNotReplaceFilesOfAManifest) {
  fs::create_directories(folder_ / "run/on");
  WriteText(folder_ / "run/manifest.json", R"({"results": [{"log": "on/net.log"}]})");
  for (const char* const name : {"run/manifest.json", "run/on/net.log", "run/on/other.log"}) {
    if (!fs::exists(folder_ / name)) WriteText(folder_ / name, "text");
    const bool is_named = std::string(name) != "run/on/other.log";
    if (is_named) {
      EXPECT_THROW(WriteOutput(folder_ / name, kWriteNew), Error) << name;
    } else {
      EXPECT_NO_THROW(WriteOutput(folder_ / name, kWriteNew)) << name;
    }
  }
}

TEST_F(WriteFile, RemoveStaleTemporariesRemovesNothingElse) {
  const pid_t child = ::fork();
  if (child == 0) {
    WriteFileAtomically(folder_ / "file", [](std::ostream& out) {
      out << std::string(100'000, 'x') << std::flush;
      ::raise(SIGKILL);
    });
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  ASSERT_EQ(CountEntries(), 1U);
  const fs::path temporary = fs::directory_iterator(folder_)->path();
  EXPECT_TRUE(IsTemporaryName(temporary));

  const std::string own_temporary = ".etprof-" + std::to_string(::getpid()) + "-0123456789abcdef.tmp";
  for (const std::string& name :
       {own_temporary, std::string("data.tmp"), std::string(".etprof-1x-0123456789abcdef.tmp"),
        std::string(".etprof-.tmp"), std::string(".etprof-99-.tmp")})
    WriteText(folder_ / name, "");
  fs::create_directory(folder_ / (temporary.filename().string() + "x"));
  RemoveStaleTemporaries(folder_);
  EXPECT_FALSE(fs::exists(temporary));
  EXPECT_EQ(CountEntries(), 6U);
  EXPECT_FALSE(IsTemporaryName("data.tmp") || IsTemporaryName(".etprof-.tmp") || IsTemporaryName(""));
  RemoveStaleTemporaries(folder_ / "missing");
}

}  // namespace
}  // namespace etprof
