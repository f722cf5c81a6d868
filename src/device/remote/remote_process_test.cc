#include "device/remote/remote_process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "device/local/local_process.h"

namespace etprof {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(ExitMark, IsTakenOutWithItsCode) {
  std::string errors = "one\ntwo\nETPROF-EXIT 7 137\n";
  EXPECT_EQ(TakeExitMark(errors, "7"), 137);
  EXPECT_EQ(errors, "one\ntwo");
}

TEST(ExitMark, IsNotThereWhereItIsCutOrAnothers) {
  for (std::string errors :
       {"", "one", "\nETPROF-EXIT 7 ", "\nETPROF-EXIT 7 13", "\nETPROF-EXIT 8 0\n", "\nETPROF-EXIT 7 x\n"}) {
    const std::string before = errors;
    EXPECT_EQ(TakeExitMark(errors, "7"), std::nullopt) << before;
    EXPECT_EQ(errors, before);
  }
}

// The script as a shell of this machine runs it: what a connection would carry is the pipes.
class ScriptTest : public testing::Test {
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
        "3", [this](std::string_view text) { errors_ += text; }, [this] { killed_ = true; });
    process->SetClient(StartLocalProcess({{"sh", "-c", StartScript(command, folder_.string(), "3")}, {}, {}},
                                         process->ErrorSink(), {}));
    return process;
  }
  std::string All(Process& process) {
    std::string text;
    for (std::string line; process.ReadLine(line, 120) == Process::Read::kLine;) text += line + "\n";
    return text;
  }

  std::filesystem::path folder_;
  std::string errors_;
  bool killed_ = false;
};

TEST_F(ScriptTest, GivesTheProgramItsInputWordsAndEnvironment) {
  const std::unique_ptr<RemoteProcess> process = Start(
      {{"sh", "-c", "read -r a; echo \"$a|$0|$1|$WHAT\"; pwd", "it's", "a b"}, {{"WHAT", "$x 'y'"}}, {}});
  EXPECT_TRUE(process->Send("in put", 5));
  EXPECT_EQ(All(*process), "in put|it's|a b|$x 'y'\n" + folder_.string() + "\n");
  const auto status = process->Wait(120);
  ASSERT_TRUE(status);
  EXPECT_TRUE(status->Success());
  EXPECT_FALSE(process->Lost());
  EXPECT_TRUE(std::filesystem::is_empty(folder_ / "pids"));
}

TEST_F(ScriptTest, TellsTheExitCodeAndKeepsTheMarkFromStderr) {
  const std::unique_ptr<RemoteProcess> process = Start({{"sh", "-c", "echo no >&2; exit 9"}, {}, {}});
  process->CloseInput();
  EXPECT_EQ(All(*process), "");
  EXPECT_EQ(process->Wait(120)->code, 9);
  EXPECT_EQ(errors_, "no\n");
  EXPECT_THAT(process->LastErrors(), Not(HasSubstr("ETPROF-EXIT")));
}

TEST_F(ScriptTest, TellsTheSignalThatEndedTheProgram) {
  const std::unique_ptr<RemoteProcess> process = Start({{"sh", "-c", "kill -9 $$"}, {}, {}});
  process->CloseInput();
  All(*process);
  const auto status = process->Wait(120);
  EXPECT_EQ(status->signal, 9);
  EXPECT_FALSE(process->Lost());
}

TEST_F(ScriptTest, AClientThatEndsWithoutTheMarkHasLostIt) {
  RemoteProcess process("3", {}, {});
  process.SetClient(StartLocalProcess({{"sh", "-c", "echo ready; echo half >&2; exit 255"}, {}, {}},
                                      process.ErrorSink(), {}));
  All(process);
  ASSERT_TRUE(process.Wait(120));
  EXPECT_TRUE(process.Lost());
  EXPECT_THAT(process.LastErrors(), HasSubstr("half"));
}

TEST_F(ScriptTest, WhatStillRunsIsKilledOnTheDeviceToo) {
  { const std::unique_ptr<RemoteProcess> process = Start({{"sleep", "100"}, {}, {}}); }
  EXPECT_TRUE(killed_);
}

TEST(StartScript, WhatIsNoNameOfAVariableReachesNoShell) {
  for (const char* name : {"A; touch x", "$(x)", "A B", "A=B", "", "1", "\n"})
    EXPECT_THROW(StartScript({{"x"}, {{name, "y"}}, {}}, "/f", "1"), Error) << name;
  EXPECT_THROW(StartScript({{std::string("x\0y", 3)}, {}, {}}, "/f", "1"), Error);
  EXPECT_THROW(StartScript({{"x"}, {{"A", std::string(1, '\0')}}, {}}, "/f", "1"), Error);
  EXPECT_THAT(StartScript({{"x"}, {{"_a1", "b c"}}, {}}, "/f", "1"), HasSubstr("export _a1='b c'\n"));
}

TEST(StartScript, RestrictsToCpusAsTasksetTakesThem) {
  EXPECT_THAT(StartScript({{"x"}, {}, {0, 4, 7}}, "/f", "1"), HasSubstr("taskset 91 x "));
  EXPECT_THAT(StartScript({{"x"}, {}, {9}}, "/f", "1"), HasSubstr("taskset 200 x "));
  EXPECT_THAT(StartScript({{"x"}, {}, {}}, "/f", "1"), Not(HasSubstr("taskset")));
}

}  // namespace
}  // namespace etprof
