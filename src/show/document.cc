#include "show/document.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "core/units.h"
#include "report/ladder/matrix.h"
#include "show/gates.h"
#include "show/wording.h"

namespace etprof::show {
namespace {

std::string SpeedupText(const Value& of) {
  const Quantity& quantity = of.quantity;
  const auto ratio = SpeedupRatio(quantity);
  if (!of.efficiency || !ratio) return SpeedupOrDash(quantity);
  if (quantity.estimate && quantity.verdict == stats::Verdict::kInconclusive) return kUndefined;
  return (quantity.estimate ? "" : "≈") + RatioText(*ratio) + ", " + PercentText(*of.efficiency);
}

// As TextOf, for a text whose times share one unit and number of digits.
std::string TextInScale(const Value& of, const TimeScale& scale) {
  if (of.kind == CellKind::kInterval && !of.unit.empty())
    return fmt::format("[{}, {}] {}", scale.Number(*of.low), scale.Number(*of.high), scale.unit);
  if (of.kind != CellKind::kTime) return TextOf(of);
  if (of.parts.empty()) return scale.Text(*of.value);
  // Parts with equal remainders are rounded up in the order of a table by decreasing time.
  std::vector<std::size_t> order(of.parts.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater(), [&](std::size_t i) { return of.parts[i]; });
  std::vector<double> falling;
  for (const std::size_t i : order) falling.push_back(of.parts[i]);
  const auto place = static_cast<std::size_t>(std::ranges::find(order, of.part) - order.begin());
  return scale.FormatUnits(RoundToUnits({falling}, scale)[place], *of.value);
}

}  // namespace

void Text::Add(Value piece) {
  const bool is_text = piece.kind == CellKind::kText;
  if (is_text && piece.text.empty()) return;
  if (is_text && !pieces_.empty() && pieces_.back().kind == CellKind::kText) {
    pieces_.back().text += piece.text;
  } else {
    pieces_.push_back(std::move(piece));
  }
}

Text& Text::operator+=(const Text& more) {
  for (const Value& piece : std::vector(more.pieces_)) Add(piece);
  return *this;
}

Text FillPattern(std::string_view words, const std::vector<Text>& texts) {
  Text said;
  for (const Text& text : texts) {
    const std::size_t at = words.find("{}");
    said += std::string(words.substr(0, at));
    said += text;
    words.remove_prefix(at + 2);
  }
  return said + std::string(words);
}

Text JoinTexts(const std::vector<Text>& texts, const char* between) {
  Text joined;
  for (const Text& text : texts) {
    if (&text != &texts.front()) joined += between;
    joined += text;
  }
  return joined;
}

Table MakeFactsTable(const Facts& facts) {
  Table table{facts.id, facts.title, {Left("name", ""), Left("value", "")}, {}, facts.level};
  for (const auto& [name, value] : facts.facts) table.rows.push_back({name, value});
  return table;
}

void Section::AddUnlessEmpty(Part part) {
  const auto* const paragraph = std::get_if<Paragraph>(&part);
  const auto* const list = std::get_if<List>(&part);
  const auto* const table = std::get_if<Table>(&part);
  const auto* const facts = std::get_if<Facts>(&part);
  const bool empty = (paragraph != nullptr && paragraph->text.empty()) ||
                     (list != nullptr && list->items.empty()) || (table != nullptr && table->rows.empty()) ||
                     (facts != nullptr && facts->facts.empty());
  if (!empty) parts.push_back(std::move(part));
}

std::vector<const Section*> AllSections(const Document& document) {
  std::vector<const Section*> sections;
  for (const auto* some : {&document.sections, &document.appendix}) {
    for (const Section& section : *some) sections.push_back(&section);
  }
  return sections;
}

std::string TextOf(const Value& of) {
  const double value = of.value.value_or(0);
  switch (of.kind) {
    case CellKind::kNothing:
      return kUndefined;
    case CellKind::kText:
      return of.text;
    case CellKind::kDuration:
    case CellKind::kTime:
      return FormatDuration(value);
    case CellKind::kSize:
      return FormatBytes(value);
    case CellKind::kCount:
      return FormatCount(static_cast<std::int64_t>(value));
    case CellKind::kAmount:
      return FormatAmount(value);
    case CellKind::kNumber:
      return FormatNumber(value) +
             (of.low && of.high ? fmt::format(" [{}, {}]", FormatNumber(*of.low), FormatNumber(*of.high))
                                : "") +
             (of.unit.empty() ? "" : " " + of.unit);
    case CellKind::kShare:
      return PercentText(value);
    case CellKind::kRatio:
      return RatioText(value);
    case CellKind::kChange:
      return of.low && of.high ? ChangeText(value, *of.low, *of.high) : ChangeText(value);
    case CellKind::kSpeedup:
      return SpeedupText(of);
    case CellKind::kInterval:
      return of.unit.empty() ? IntervalText(of.quantity)
                             : fmt::format("[{}, {}]", FormatDuration(*of.low), FormatDuration(*of.high));
  }
  return "";
}

Tone ToneOf(const Cell& cell) {
  if (cell.kind != CellKind::kSpeedup || cell.tone != Tone::kPlain) return cell.tone;
  const stats::Verdict verdict = cell.quantity.verdict;
  return verdict == stats::Verdict::kFaster   ? Tone::kGood
         : verdict == stats::Verdict::kSlower ? Tone::kBad
         : verdict == stats::Verdict::kSame   ? Tone::kPlain
                                              : Tone::kUnknown;
}

std::string DocumentHeading(const Document& document) {
  std::string heading = document.title;
  for (const std::string& fact : document.facts) heading += " · " + fact;
  return heading;
}

std::string TextOf(const Text& text, const std::optional<Span>& span) {
  const TimeScale scale = span ? ScaleFor(span->smallest_ns, span->largest_ns) : TimeScale();
  std::string words;
  for (const Value& piece : text.pieces()) words += span ? TextInScale(piece, scale) : TextOf(piece);
  return words;
}

std::string TextOf(const Note& note, const std::optional<Span>& span) {
  return (note.label == Note().label ? "" : note.label + ": ") + TextOf(note.text, span);
}

std::vector<Note> ToNotes(const std::vector<std::string>& texts, const std::string& label) {
  std::vector<Note> notes;
  for (const std::string& text : texts) notes.push_back({text, label});
  return notes;
}

}  // namespace etprof::show
