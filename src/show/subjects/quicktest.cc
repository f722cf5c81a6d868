#include "report/quicktest.h"

#include <fmt/format.h>

#include "core/file/file.h"
#include "core/units.h"
#include "show/subjects.h"

namespace etprof::show {
namespace {

Cell StepResultCell(QuickTestStep::State state) {
  return state == QuickTestStep::State::kPassed   ? Cell("ok", Tone::kGood)
         : state == QuickTestStep::State::kFailed ? Cell("FAILED", Tone::kBad)
                                                  : Cell();
}

Table MakeTestStepsTable(const QuickTestResult& result) {
  Table table{.id = "steps",
              .columns = {Left("step"), Left("result"), Right("time"), Left("said", "").WithWrapping()}};
  for (const QuickTestStep& step : result.steps) {
    table.rows.push_back({step.name, StepResultCell(step.state),
                          step.seconds > 0 ? Cell(Duration{1e9 * step.seconds}) : Cell(""),
                          step.message.empty() ? "not tried" : step.message});
  }
  return table;
}

Answer TestAnswer(const QuickTestResult& result) {
  if (result.interrupted)
    return {"interrupted: partial results are in " + ShortestPath(result.log.parent_path()), "",
            Tone::kUnsure};
  if (const QuickTestStep* const failed = result.Failed()) {
    return {fmt::format("fail: {} ({} has all messages)", failed->name, ShortestPath(result.log)), "",
            Tone::kBad};
  }
  return {fmt::format("pass: {} in {:.0f} s; the report: {}", CountedText(result.steps.size(), "step"),
                      result.Seconds(), ShortestPath(result.report)),
          "", Tone::kGood};
}

}  // namespace

Document MakeQuickTestDocument(const QuickTestResult& result) {
  Document document{.title = "etprof quick-test",
                    .answers = {TestAnswer(result)},
                    .answers_last = true,
                    .sections = {{"", {MakeTestStepsTable(result)}}}};
  return document;
}

}  // namespace etprof::show
