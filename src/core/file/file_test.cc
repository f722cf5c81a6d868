#include "core/file/file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "core/error.h"
#include "core/golden_testing.h"
#include "core/sanitizer.h"

namespace etprof {
namespace {

namespace fs = std::filesystem;

class FileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("etprof_file_test_" + std::to_string(::getpid()));
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string MessageFrom(const std::function<void()>& action) const {
    try {
      action();
    } catch (const Error& error) {
      return ReplaceAll(error.Message(), folder_.string(), "FOLDER");
    }
    return "no error";
  }
  fs::path folder_;
};

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
  // /dev/full cannot be replaced by a rename, so the test sets the state of the stream, which
  // WriteFileAtomically checks.
  const fs::path path = folder_ / "b.txt";
  const std::string message = MessageFrom(
      [&] { WriteFileAtomically(path, [](std::ostream& out) { out.setstate(std::ios::badbit); }); });
  const std::string reason = std::make_error_code(std::errc::io_error).message();
  ExpectGolden("core/file_on_full_disk", ReplaceAll(message, reason, "REASON") + "\n");
  EXPECT_FALSE(fs::exists(path));
}

TEST_F(FileTest, ReportsAMappedFileThatBecameShorter) {
  const fs::path path = folder_ / "large";
  constexpr std::size_t kSize = std::size_t{20} << 20U;
  std::ofstream(path) << std::string(kSize, 'x');
  const MappedFile whole = MappedFile::Open(path);
  const MappedFile other = MappedFile::Open(path);
  EXPECT_EQ(whole.bytes()[kSize - 1], std::byte{'x'});
  fs::resize_file(path, 5000);
  EXPECT_NO_THROW(whole.RequireUnchanged()) << "no byte beyond the new end was read yet";
  const ByteView bytes = whole.bytes();
  EXPECT_EQ(std::count(bytes.begin(), bytes.end(), std::byte{0}), kSize - 5000);
  CaseMessages messages = {{"mapped file", MessageFrom([&] { whole.RequireUnchanged(); })}};
  EXPECT_NO_THROW(other.RequireUnchanged());
  // Whether or not the reader throws, the error names the truncated file.
  for (const bool throws : {false, true}) {
    std::ofstream(path) << std::string(kSize, 'x');
    std::ptrdiff_t zeros = 0;
    const auto read = [&](ByteView view) {
      fs::resize_file(path, 0);
      zeros = std::count(view.begin(), view.end(), std::byte{0});
      if (throws) throw Error(ExitCode::kBadInput, "malformed");
      return zeros;
    };
    messages.emplace_back(throws ? "reader that throws" : "reader that does not throw",
                          MessageFrom([&] { WithFile(path, kMaxTextBytes, read); }));
    EXPECT_EQ(zeros, kSize);
  }
  ExpectGoldenMessages("core/changed_files", messages);
}

// In the death tests below, a host installs a handler of SIGBUS before or after a file is mapped.
class BusErrorTest : public FileTest {
 protected:
  MappedFile MapLargeFile() {
    const fs::path path = folder_ / "large";
    std::ofstream(path) << std::string(std::size_t{20} << 20U, 'x');
    return MappedFile::Open(path);
  }
  // Reads beyond the end of a file that the host has mapped.
  void ReadBeyondEnd() const {
    const fs::path path = folder_ / "of_host";
    std::ofstream(path) << "x";
    const int descriptor = ::open(path.c_str(), O_RDONLY);
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    const auto* const data =
        static_cast<const char*>(::mmap(nullptr, 2 * page, PROT_READ, MAP_PRIVATE, descriptor, 0));
    g_address = data + page;
    [[maybe_unused]] const volatile char byte = data[page];
  }
  static void Handle(void (*handler)(int)) { ::signal(SIGBUS, handler); }
  static void HandleWithAddress() {
    struct sigaction action {};
    action.sa_flags = SA_SIGINFO;
    action.sa_sigaction = [](int, siginfo_t* info, void*) { ::_exit(info->si_addr == g_address ? 8 : 9); };
    ::sigaction(SIGBUS, &action, nullptr);
  }
  // A host without a handler ends by SIGBUS; AddressSanitizer has a handler, which reports the error and
  // exits.
  static bool IsBusError(int status) {
    return kHasAddressSanitizer ? testing::ExitedWithCode(1)(status)
                                : testing::KilledBySignal(SIGBUS)(status);
  }
  static inline const void* g_address = nullptr;
};

TEST_F(BusErrorTest, ReachesTheHandlerOfTheHost) {
  const auto is_exit = [](int code) { return testing::ExitedWithCode(code); };
  const auto is_bus_error = testing::KilledBySignal(SIGBUS);
  const auto exit_7 = [](int) { ::_exit(7); };
  const auto map_then_fail = [&] {
    const MappedFile file = MapLargeFile();
    ReadBeyondEnd();
  };
  EXPECT_EXIT((Handle(exit_7), map_then_fail()), is_exit(7), "");
  EXPECT_EXIT((HandleWithAddress(), map_then_fail()), is_exit(8), "");
  EXPECT_EXIT((Handle(SIG_DFL), map_then_fail()), is_bus_error, "");
  EXPECT_EXIT((Handle(SIG_IGN), map_then_fail()), is_bus_error, "") << "an access cannot be ignored";
  EXPECT_EXIT((MapLargeFile(), ::raise(SIGBUS)), IsBusError, "");
  EXPECT_EXIT((Handle(exit_7), MapLargeFile(), ::raise(SIGBUS)), is_exit(7), "");
  EXPECT_EXIT((Handle(SIG_IGN), MapLargeFile(), ::raise(SIGBUS), ::_exit(6)), is_exit(6), "");
}

TEST_F(BusErrorTest, IsHandledAfterTheHostInstalledItsHandler) {
  const auto scenario = [&](bool fail) {
    MapLargeFile();
    // Python's faulthandler does this: it restores the replaced handler and raises the signal again.
    static struct sigaction replaced_by_host;
    struct sigaction action {};
    action.sa_handler = [](int signal) {
      static int calls = 0;
      if (++calls > 1) ::_exit(5);
      ::sigaction(signal, &replaced_by_host, nullptr);
      ::raise(signal);
    };
    ::sigaction(SIGBUS, &action, &replaced_by_host);
    const MappedFile file = MapLargeFile();
    fs::resize_file(folder_ / "large", 0);
    const bool is_zero = file.bytes()[0] == std::byte{0};
    if (fail) ReadBeyondEnd();
    ::_exit(is_zero ? 6 : 4);
  };
  EXPECT_EXIT(scenario(false), testing::ExitedWithCode(6), "");
  EXPECT_EXIT(scenario(true), IsBusError, "");
}

TEST_F(FileTest, CopiesASmallFile) {
  const fs::path path = folder_ / "small";
  std::ofstream(path) << std::string(100'000, 'x');
  const MappedFile file = MappedFile::Open(path);
  fs::resize_file(path, 0);
  const ByteView bytes = file.bytes();
  EXPECT_EQ(std::count(bytes.begin(), bytes.end(), std::byte{'x'}), 100'000);
}

TEST_F(FileTest, OnlyRegularFilesAreRead) {
  const fs::path pipe = folder_ / "pipe", socket = folder_ / "socket";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const int descriptor = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  socket.string().copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(::bind(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  CaseMessages messages;
  for (const fs::path& path : {pipe, socket, fs::path("/dev/zero"), folder_, folder_ / "missing"}) {
    messages.emplace_back("open", MessageFrom([&] { MappedFile::Open(path); }));
    messages.emplace_back("require", MessageFrom([&] { RequireRegularFile(path); }));
  }
  ExpectGoldenMessages("core/irregular_files", messages);
  ::close(descriptor);
}

TEST_F(FileTest, RefusesTooLargeFiles) {
  const fs::path path = folder_ / "sparse";
  std::ofstream(path) << "x";
  std::error_code error;
  fs::resize_file(path, std::uintmax_t{100} << 30U, error);
  if (error) GTEST_SKIP() << "needs a file system with sparse files";
  ExpectGoldenMessages("core/large_files", {{"text", MessageFrom([&] { ReadTextFile(path); })},
                                            {"mapped file", MessageFrom([&] { MappedFile::Open(path); })}});
}

}  // namespace
}  // namespace etprof
