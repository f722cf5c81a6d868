#include "report/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "core/units.h"
#include "core/views.h"
#include "show/gates.h"

namespace etprof::show {
namespace {

constexpr std::size_t kScreenChanges = 8;

int PercentDecimals(double percent) {
  const double size = std::abs(percent);
  return size < 9.995 ? 2 : size < 99.95 ? 1 : 0;  // as printed, 9.999 is 10.0
}

std::string SignedPercent(double percent, int decimals) {
  if (std::isinf(percent)) return percent > 0 ? "+∞" : "−∞";
  return fmt::format("{}{:.{}f}%", percent < 0 ? "−" : "+", std::fabs(percent), decimals);
}

Cell CheckValueCell(const CheckItem& item, const std::optional<double>& value) {
  return item.IsMemory()                               ? OptionalCell<Size>(value)
         : item.kind == CheckItem::Kind::kInstructions ? OptionalCell<Amount>(value)
                                                       : OptionalCell<Duration>(value);
}

Cell VerdictChangeCell(const GateVerdict& verdict) {
  return ChangeCell(verdict.growth, verdict.low, verdict.high);
}

std::string AllowedText(const CheckItem& item) {
  return fmt::format("{}{:g}%", item.limit < 0 ? "−" : "+", std::fabs(100 * item.limit));
}

// "Convolution (NHWC, F32) IGEMM #3 in layer1.2, model.py:142"
std::string AppendOrigin(const std::string& name, const OperatorOrigin& origin) {
  const std::string source = origin.Source();
  const char* const prefix = origin.layer.empty() && source.empty() ? "" : " in ";
  const char* const separator = origin.layer.empty() || source.empty() ? "" : ", ";
  return name + (origin.test.empty() ? "" : " at " + origin.test) + prefix + origin.layer + separator +
         source;
}

// Operators that pass are counted, not listed, since there are many.
bool IsListed(const CheckItem& item) {
  return item.kind != CheckItem::Kind::kOperator || item.verdict.decision != GateDecision::kPass;
}

// "12 operators pass"; "" if no operator passes.
std::string PassingOperatorsText(const CheckPair& pair) {
  const auto passing =
      std::ranges::count_if(pair.items, [](const CheckItem& item) { return !IsListed(item); });
  if (passing == 0) return "";
  return passing == 1 ? "1 operator passes" : fmt::format("{} operators pass", passing);
}

Text ChangedOperatorText(const OperatorTimeChange& op) {
  return FormatText("{}: {} -> {}, {}", AppendOrigin(op.name, op.origin), Duration{op.baseline_ns},
                    Duration{op.candidate_ns}, Change{op.growth, op.low, op.high});
}

Text InstructionsText(const OperatorCountChange& op) {
  const std::string change =
      op.baseline > 0 ? ChangeText(op.candidate / op.baseline - 1) : std::string("new");
  return FormatText("{}: {} -> {} instructions, {}", AppendOrigin(op.name, op.origin), Amount(op.baseline),
                    Amount(op.candidate), change);
}

// One line per operator that changed, then the operators that only one variant has.
std::vector<Text> ChangedOperatorLines(const CheckPair& pair) {
  std::vector<Text> lines = MapEach(pair.time_changes, ChangedOperatorText);
  for (const std::string& op : pair.only_baseline) lines.push_back("only in the baseline: " + op);
  for (const std::string& op : pair.only_candidate) lines.push_back("only in the candidate: " + op);
  return lines;
}

// "Convolution (NHWC, F32) IGEMM #2: FMA3 -> AVX-512"; a single line if nothing differs.
std::vector<Text> KernelChangeLines(const CheckPair& pair) {
  std::vector<Text> lines;
  const auto text = [](const ObservedOperator::ExecutedCode& executed_code) {
    return executed_code.code +
           (executed_code.kernel.empty() ? "" : fmt::format(" ({})", executed_code.kernel));
  };
  for (const ObservedOperator& op : pair.observed) {
    if (op.baseline != op.candidate)
      lines.push_back(fmt::format("{}: {} -> {}", AppendOrigin(op.name, {.test = op.test}), text(op.baseline),
                                  text(op.candidate)));
  }
  if (lines.empty() && !pair.observed.empty()) {
    lines.push_back(fmt::format("none: {} ran the same class of code in both variants",
                                CountedText(pair.observed.size(), "operator")));
  }
  return lines;
}

// "10 launches, paired"
std::string PairingText(const CheckPair& pair) {
  if (pair.pairing == Pairing::kLaunches && pair.launches > 0)
    return fmt::format("{} launches, paired", pair.launches);
  if (pair.pairing == Pairing::kUnpaired) return "not paired";
  if (std::ranges::any_of(pair.items,
                          [](const CheckItem& item) { return item.IsCounted() && item.verdict.growth; }))
    return "counted";
  return pair.decision == GateDecision::kInconclusive ? "too little to compare" : "nothing to measure";
}

Table MakeChecksTable(const CheckPair& pair, bool listed) {
  Table table{.id = "checks",
              .columns = {Left("check"), Right("baseline").WithDropPriority(2),
                          Right("candidate").WithDropPriority(3), Right("change").NeverDropped(),
                          Right("allowed").WithDropPriority(1), Left("result").NeverDropped()}};
  for (const CheckItem& item : pair.items) {
    if (IsListed(item) != listed) continue;
    const GateDecision decision = item.verdict.decision;
    table.AddRow(AppendOrigin(item.name, item.origin), CheckValueCell(item, item.baseline),
                 CheckValueCell(item, item.candidate), VerdictChangeCell(item.verdict), AllowedText(item),
                 ResultCell(decision));
  }
  return table;
}

Section MakeCheckSection(const CheckPair& pair) {
  Section section{pair.name, Visibility::kDefault};
  section.parts.emplace_back(MakeChecksTable(pair, true));
  if (const std::string passing = PassingOperatorsText(pair); !passing.empty()) {
    Table table = MakeChecksTable(pair, false);
    table.title = passing;
    table.visibility = Visibility::kFolded;
    section.parts.emplace_back(std::move(table));
  }
  const auto add = [&](const char* title, const std::vector<Text>& lines) {
    section.AddUnlessEmpty(
        List{.title = title, .items = {lines.begin(), lines.end()}, .screen_items = kScreenChanges});
  };
  add(pair.time_changes.empty() ? "operators of one variant" : "operators that changed",
      ChangedOperatorLines(pair));
  add("operators whose instructions changed", MapEach(pair.count_changes, InstructionsText));
  add("kernels that differ, proven", KernelChangeLines(pair));
  List inconclusive{"inconclusive"};
  for (const CheckItem& item : pair.items) {
    if (!item.inconclusive_reason.empty() && IsListed(item))
      inconclusive.items.emplace_back(AppendOrigin(item.name, item.origin) + ": " + item.inconclusive_reason);
  }
  section.AddUnlessEmpty(std::move(inconclusive));
  section.parts.emplace_back(pair.error.empty() ? Paragraph{PairingText(pair), Visibility::kPage}
                                                : Paragraph{"error: " + pair.error});
  return section;
}

// "latency: 4.31 ms -> 4.52 ms, +4.87% [+4.20%, +5.55%], allowed +2%: FAIL (why not)"
std::string ItemLine(const CheckItem& item) {
  const Cell change = VerdictChangeCell(item.verdict);
  return fmt::format("{}: {} -> {}, {}, allowed {}: {}{}", AppendOrigin(item.name, item.origin),
                     ToText(CheckValueCell(item, item.baseline)),
                     ToText(CheckValueCell(item, item.candidate)), ToText(change), AllowedText(item),
                     ResultText(item.verdict.decision),
                     item.inconclusive_reason.empty() ? "" : fmt::format(" ({})", item.inconclusive_reason));
}

// The reason for the decision, in one line: the checks that failed, else the inconclusive ones.
std::string DecisionMessage(const CheckPair& pair) {
  if (!pair.error.empty()) return pair.error;
  std::string message;
  for (const CheckItem& item : pair.items) {
    if (item.verdict.decision != pair.decision) continue;
    message += (message.empty() ? "" : "; ") + ItemLine(item);
  }
  return message.empty() ? "nothing that could be checked was measured" : message;
}

std::string DecisionDetails(const CheckPair& pair) {
  std::string text;
  for (const CheckItem& item : pair.items) {
    if (IsListed(item)) text += ItemLine(item) + "\n";
  }
  if (const std::string passing = PassingOperatorsText(pair); !passing.empty()) text += passing + "\n";
  const auto add = [&](const char* title, const std::vector<Text>& lines) {
    if (!lines.empty()) text += title;
    for (const Text& line : lines) text += "  " + ToText(line, {}) + "\n";
  };
  add("operators that changed:\n", ChangedOperatorLines(pair));
  add("operators whose instructions changed:\n", MapEach(pair.count_changes, InstructionsText));
  add("kernels that differ, proven:\n", KernelChangeLines(pair));
  return text + PairingText(pair) + "\n";
}

// The lines of the model whose operators failed; if no operator failed, the lines whose operators slowed
// down.
std::vector<TestSuite::Line> FailedModelLines(const CheckPair& pair) {
  std::vector<TestSuite::Line> lines;
  if (pair.decision != GateDecision::kFail) return lines;
  const auto add = [&](const OperatorOrigin& origin, const std::string& text) {
    if (origin.frame) lines.push_back({origin.frame->file, origin.frame->line, text});
  };
  for (const CheckItem& item : pair.items) {
    if (item.verdict.decision == pair.decision) add(item.origin, ItemLine(item));
  }
  if (!lines.empty()) return lines;
  for (const OperatorTimeChange& op : pair.time_changes) {
    if (op.growth > 0) add(op.origin, ToText(ChangedOperatorText(op), {}));
  }
  for (const OperatorCountChange& op : pair.count_changes) {
    if (op.candidate > op.baseline) add(op.origin, ToText(InstructionsText(op), {}));
  }
  return lines;
}

TestSuite::Case MakeCheckCase(const CheckPair& pair, bool require_conclusive) {
  TestSuite::Case test_case{pair.name,
                            TestSuite::Outcome::kError,
                            "measurement",
                            DecisionMessage(pair),
                            DecisionDetails(pair),
                            FailedModelLines(pair)};
  if (pair.error.empty()) SetCaseResult(pair.decision, require_conclusive, test_case);
  return test_case;
}

// The number of pairs with each result: "1 of 3 comparisons exceeds a limit, 1 of 3 comparisons could not be
// decided".
std::string ComparisonsText(const CheckReport& check) {
  if (check.pairs.empty()) return "nothing to check";
  const auto count = [&](std::string_view result) {
    return std::ranges::count(check.pairs, result, &CheckPair::Result);
  };
  return CountedResultsText({{count("fail"), "exceeds a limit", "exceed a limit"},
                             {count("error"), "could not be measured", "could not be measured"},
                             {count("inconclusive"), "could not be decided", "could not be decided"},
                             {count("pass"), "is within its limits", "are within their limits"}},
                            check.pairs.size(), "comparison");
}

}  // namespace

Tone GetTone(GateDecision decision) {
  return decision == GateDecision::kPass   ? Tone::kGood
         : decision == GateDecision::kFail ? Tone::kBad
                                           : Tone::kUnsure;
}

std::string ChangeText(double change) { return SignedPercent(100 * change, PercentDecimals(100 * change)); }

std::string ChangeText(double change, double low, double high) {
  const double larger = std::max(std::abs(low), std::abs(high));
  const int decimals = PercentDecimals(100 * (std::isfinite(larger) ? larger : std::abs(low)));
  return fmt::format("{} [{}, {}]", ChangeText(change), SignedPercent(100 * low, decimals),
                     SignedPercent(100 * high, decimals));
}

Cell ChangeCell(const std::optional<double>& change, const std::optional<double>& low,
                const std::optional<double>& high) {
  if (!change) return {};
  return Change{*change, low.value_or(*change), high.value_or(*change)};
}

std::string ResultText(GateDecision decision) {
  std::string text(GetName(decision));
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::toupper(c); });
  return text;
}

Answer Headline(GateDecision decision, bool require_conclusive, bool has_error, const std::string& text) {
  if (IsGateError(decision, has_error)) return {"ERROR: " + text, "", Tone::kBad};
  const GateDecision effective_decision = RequireConclusive(decision, require_conclusive);
  return {ResultText(effective_decision) + ": " + text, "", GetTone(effective_decision)};
}

std::string CountedResultsText(const std::vector<ResultCount>& results, std::size_t total, const char* noun) {
  std::string text;
  for (const ResultCount& result : results) {
    const bool last = &result == &results.back();
    if (result.count == 0 || (last && !text.empty())) continue;
    text += fmt::format("{}{} of {} {}", text.empty() ? "" : ", ", result.count, CountedText(total, noun),
                        result.count == 1 ? result.singular : result.plural);
  }
  return text;
}

void SetCaseResult(GateDecision decision, bool require_conclusive, TestSuite::Case& test_case) {
  using Outcome = TestSuite::Outcome;
  const GateDecision effective_decision = RequireConclusive(decision, require_conclusive);
  test_case.outcome = effective_decision == GateDecision::kPass   ? Outcome::kPassed
                      : effective_decision == GateDecision::kFail ? Outcome::kFailure
                                                                  : Outcome::kSkipped;
  test_case.type = test_case.outcome != Outcome::kFailure ? ""
                   : decision == effective_decision       ? "regression"
                                                          : "inconclusive";
}

Document MakeCheckDocument(const CheckReport& check) {
  Document document{.title = "etprof check", .section_kind = "pair"};
  for (const std::string& fact : {check.model_id, check.machine}) {
    if (!fact.empty()) document.facts.push_back(fact);
  }
  if (check.seconds > 0) document.facts.push_back(fmt::format("{:.3g} s", check.seconds));
  document.answers_last = true;
  document.answers = {
      Headline(check.decision, check.require_conclusive, check.has_error, ComparisonsText(check))};
  for (const CheckPair& pair : check.pairs) document.sections.push_back(MakeCheckSection(pair));
  if (check.pairs.empty()) document.sections.push_back({"", {MakeChecksTable(CheckPair(), true)}});
  document.notes = MakeNoteList(check.notes);
  document.method = fmt::format(
      "Intervals are bounds of one-sided t-tests over launches; the false discovery rate is controlled at "
      "{:g}% over all checks.",
      100 * check.false_discovery_rate);
  return document;
}

TestSuite MakeTestSuite(const CheckReport& check) {
  TestSuite suite{.command = "check",
                  .subject = check.model_id,
                  .timestamp = check.generated_at,
                  .seconds = check.seconds,
                  .properties = {{"device", check.machine},
                                 {"run_directory", check.folder},
                                 {"false_discovery", fmt::format("{:g}", check.false_discovery_rate)}}};
  for (const CheckPair& pair : check.pairs)
    suite.cases.push_back(MakeCheckCase(pair, check.require_conclusive));
  suite.notes = check.notes;
  return suite;
}

}  // namespace etprof::show
