#include <gmock/gmock.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>

#include <cerrno>
#include <chrono>
#include <fstream>
#include <iterator>
#include <thread>

#include "core/error.h"
#include "core/file/file.h"
#include "core/golden_testing.h"
#include "device/local/local.h"

namespace etprof {
namespace {

using testing::HasSubstr;

constexpr double kTimeLimitSeconds = 120;  // long, since a busy machine may delay any operation by seconds

class LocalProcess : public testing::Test {
 protected:
  std::unique_ptr<Process> Shell(const std::string& script, Command command = {}) {
    command.arguments = {"/bin/sh", "-c", script};
    return device->Start(command, [this](std::string_view text) { errors += text; });
  }
  std::string StartErrorMessage(const std::string& program) {
    try {
      device->Start({.arguments = {program}, .environment = {}, .cpus = {}}, {});
    } catch (const Error& error) {
      return error.Message();
    }
    return "it started";
  }
  std::string Path(const std::string& name) {
    return std::string(testing::TempDir()) + "/etprof_process_" + std::to_string(::getpid()) + "_" + name;
  }

  std::unique_ptr<Device> device = MakeLocalDevice();
  std::string errors;
  std::string line;
};

TEST_F(LocalProcess, SendsAndReadsLines) {
  const auto process = Shell("while read x; do echo \"got $x\"; echo oops >&2; done; printf tail");
  EXPECT_TRUE(process->Send("one", 5));
  ASSERT_EQ(process->ReadLine(line, kTimeLimitSeconds), Process::ReadResult::kLine);
  EXPECT_EQ(line, "got one");
  process->CloseInput();
  ASSERT_EQ(process->ReadLine(line, kTimeLimitSeconds), Process::ReadResult::kLine);
  EXPECT_EQ(line, "tail");
  EXPECT_EQ(process->ReadLine(line, kTimeLimitSeconds), Process::ReadResult::kEnd);
  const auto status = process->Wait(kTimeLimitSeconds);
  ASSERT_TRUE(status.has_value());
  EXPECT_TRUE(status->Success());
  EXPECT_EQ(errors, "oops\n");
  EXPECT_EQ(process->LastErrors(), "oops\n");
}

TEST_F(LocalProcess, ReadsALargeLine) {
  const auto process = Shell("head -c 3000000 /dev/zero | tr '\\0' x; echo");
  ASSERT_EQ(process->ReadLine(line, kTimeLimitSeconds), Process::ReadResult::kLine);
  EXPECT_EQ(line.size(), 3'000'000u);
}

TEST_F(LocalProcess, DrainsLargeStderr) {
  const auto process = Shell("head -c 1000000 /dev/zero | tr '\\0' e >&2; echo done");
  ASSERT_EQ(process->ReadLine(line, kTimeLimitSeconds), Process::ReadResult::kLine);
  EXPECT_EQ(line, "done");
  process->Wait(kTimeLimitSeconds);
  EXPECT_EQ(errors.size(), 1'000'000u);
  EXPECT_EQ(process->LastErrors().size(), 4096u);
}

TEST_F(LocalProcess, ReportsTimeoutAndExitStatus) {
  const auto process = Shell("sleep 60");
  EXPECT_EQ(process->ReadLine(line, 0.05), Process::ReadResult::kTimeout);
  EXPECT_FALSE(process->Wait(0.01).has_value());
  process->Kill();
  const auto status = process->Wait(kTimeLimitSeconds);
  ASSERT_TRUE(status.has_value());
  EXPECT_EQ(status->signal, SIGKILL);
  EXPECT_THAT(status->Text(), HasSubstr("signal 9"));
  EXPECT_EQ(Shell("exit 7")->Wait(kTimeLimitSeconds)->code, 7);
}

TEST_F(LocalProcess, TerminateReachesChildren) {
  const auto process = Shell(
      "sh -c 'trap \"exit 3\" TERM; echo up; while :; do sleep 0.01; done' & child=$!\n"
      "trap 'wait $child; exit $?' TERM; echo up; wait");
  for (int ready = 0; ready < 2; ++ready)
    ASSERT_EQ(process->ReadLine(line, kTimeLimitSeconds), Process::ReadResult::kLine);
  process->Terminate();
  const auto status = process->Wait(kTimeLimitSeconds);
  ASSERT_TRUE(status.has_value());
  EXPECT_EQ(status->code, 3);
  process->Terminate();  // has no effect after the end
}

TEST_F(LocalProcess, InterruptionEndsReadLine) {
  device->SetInterrupted([] { return true; });
  EXPECT_EQ(Shell("sleep 60")->ReadLine(line, 60), Process::ReadResult::kInterrupted);
}

TEST_F(LocalProcess, SendToClosedPipeKeepsSigpipeHandler) {
  const auto before = ::signal(SIGPIPE, SIG_DFL);
  const auto process = Shell("exec 0<&-; echo closed; sleep 60");
  ASSERT_EQ(process->ReadLine(line, kTimeLimitSeconds), Process::ReadResult::kLine);
  EXPECT_FALSE(process->Send("x", 1));
  EXPECT_EQ(MakeLocalDevice()->Name(), "local");
  EXPECT_EQ(::signal(SIGPIPE, before), SIG_DFL);
}

TEST_F(LocalProcess, ReadsShortLinesInLinearTime) {
  // Erasing each line from the buffer separately took more than 200 s.
  constexpr int kLines = 24'000'000;
  const auto process = Shell("yes | head -n " + std::to_string(kLines));
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(kTimeLimitSeconds);
  int lines = 0;
  while (process->ReadLine(line, kTimeLimitSeconds) == Process::ReadResult::kLine && line == "y") {
    if (++lines % 100'000 != 0) continue;
    ASSERT_LT(std::chrono::steady_clock::now(), end) << lines;
  }
  EXPECT_EQ(lines, kLines);
}

TEST_F(LocalProcess, BackgroundProcessDoesNotDelayTheEnd) {
  const auto process = Shell("sleep 600 & printf 'built\\nlast'; exit 3");
  for (const char* expected : {"built", "last"}) {
    ASSERT_EQ(process->ReadLine(line, kTimeLimitSeconds), Process::ReadResult::kLine);
    EXPECT_EQ(line, expected);
  }
  EXPECT_EQ(process->ReadLine(line, kTimeLimitSeconds), Process::ReadResult::kEnd);
  EXPECT_EQ(process->Wait(kTimeLimitSeconds)->code, 3);
}

TEST_F(LocalProcess, StartsWhenTheHostClosedStandardStreams) {
  for (int closed = 1; closed < 8; ++closed) {
    const pid_t host = ::fork();
    if (host == 0) {
      for (int descriptor = 0; descriptor < 3; ++descriptor) {
        if ((closed >> descriptor & 1) != 0) ::close(descriptor);
      }
      bool succeeded = false;
      {
        const auto process = Shell("echo error >&2; while read x; do echo \"got $x\"; done");
        succeeded = process->Send("one", kTimeLimitSeconds) &&
                    process->ReadLine(line, kTimeLimitSeconds) == Process::ReadResult::kLine &&
                    line == "got one";
        process->CloseInput();
        succeeded = succeeded && process->ReadLine(line, kTimeLimitSeconds) == Process::ReadResult::kEnd &&
                    process->Wait(kTimeLimitSeconds).value().Success() && errors == "error\n";
      }
      ::_exit(succeeded ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(host, &status, 0), host);
    EXPECT_EQ(status, 0) << "closed descriptors: bits of " << closed;
  }
}

TEST_F(LocalProcess, DestructorKillsChildrenAndLeavesNoZombie) {
  pid_t child = 0;
  {
    const auto process = Shell("sleep 60 & echo $!; wait");
    ASSERT_EQ(process->ReadLine(line, kTimeLimitSeconds), Process::ReadResult::kLine);
    child = std::stoi(line);
    EXPECT_EQ(::kill(child, 0), 0);
  }
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
  // The child is orphaned, so its new parent reaps it at an unknown time.
  const auto has_ended = [&] {
    std::ifstream file("/proc/" + line + "/stat");
    const std::string stat{std::istreambuf_iterator<char>(file), {}};
    return ::kill(child, 0) != 0 || stat.find(") Z ") != std::string::npos;
  };
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(kTimeLimitSeconds);
  while (!has_ended() && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_TRUE(has_ended());
}

#ifdef __linux__
TEST_F(LocalProcess, AppliesAffinityAndEnvironment) {
  const auto process = Shell("grep Cpus_allowed_list /proc/self/status; echo \"$ETPROF_X\"",
                             {.arguments = {}, .environment = {{"ETPROF_X", "a b"}}, .cpus = {0}});
  ASSERT_EQ(process->ReadLine(line, kTimeLimitSeconds), Process::ReadResult::kLine);
  EXPECT_EQ(line, "Cpus_allowed_list:\t0");
  ASSERT_EQ(process->ReadLine(line, kTimeLimitSeconds), Process::ReadResult::kLine);
  EXPECT_EQ(line, "a b");
  EXPECT_THROW(Shell("true", {.arguments = {}, .environment = {}, .cpus = {1000}}), Error);
}

TEST_F(LocalProcess, ChildInheritsNoOtherDescriptors) {
  const auto open_files = [this] {
    const auto process = Shell("ls /proc/self/fd | tr '\\n' ' '");
    EXPECT_EQ(process->ReadLine(line, kTimeLimitSeconds), Process::ReadResult::kLine);
    return line;
  };
  const std::string without_other = open_files();
  const auto other = Shell("sleep 60");
  EXPECT_EQ(open_files(), without_other);
}
#endif

TEST_F(LocalProcess, ReportsUnusablePrograms) {
  ::utsname system{};
  ::uname(&system);
  std::string elf = "\177ELF\2\1\1";
  elf.resize(64, '\0');
  elf[18] = '\x28';
  const auto error = [&](const std::string& contents, ::mode_t mode) {
    WriteFileAtomically(Path("program"), contents);
    ::chmod(Path("program").c_str(), mode);
    const std::string message = ReplaceAll(StartErrorMessage(Path("program")), Path("program"), "PROGRAM");
    return ReplaceAll(message, std::string(system.sysname) + " " + system.machine, "SYSTEM");
  };
  ExpectGoldenMessages("device/unusable_programs",
                       {{"no file", StartErrorMessage("/no/such/runner")},
                        {"no file in PATH", StartErrorMessage("etprof-no-such-program")},
                        {"a folder", StartErrorMessage("/tmp")},
                        {"not executable", error("text", 0644)},
                        {"empty", error("", 0755)},
                        {"32-bit Arm", error(elf, 0755)}});
}

}  // namespace
}  // namespace etprof
