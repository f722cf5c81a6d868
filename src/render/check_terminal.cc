#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <sstream>

#include "core/escape.h"
#include "render/check.h"
#include "render/check_words.h"
#include "render/screen_table.h"
#include "render/terminal_text.h"

namespace etprof {
namespace {

constexpr std::size_t kMovedOnScreen = 8;

Color ColorOfGate(GateDecision decision) {
  return decision == GateDecision::kPass   ? Color::kGreen
         : decision == GateDecision::kFail ? Color::kRed
                                           : Color::kYellow;
}

std::string Header(const CheckReport& check) {
  std::string text = check.model_id.empty() ? "check" : "check · " + check.model_id;
  if (!check.where.empty()) text += " · " + check.where;
  if (check.seconds > 0) text += fmt::format(" · {:.3g} s", check.seconds);
  return text;
}

// The checks of a pair, as many as are worth a row.
ScreenTable TableOf(const CheckPair& pair, bool all) {
  ScreenTable table{{{"check"},
                     {"baseline", true, 2},
                     {"candidate", true, 3},
                     {"change", true},
                     {"allowed", true, 1},
                     {"result"}},
                    {}};
  for (const CheckItem& item : pair.items) {
    if (!all && !check::IsShown(item)) continue;
    const GateDecision decision = item.verdict.decision;
    table.rows.push_back({{OneLine(item.name)},
                          {check::ValueText(item.kind, item.baseline)},
                          {check::ValueText(item.kind, item.candidate)},
                          {check::ChangeText(item)},
                          {fmt::format("{:+g} %", 100 * item.limit)},
                          {check::ResultText(decision), ColorOfGate(decision)}});
  }
  return table;
}

// What else is to be said of a pair.
std::vector<std::string> LinesOf(const CheckPair& pair, bool all) {
  const std::size_t most = all ? std::numeric_limits<std::size_t>::max() : kMovedOnScreen;
  std::vector<std::string> lines;
  const std::vector<std::string> moved = check::MovedLines(pair, most);
  if (!moved.empty()) lines.emplace_back("operators that moved:");
  lines.insert(lines.end(), moved.begin(), moved.end());
  if (const std::string passing = check::PassingOperators(pair); !all && !passing.empty())
    lines.push_back(passing + " (--all shows them)");
  for (const CheckItem& item : pair.items) {
    if (!item.why_not.empty() && check::IsShown(item)) lines.push_back(item.name + ": " + item.why_not);
  }
  if (!pair.error.empty()) lines.push_back(fmt::format("error: {}", pair.error));
  return lines;
}

void DrawCheck(const CheckReport& check, const TerminalOptions& options, std::ostream& out) {
  WriteWrapped("", Header(check), 0, options.width, out);
  out << '\n';
  for (const CheckPair& pair : check.pairs) {
    out << "  " << Paint(OneLine(pair.name), Color::kBold, options.colors) << '\n';
    if (const ScreenTable table = TableOf(pair, options.all); !table.rows.empty()) table.Draw(options, out);
    for (const std::string& line : LinesOf(pair, options.all))
      WriteWrapped("  ", line, 4, options.width, out);
    out << '\n';
  }
  for (const std::string& note : check.notes) WriteWrapped("  note", note, 8, options.width, out);
  if (!options.more.empty()) out << "  more  " << OneLine(options.more) << '\n';
  if (!check.notes.empty() || !options.more.empty()) out << '\n';
  const GateDecision shown = check.decision == GateDecision::kInconclusive && check.require_conclusive
                                 ? GateDecision::kFail
                                 : check.decision;
  std::ostringstream conclusion;
  WriteWrapped("", check::Conclusion(check), 0, options.width, conclusion);
  out << Paint(conclusion.str(), ColorOfGate(shown), options.colors);
}

}  // namespace

void RenderCheckTerminal(const CheckReport& check, const TerminalOptions& options, std::ostream& out) {
  TerminalOptions wide_enough = options;
  wide_enough.width = std::max(kLeastWidth, options.width);
  DrawOn(wide_enough, out,
         [&](const TerminalOptions& on, std::ostream& text) { DrawCheck(check, on, text); });
}

}  // namespace etprof
