#include "build/bundle/steps.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
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
