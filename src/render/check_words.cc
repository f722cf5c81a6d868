#include "render/check_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/units.h"
#include "render/wording.h"

namespace etprof::check {
namespace {

int DecimalsOf(double percent) {
  const double size = std::abs(percent);
  return size < 9.995 ? 2 : size < 99.95 ? 1 : 0;  // of what is printed: 9.999 is 10.0
}

std::string Signed(double percent, int decimals) {
  if (std::isinf(percent)) return percent > 0 ? "+∞" : "-∞";
  return fmt::format("{:+.{}f}", percent, decimals);
}

}  // namespace

std::string GrowthText(double growth) { return Signed(100 * growth, DecimalsOf(100 * growth)) + " %"; }

std::string BoundsText(double low, double high) {
  const double larger = std::max(std::abs(low), std::abs(high));
  const int decimals = DecimalsOf(100 * (std::isfinite(larger) ? larger : std::abs(low)));
  return fmt::format("[{}, {}] %", Signed(100 * low, decimals), Signed(100 * high, decimals));
}

std::string ChangeText(const CheckItem& item) {
  const GateVerdict& verdict = item.verdict;
  if (!verdict.growth) return kUndefined;
  return GrowthText(*verdict.growth) + " " +
         BoundsText(verdict.low.value_or(*verdict.growth), verdict.high.value_or(*verdict.growth));
}

std::string ValueText(CheckItem::Kind kind, const std::optional<double>& value) {
  if (!value) return kUndefined;
  return kind == CheckItem::Kind::kPeakMemory ? FormatBytes(*value) : FormatMilliseconds(*value);
}

std::string ResultText(GateDecision decision) {
  return decision == GateDecision::kFail ? "FAIL" : std::string(NameOf(decision));
}

std::string ResultText(const CheckPair& pair) {
  return pair.error.empty() ? ResultText(pair.decision) : "error";
}

bool IsShown(const CheckItem& item) {
  return item.kind != CheckItem::Kind::kOperator || item.verdict.decision != GateDecision::kPass;
}

std::string PassingOperators(const CheckPair& pair) {
  const auto passing = std::count_if(pair.items.begin(), pair.items.end(),
                                     [](const CheckItem& item) { return !IsShown(item); });
  if (passing == 0) return "";
  return passing == 1 ? "1 operator passes" : fmt::format("{} operators pass", passing);
}

std::vector<std::string> MovedLines(const CheckPair& pair, std::size_t most) {
  std::vector<std::string> lines;
  const auto add = [&](const auto& list, const auto& line_of) {
    for (std::size_t i = 0; i < std::min(most, list.size()); ++i) lines.push_back(line_of(list[i]));
    if (list.size() > most) lines.push_back(fmt::format("and {} more", list.size() - most));
  };
  add(pair.moved, [](const MovedOperator& op) {
    return fmt::format("{}: {} -> {}, {} {}", op.name, FormatMilliseconds(op.baseline_ns),
                       FormatMilliseconds(op.candidate_ns), GrowthText(op.growth),
                       BoundsText(op.low, op.high));
  });
  add(pair.only_baseline, [](const std::string& op) { return "only in the baseline: " + op; });
  add(pair.only_candidate, [](const std::string& op) { return "only in the candidate: " + op; });
  return lines;
}

std::string ItemLine(const CheckItem& item) {
  return fmt::format("{}: {} -> {}, {}, allowed {:+g} %: {}{}", item.name,
                     ValueText(item.kind, item.baseline), ValueText(item.kind, item.candidate),
                     ChangeText(item), 100 * item.limit, ResultText(item.verdict.decision),
                     item.why_not.empty() ? "" : fmt::format(" ({})", item.why_not));
}

std::string Conclusion(const CheckReport& check) {
  if (check.pairs.empty()) return "inconclusive: there is no pair to check";
  const auto count = [&](const std::string& result) {
    return std::count_if(check.pairs.begin(), check.pairs.end(),
                         [&](const CheckPair& pair) { return ResultText(pair) == result; });
  };
  const auto of = [&](std::ptrdiff_t some) {
    return fmt::format("{} of {} pair{}", some, check.pairs.size(), check.pairs.size() == 1 ? "" : "s");
  };
  std::string text;
  const auto add = [&](std::ptrdiff_t some, const char* what) {
    if (some > 0) text += (text.empty() ? "" : ", ") + of(some) + " " + what;
  };
  add(count("FAIL"), "beyond the limits for certain");
  add(count("error"), "could not be measured");
  add(count("inconclusive"), "could not be decided");
  if (text.empty()) return fmt::format("pass: {} within the limits for certain", of(count("pass")));
  const bool fails = check.decision == GateDecision::kFail ||
                     (check.require_conclusive && check.decision == GateDecision::kInconclusive);
  const char* result = fails ? "FAIL" : check.error ? "error" : "inconclusive";
  return fmt::format("{}: {}", result, text);
}

std::string PairingText(const CheckPair& pair) {
  if (pair.pairing == Pairing::kLaunches) return fmt::format("{} launches, paired", pair.launches);
  return pair.pairing == Pairing::kUnpaired ? "not paired" : "too little to compare";
}

}  // namespace etprof::check
