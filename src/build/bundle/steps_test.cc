#include "build/bundle/steps.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "build/bundle/wheel.h"
#include "core/error.h"
#include "core/file/file.h"
#include "core/golden_testing.h"

namespace etprof {
namespace {

TEST(Steps, ReturnsTheOutputOfASuccessfulRun) {
  std::vector<std::string> lines;
  const StepOutput output = RunStep({"sh", "-c", "echo one; echo two >&2; echo three"}, "say", {}, {},
                                    [&](std::string_view line) { lines.emplace_back(line); });
  EXPECT_EQ(output.out, "one\nthree\n");
  EXPECT_EQ(output.errors, "two\n");
  EXPECT_THAT(lines, ::testing::ElementsAre("one", "three"));
}

TEST(Steps, ErrorsNameTheActionAndTheReason) {
  const auto error = [](const std::vector<std::string>& command, const char* action) -> std::string {
    try {
      RunStep(command, action);
    } catch (const Error& step_error) {
      return fmt::format("exit code {}: {}", static_cast<int>(step_error.exit_code()), step_error.Message());
    }
    return "no error";
  };
  const std::string script = "echo fine; echo 'x.cc:1: error: no such thing' >&2; echo later >&2; exit 1";
  ExpectGoldenMessages("build/step_errors",
                       {{"failure", error({"sh", "-c", script}, "build it")},
                        {"missing program", error({"etprof-no-such-program"}, "be there")}});
}

// A failed download names the network only if the disk is not full.
TEST(Steps, RemedyOfAFailedDownloadFitsItsReason) {
  const std::string folder = testing::TempDir() + "etprof_failed_download_" + std::to_string(::getpid());
  const std::string pip = folder + "/pip";
  const auto remedy = [&](const std::string& reason) -> std::string {
    WriteFileAtomically(pip, "#!/bin/sh\necho 'ERROR: " + reason + "' >&2\nexit 1\n");
    std::filesystem::permissions(pip, std::filesystem::perms::owner_all);
    try {
      FetchWheel(pip, "executorch==1.5.1", {}, folder + "/wheel", {});
    } catch (const Error& error) {
      return error.remedy();
    }
    return "no error";
  };
  ExpectGoldenMessages("build/download_remedies", remedy,
                       {"Could not install packages due to an OSError: [Errno 28] No space left on device",
                        "Could not install packages due to an OSError: [Errno 122] Disk quota exceeded",
                        "No matching distribution found for executorch==1.5.1"});
  std::filesystem::remove_all(folder);
}

TEST(Steps, EndsTheProgramWhenInterrupted) {
  int polls = 0;
  try {
    RunStep({"sleep", "3600"}, "sleep", [&polls] { return ++polls > 2; });
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.exit_code(), ExitCode::kInterrupted);
  }
  EXPECT_EQ(polls, 3);
}

TEST(Steps, FindsTheLineWithTheReason) {
  EXPECT_EQ(FindErrorLine("g++ -Werror x.cc\nx.cc:1: error: bad\ncc1plus: stopped\n"), "x.cc:1: error: bad");
  EXPECT_EQ(FindErrorLine("one\ntwo \n\n"), "two");
  EXPECT_EQ(FindErrorLine(""), "it does not say why");
}

}  // namespace
}  // namespace etprof
