#include "device/remote/remote_process.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <thread>

#include "device/local/local.h"

namespace etprof {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(ExitMark, IsRemovedFromStderr) {
  std::string errors = "one\ntwo\nETPROF-EXIT 7 137\n";
  EXPECT_EQ(ExtractExitMark(errors, "7"), 137);
  EXPECT_EQ(errors, "one\ntwo");
}

TEST(ExitMark, IgnoresTruncatedAndForeignMarks) {
  for (std::string errors :
       {"", "one", "\nETPROF-EXIT 7 ", "\nETPROF-EXIT 7 13", "\nETPROF-EXIT 8 0\n", "\nETPROF-EXIT 7 x\n"}) {
    const std::string before = errors;
    EXPECT_EQ(ExtractExitMark(errors, "7"), std::nullopt) << before;
    EXPECT_EQ(errors, before);
  }
}

// Runs the scripts by a shell of this machine. The pipes replace the connection.
class StartScriptTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(testing::TempDir()) /
              ("etprof_script_" + std::to_string(::getpid()) + "_" +
               testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(folder_ / "pids");
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::unique_ptr<RemoteProcess> Start(const Command& command) {
    auto process = std::make_unique<RemoteProcess>(
        "3", [this](std::string_view text) { errors_ += text; }, [this] { return killed_ = true; });
    process->SetClient(StartLocalProcess({{"sh", "-c", StartScript(command, folder_.string(), "3")}, {}, {}},
                                         process->ErrorSink(), {}));
    return process;
  }
  std::string ReadAll(Process& process) {
    std::string text;
    for (std::string line; process.ReadLine(line, 120) == Process::ReadResult::kLine;) text += line + "\n";
    return text;
  }

  std::filesystem::path folder_;
  std::string errors_;
  bool killed_ = false;
};

TEST_F(StartScriptTest, PassesStdinArgumentsAndEnvironment) {
  const std::unique_ptr<RemoteProcess> process = Start(
      {{"sh", "-c", "read -r a; echo \"$a|$0|$1|$WHAT\"; pwd", "it's", "a b"}, {{"WHAT", "$x 'y'"}}, {}});
  EXPECT_TRUE(process->Send("in put", 5));
  EXPECT_EQ(ReadAll(*process), "in put|it's|a b|$x 'y'\n" + folder_.string() + "\n");
  const auto status = process->Wait(120);
  ASSERT_TRUE(status);
  EXPECT_TRUE(status->Success());
  EXPECT_FALSE(process->ConnectionLost());
  EXPECT_TRUE(std::filesystem::is_empty(folder_ / "pids"));
}

TEST_F(StartScriptTest, ReportsTheExitCodeAndHidesTheMark) {
  const std::unique_ptr<RemoteProcess> process = Start({{"sh", "-c", "echo no >&2; exit 9"}, {}, {}});
  process->CloseInput();
  EXPECT_EQ(ReadAll(*process), "");
  EXPECT_EQ(process->Wait(120)->code, 9);
  EXPECT_EQ(errors_, "no\n");
  EXPECT_THAT(process->LastErrors(), Not(HasSubstr("ETPROF-EXIT")));
}

TEST_F(StartScriptTest, ReportsThePossibleSignal) {
  const auto exit_text = [this](const std::string& script) {
    const std::unique_ptr<RemoteProcess> process = Start({{"sh", "-c", script}, {}, {}});
    process->CloseInput();
    ReadAll(*process);
    const std::string text = process->Wait(120)->Text();
    EXPECT_FALSE(process->ConnectionLost());
    return text;
  };
  // A shell reports both ends by the same exit code.
  for (const char* script : {"kill -9 $$", "exit 137"})
    EXPECT_EQ(exit_text(script), "exited with 137, a shell's code for: killed by signal 9 (Killed)");
  EXPECT_EQ(exit_text("exit 200"), "exited with 200");
  EXPECT_EQ(exit_text("exit 128"), "exited with 128");
}

// A wrapper and the runner that it starts are in one process group in each shell that a device may have.
class StartScriptShellTest : public StartScriptTest, public testing::WithParamInterface<const char*> {
 protected:
  // Starts a wrapper that prints the PID of its child and then executes `end`. Calls `action`, and expects
  // that the child ends.
  void Run(const std::string& end, const std::function<void(Process&)>& action) {
    const std::string shell = GetParam();
    if (::access(shell.c_str(), X_OK) != 0) GTEST_SKIP() << "needs " << shell;
    RemoteProcess process("3", {}, [this, shell] {
      const std::string kill =
          kDefineKillGroup + fmt::format("\nkill_group $(cat {}/pids/3)", folder_.string());
      StartLocalProcess({{shell, "-c", kill}, {}, {}}, {}, {})->Wait(120);
      return true;
    });
    const Command command{{"sh", "-c", "sleep 600 >/dev/null 2>&1 & echo $!; " + end}, {}, {}};
    const std::string script = StartScript(command, folder_.string(), "3");
    process.SetClient(StartLocalProcess({{shell, "-c", script}, {}, {}}, process.ErrorSink(), {}));
    std::string line;
    ASSERT_EQ(process.ReadLine(line, 120), Process::ReadResult::kLine);
    action(process);
    // The child may be a zombie until its new parent reaps it.
    const auto is_gone = [&] {
      std::ifstream file("/proc/" + line + "/stat");
      const std::string stat{std::istreambuf_iterator<char>(file), {}};
      return stat.empty() || stat.find(") Z ") != std::string::npos;
    };
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(120);
    while (!is_gone() && std::chrono::steady_clock::now() < deadline)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    EXPECT_TRUE(is_gone()) << "of " << line;
  }
};

TEST_P(StartScriptShellTest, KillReachesChildrenOfAWrapper) {
  Run("wait", [](Process& process) { process.Kill(); });
}

TEST_P(StartScriptShellTest, EndOfAWrapperKillsItsChildren) {
  Run("exit 5", [](Process& process) { EXPECT_EQ(process.Wait(120)->code, 5); });
}

INSTANTIATE_TEST_SUITE_P(Shells, StartScriptShellTest, testing::Values("/bin/sh", "/bin/bash", "/bin/mksh"));

TEST_F(StartScriptTest, ClientWithoutExitMarkIsLost) {
  RemoteProcess process("3", {}, {});
  process.SetClient(StartLocalProcess({{"sh", "-c", "echo ready; echo half >&2; exit 255"}, {}, {}},
                                      process.ErrorSink(), {}));
  ReadAll(process);
  ASSERT_TRUE(process.Wait(120));
  EXPECT_TRUE(process.ConnectionLost());
  EXPECT_THAT(process.LastErrors(), HasSubstr("half"));
}

TEST_F(StartScriptTest, ConnectionIsLostIfTheDeviceDoesNotAnswerKill) {
  for (const bool answers : {true, false}) {
    RemoteProcess process("3", {}, [answers] { return answers; });
    process.SetClient(StartLocalProcess({{"sleep", "600"}, {}, {}}, process.ErrorSink(), {}));
    process.Kill();
    EXPECT_EQ(process.ConnectionLost(), !answers);
  }
}

TEST_F(StartScriptTest, DestructorKillsTheProcessOnTheDevice) {
  { const std::unique_ptr<RemoteProcess> process = Start({{"sleep", "100"}, {}, {}}); }
  EXPECT_TRUE(killed_);
}

TEST(StartScript, RejectsInvalidVariableNamesAndNul) {
  for (const char* name : {"A; touch x", "$(x)", "A B", "A=B", "", "1", "\n"})
    EXPECT_THROW(StartScript({{"x"}, {{name, "y"}}, {}}, "/f", "1"), Error) << name;
  EXPECT_THROW(StartScript({{std::string("x\0y", 3)}, {}, {}}, "/f", "1"), Error);
  EXPECT_THROW(StartScript({{"x"}, {{"A", std::string(1, '\0')}}, {}}, "/f", "1"), Error);
  EXPECT_THAT(StartScript({{"x"}, {{"_a1", "b c"}}, {}}, "/f", "1"), HasSubstr("export _a1='b c'\n"));
}

TEST(StartScript, PassesCpuMaskToTaskset) {
  EXPECT_THAT(StartScript({{"x"}, {}, {0, 4, 7}}, "/f", "1"), HasSubstr("taskset 91 x "));
  EXPECT_THAT(StartScript({{"x"}, {}, {9}}, "/f", "1"), HasSubstr("taskset 200 x "));
  EXPECT_THAT(StartScript({{"x"}, {}, {}}, "/f", "1"), Not(HasSubstr("taskset")));
}

}  // namespace
}  // namespace etprof
