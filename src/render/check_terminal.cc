#include <fmt/format.h>

#include <utility>

#include "core/table.h"
#include "render/check.h"
#include "render/check_words.h"

namespace etprof {
namespace {

constexpr std::size_t kMoved = 8;

std::string Colored(const std::string& text, GateDecision decision, bool colors) {
  if (!colors) return text;
  const char* code = decision == GateDecision::kPass ? "32" : decision == GateDecision::kFail ? "31" : "33";
  return fmt::format("\x1b[{}m{}\x1b[0m", code, text);
}

std::string Header(const CheckReport& check) {
  std::string text = check.model_id.empty() ? "check" : "check · " + check.model_id;
  if (!check.where.empty()) text += " · " + check.where;
  if (check.seconds > 0) text += fmt::format(" · {:.3g} s", check.seconds);
  return text;
}

}  // namespace

void RenderCheckTerminal(const CheckReport& check, const TerminalOptions& options, std::ostream& out) {
  out << check::Clean(Header(check)) << "\n\n";
  const auto right = Table::Align::kRight;
  Table table{{{"pair"},
               {"check"},
               {"baseline", right},
               {"candidate", right},
               {"change", right},
               {"allowed", right},
               {"result"}},
              {}};
  for (const CheckPair& pair : check.pairs) {
    std::string name = check::Clean(pair.name);
    const auto add = [&](std::vector<std::string> cells) {
      cells.insert(cells.begin(), std::exchange(name, ""));
      table.AddRow(std::move(cells));
    };
    for (const CheckItem& item : pair.items) {
      if (!check::IsShown(item)) continue;
      add({check::Clean(item.name), check::ValueText(item.kind, item.baseline),
           check::ValueText(item.kind, item.candidate), check::ChangeText(item),
           fmt::format("{:+g} %", 100 * item.limit), check::ResultText(item.verdict.decision)});
    }
    if (!pair.error.empty()) add({"", "", "", "", "", "error"});
  }
  if (!check.pairs.empty()) out << table.ToText(2) << '\n';
  for (const CheckPair& pair : check.pairs) {
    std::vector<std::string> lines = check::MovedLines(pair, kMoved);
    if (!lines.empty()) lines.insert(lines.begin(), "operators that moved:");
    if (const std::string passing = check::PassingOperators(pair); !passing.empty()) lines.push_back(passing);
    for (const CheckItem& item : pair.items) {
      if (!item.why_not.empty() && check::IsShown(item)) lines.push_back(item.name + ": " + item.why_not);
    }
    if (!pair.error.empty()) lines.push_back(pair.error);
    if (lines.empty()) continue;
    out << "  " << check::Clean(pair.name) << '\n';
    for (const std::string& line : lines) out << "    " << check::Clean(line) << '\n';
    out << '\n';
  }
  for (const std::string& note : check.notes) out << "  note  " << check::Clean(note) << '\n';
  if (!options.more.empty()) out << "  more  " << check::Clean(options.more) << '\n';
  if (!check.notes.empty() || !options.more.empty()) out << '\n';
  const GateDecision shown = check.decision == GateDecision::kInconclusive && check.require_conclusive
                                 ? GateDecision::kFail
                                 : check.decision;
  out << Colored(check::Conclusion(check), shown, options.colors) << '\n';
}

}  // namespace etprof
