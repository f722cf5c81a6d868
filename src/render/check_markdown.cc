#include <fmt/format.h>

#include "render/check.h"
#include "render/check_words.h"
#include "render/markdown_text.h"

namespace etprof {
namespace {

constexpr std::size_t kMovedInMarkdown = 20;

}  // namespace

void RenderCheckMarkdown(const CheckReport& check, std::ostream& file) {
  markdown::Out out(file);
  using markdown::Align;
  out << "## etprof check" << (check.model_id.empty() ? "" : ": " + check.model_id) << "\n\n";
  out << "**" << check::Conclusion(check) << "**\n\n";
  Table table = markdown::MakeTable({{"pair", Align::kLeft},
                                     {"check", Align::kLeft},
                                     {"baseline", Align::kRight},
                                     {"candidate", Align::kRight},
                                     {"change", Align::kRight},
                                     {"allowed", Align::kRight},
                                     {"result", Align::kLeft},
                                     {"from", Align::kLeft}});
  for (const CheckPair& pair : check.pairs) {
    const std::string name = pair.name;
    for (const CheckItem& item : pair.items) {
      if (!check::IsShown(item)) continue;
      table.AddRow({name, item.name, check::ValueText(item.kind, item.baseline),
                    check::ValueText(item.kind, item.candidate), check::ChangeText(item),
                    fmt::format("{:+g} %", 100 * item.limit), check::ResultText(item.verdict.decision),
                    item.why_not.empty() ? check::PairingText(pair) : item.why_not});
    }
    if (!pair.error.empty()) table.AddRow({name, "", "", "", "", "", "error", pair.error});
  }
  if (!check.pairs.empty()) out << table << '\n';
  for (const CheckPair& pair : check.pairs) {
    const std::vector<std::string> moved = check::MovedLines(pair, kMovedInMarkdown);
    if (moved.empty()) continue;
    out << "### Operators that moved: " << pair.name << "\n\n";
    for (const std::string& line : moved) out << "- " << line << '\n';
    out << '\n';
  }
  for (const std::string& note : check.notes) out << "- " << note << '\n';
  if (!check.notes.empty()) out << '\n';
  out.Format(
      "Intervals are bounds of one-sided t-tests over launches; false discovery is held at {:g} % over "
      "all checks.\n\n",
      100 * check.false_discovery);
}

}  // namespace etprof
