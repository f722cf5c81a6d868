#include <gtest/gtest.h>

#include <sstream>

#include "show/formats/export/test_suite.h"

namespace etprof {
namespace {

using show::TestSuite;

TEST(GithubAnnotations, FilesAreRelativeToTheWorkspace) {
  TestSuite suite;
  suite.command = "check";
  suite.cases = {
      {"good", TestSuite::Outcome::kPassed, "", "fine", "", {{"/w/net.py", 1, "not said"}}},
      {"a: b, c",
       TestSuite::Outcome::kFailure,
       "regression",
       "+5%\nmore",
       "",
       {{"/w/models/net.py", 68, "Add: 1 -> 2"}, {"/elsewhere/net.py", 7, "not said"}, {"net.py", 9, "Mul"}}},
      {"open", TestSuite::Outcome::kSkipped, "", "too noisy", ""},
      {"broken", TestSuite::Outcome::kError, "measurement", "it died", ""}};
  std::ostringstream out;
  RenderGithubAnnotations(suite, "/w/", out);
  EXPECT_EQ(out.str(),
            "::error title=etprof check%3A a%3A b%2C c::+5%25%0Amore\n"
            "::error title=etprof check%3A a%3A b%2C c,file=models/net.py,line=68::Add: 1 -> 2\n"
            "::error title=etprof check%3A a%3A b%2C c,file=net.py,line=9::Mul\n"
            "::warning title=etprof check%3A open::too noisy\n"
            "::error title=etprof check%3A broken::it died\n");
}

}  // namespace
}  // namespace etprof
