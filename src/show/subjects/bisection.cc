#include "report/bisection.h"

#include <fmt/format.h>

#include <utility>

#include "core/units.h"
#include "show/gates.h"

namespace etprof::show {
namespace {

constexpr std::size_t kCommitDigits = 12;

// Indexed by BisectionStep::Outcome.
constexpr std::pair<const char*, Tone> kOutcomes[] = {{"good", Tone::kGood},
                                                      {"bad", Tone::kBad},
                                                      {"inconclusive", Tone::kUnsure},
                                                      {"not built", Tone::kUnknown}};

Table MakeBisectionStepsTable(const Bisection& bisection) {
  Table table{
      .id = "steps",
      .columns = {Left("commit"), Left("subject").WithDropPriority(1),
                  Right("change", "against good").NeverDropped(),
                  Right("bad_from", "bad from").WithDropPriority(2), Right("launches").WithDropPriority(3),
                  Left("outcome", "is").NeverDropped(), Left("why").WithWrapping()}};
  for (const BisectionStep& step : bisection.steps) {
    const auto& [outcome, tone] = kOutcomes[static_cast<std::size_t>(step.outcome)];
    table.AddRow(step.commit.substr(0, kCommitDigits), step.subject,
                 step.growth ? Cell(Change{*step.growth, step.low, step.high}) : Cell(), Change{step.limit},
                 step.launches > 0 ? Cell(Count{step.launches}) : Cell(), Cell(outcome, tone), step.reason);
  }
  return table;
}

Answer MakeBisectionAnswer(const Bisection& bisection) {
  const std::string change =
      bisection.growth ? ToText(ChangeCell(bisection.growth, bisection.low, bisection.high)) : "";
  switch (bisection.result) {
    case Bisection::Result::kFound:
      return {"slower since " + bisection.suspects.front(), "bad compared with good: " + change, Tone::kBad};
    case Bisection::Result::kSeveral:
      return {fmt::format("slower since one of {}, which cannot be told apart",
                          CountedText(bisection.suspects.size(), "commit")),
              "bad compared with good: " + change, Tone::kUnsure};
    case Bisection::Result::kNotSlower:
      return {"the bad version is not slower than the good one", change, Tone::kGood};
    case Bisection::Result::kUndecided:
      return {FormatText("inconclusive: whether the bad version is slower is not known{}",
                         bisection.steps.empty() || bisection.steps.front().reason.empty()
                             ? ". Measure longer (`--max-seconds`)"
                             : ": " + bisection.steps.front().reason),
              change, Tone::kUnsure};
  }
  return {};
}

}  // namespace

Document MakeBisectionDocument(const Bisection& bisection) {
  Document document{
      .title = "etprof bisect",
      .facts = {fmt::format("{} from {} to {}", CountedText(bisection.commits, "commit"),
                            bisection.good.substr(0, kCommitDigits), bisection.bad.substr(0, kCommitDigits)),
                fmt::format("{} measured", CountedText(bisection.CountMeasured(), "step"))},
      .answers = {MakeBisectionAnswer(bisection)},
      .answers_last = true,
      .sections = {{"", {MakeBisectionStepsTable(bisection)}}}};
  if (bisection.result == Bisection::Result::kSeveral) {
    document.sections.push_back({"",
                                 {List{.title = "Between the last good and the first bad one",
                                       .items = {bisection.suspects.begin(), bisection.suspects.end()}}}});
  }
  document.method =
      "Every step is measured interleaved with the good version until it is clear whether it is closer to "
      "the good or to the bad one. The chance of a false answer is at most 5% over all steps.";
  return document;
}

}  // namespace etprof::show
