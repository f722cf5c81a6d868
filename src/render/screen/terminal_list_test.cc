#include "render/screen/terminal_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "core/table.h"
#include "render/screen/terminal_text.h"
#include "report/example_run.h"

namespace etprof {
namespace {

using testing::HasSubstr;
using testing::Not;

std::vector<std::string> Draw(const ExperimentList& list, int width = 100) {
  TerminalOptions options;
  options.width = width;
  std::ostringstream out;
  list.Draw(options, out);
  std::vector<std::string> lines;
  std::istringstream in(out.str());
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

TEST(ExperimentList, HasALineAnExperiment) {
  ExperimentList list;
  const Report pair = example::MakePair();
  list.Add(pair, "runs/a");
  list.Add(example::MakeBare(), "");
  const std::vector<std::string> lines = Draw(list, 120);
  ASSERT_GE(lines.size(), 4u);
  EXPECT_THAT(lines[0], HasSubstr("most time in"));
  EXPECT_THAT(lines[1], HasSubstr("runs/a: off"));
  EXPECT_THAT(lines[1], HasSubstr("Convolution 78 %"));
  EXPECT_THAT(lines[1], Not(HasSubstr("faster")));
  EXPECT_THAT(lines[2], HasSubstr("faster than off"));
  EXPECT_THAT(lines[3], HasSubstr("net"));
}

TEST(ExperimentList, ALongNameKeepsItsEnd) {
  Report report = example::MakeBare();
  report.experiments[0].label = std::string(200, 'x') + "_sme2_on";
  ExperimentList list;
  list.Add(report, "");
  const std::vector<std::string> lines = Draw(list, 80);
  EXPECT_LE(DisplayWidth(lines[1]), 80);
  EXPECT_THAT(lines[1], HasSubstr("…x"));
  EXPECT_THAT(lines[1], HasSubstr("_sme2_on"));
}

TEST(FittedTail, CutsAtACodePoint) {
  EXPECT_EQ(FittedTail("abc", 3), "abc");
  EXPECT_EQ(FittedTail("abcd", 3), "…cd");
  EXPECT_EQ(FittedTail("aäöü", 3), "…öü");
}

}  // namespace
}  // namespace etprof
