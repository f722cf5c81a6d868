#include "show/document.h"

#include <fmt/format.h>

#include "core/units.h"
#include "core/views.h"
#include "report/report.h"
#include "show/gates.h"
#include "show/wording.h"

namespace etprof::show {
namespace {

std::string SpeedupText(const Value& value) {
  const TimeComparison& time_comparison = value.time_comparison;
  const auto ratio = SpeedupRatio(time_comparison);
  if (!value.efficiency || !ratio) return SpeedupOrDash(time_comparison);
  if (time_comparison.estimate && time_comparison.verdict == stats::Verdict::kInconclusive) return kUndefined;
  return (time_comparison.estimate ? "" : "≈") + RatioText(*ratio) + ", " + PercentText(*value.efficiency);
}

// Like ToText, for a text whose times share one unit and number of digits.
std::string TextInScale(const Value& value, const TimeScale& scale) {
  if (value.kind == CellKind::kInterval && !value.unit.empty())
    return fmt::format("[{}, {}] {}", scale.Number(*value.low), scale.Number(*value.high), scale.unit);
  if (value.kind != CellKind::kTime) return ToText(value);
  return value.unit_follows ? scale.Number(*value.value) : scale.Text(*value.value);
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

Text FillPattern(std::string_view pattern, const std::vector<Text>& texts) {
  Text filled;
  for (const Text& text : texts) {
    const std::size_t placeholder = pattern.find("{}");
    filled += std::string(pattern.substr(0, placeholder));
    filled += text;
    pattern.remove_prefix(placeholder + 2);
  }
  return filled + std::string(pattern);
}

Text JoinTexts(const std::vector<Text>& texts, const char* separator) {
  Text joined;
  for (const Text& text : texts) {
    if (&text != &texts.front()) joined += separator;
    joined += text;
  }
  return joined;
}

Table MakeFactsTable(const Facts& facts) {
  Table table{facts.id, facts.title, {Left("name", ""), Left("value", "")}, {}, facts.visibility};
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
  for (const auto* list : {&document.sections, &document.appendix}) {
    for (const Section& section : *list) sections.push_back(&section);
  }
  return sections;
}

std::string ToText(const Value& value) {
  const double number = value.value.value_or(0);
  switch (value.kind) {
    case CellKind::kNoValue:
      return kUndefined;
    case CellKind::kText:
      return value.text;
    case CellKind::kDuration:
    case CellKind::kTime:
      return FormatDuration(number);
    case CellKind::kSize:
      return FormatBytes(number);
    case CellKind::kCount:
      return FormatCount(static_cast<std::int64_t>(number));
    case CellKind::kAmount:
      return FormatAmount(number);
    case CellKind::kNumber:
      return FormatNumber(number) +
             (value.low && value.high
                  ? fmt::format(" [{}, {}]", FormatNumber(*value.low), FormatNumber(*value.high))
                  : "") +
             (value.unit.empty() ? "" : " " + value.unit);
    case CellKind::kShare:
      return PercentText(number);
    case CellKind::kRatio:
      return RatioText(number);
    case CellKind::kChange:
      return value.low && value.high ? ChangeText(number, *value.low, *value.high) : ChangeText(number);
    case CellKind::kSpeedup:
      return SpeedupText(value);
    case CellKind::kInterval:
      return value.unit.empty()
                 ? IntervalText(value.time_comparison)
                 : fmt::format("[{}, {}]", FormatDuration(*value.low), FormatDuration(*value.high));
  }
  return "";
}

Tone GetTone(const Cell& cell) {
  if (cell.kind != CellKind::kSpeedup || cell.tone != Tone::kPlain) return cell.tone;
  const stats::Verdict verdict = cell.time_comparison.verdict;
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

std::string ToText(const Text& text, const std::optional<TimeRange>& time_range) {
  const TimeScale scale =
      time_range ? ScaleFor(time_range->smallest_ns, time_range->largest_ns) : TimeScale();
  std::string printed;
  for (const Value& piece : text.pieces()) printed += time_range ? TextInScale(piece, scale) : ToText(piece);
  return printed;
}

std::string PrintedText(const Text& text, const Document& document) {
  return ToText(text, document.time_range);
}

std::vector<Cell> PrintedValues(const Text& text, const Document& document) {
  std::vector<Cell> values;
  for (const Value& piece : text.pieces()) {
    if (piece.kind != CellKind::kText) values.push_back(PrintedCell(piece, document.time_range));
  }
  return values;
}

std::vector<std::string> List::Item::PrintedDetails(const Document& document) const {
  return MapEach(details, [&](const Text& detail) { return PrintedText(detail, document); });
}

std::vector<Cell> Chart::Series::PrintedValues() const {
  return MapEach(
      values, [&](const std::optional<double>& value) { return PrintedCell(value ? cell(*value) : Cell()); });
}

Cell PrintedCell(const Value& value, const std::optional<TimeRange>& time_range) {
  Cell cell(value);
  cell.text = ToText(Text(value), time_range);
  cell.tone = GetTone(cell);
  return cell;
}

std::string ToText(const Note& note, const std::optional<TimeRange>& time_range) {
  return (note.label == Note().label ? "" : note.label + ": ") + ToText(note.text, time_range);
}

std::vector<Note> MakeNoteList(const std::vector<std::string>& texts, const std::string& label) {
  return MapEach(texts, [&](const std::string& text) { return Note{text, label}; });
}

}  // namespace etprof::show
