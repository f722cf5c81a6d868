#include "render/counters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

namespace etprof {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string Rendered(const std::vector<ExperimentCounters>& experiments) {
  std::ostringstream out;
  markdown::Out markdown(out);
  RenderCountersMarkdown(experiments, markdown);
  return out.str();
}

CountersRow Row(const std::string& key, const std::string& name, double time, double cycles) {
  return {key, name, 20, {{"task_clock_ns", time}, {"cycles", cycles}, {"instructions", 2 * cycles}}};
}

TEST(CountersMarkdown, OperatorsByProcessorTimeUnderTheWhole) {
  const std::string text = Rendered({{"as it is",
                                      {Row("forward/0/backend/0", "small", 1000, 3000),
                                       Row("forward/0/delegate_call/0", "DELEGATE_CALL", 1, 1),
                                       Row("forward/0/backend/1", "large", 2000, 5000),
                                       Row("forward/-1/method/0", "Method::execute", 4000, 9000)}}});
  EXPECT_THAT(text, HasSubstr("## Counters"));
  EXPECT_THAT(text, HasSubstr("### as it is"));
  EXPECT_LT(text.find("Method::execute"), text.find("large"));
  EXPECT_LT(text.find("large"), text.find("small"));
  EXPECT_THAT(text, Not(HasSubstr("DELEGATE")));
  EXPECT_THAT(text, HasSubstr("GHz"));
  EXPECT_THAT(text, HasSubstr("| 2.5 |"));
  EXPECT_THAT(text, Not(HasSubstr("page faults")));  // nobody counted them
}

TEST(CountersMarkdown, NothingOfNothingAndLittleOfMuch) {
  EXPECT_EQ(Rendered({}), "");
  EXPECT_EQ(Rendered({{"a", {}}}), "");
  ExperimentCounters many{"many", {}};
  for (int i = 0; i < 25; ++i)
    many.rows.push_back(
        Row("forward/0/backend/" + std::to_string(i), "op" + std::to_string(i) + ".", 100 + i, 300));
  const std::string text = Rendered({many});
  EXPECT_THAT(text, HasSubstr("and 5 more operators"));
  EXPECT_THAT(text, HasSubstr("op24."));
  EXPECT_THAT(text, Not(HasSubstr("op4.")));
}

}  // namespace
}  // namespace etprof
