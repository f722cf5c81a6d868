#include "say/document.h"

#include <fmt/format.h>

#include "core/units.h"
#include "report/ladder/matrix.h"
#include "say/gates.h"
#include "say/wording.h"

namespace etprof::say {
namespace {

struct Words {
  std::string operator()(const Nothing&) const { return kUndefined; }
  std::string operator()(const std::string& text) const { return text; }
  std::string operator()(const Duration& duration) const { return FormatDuration(duration.ns); }
  std::string operator()(const Time& time) const { return FormatDuration(time.ns); }
  std::string operator()(const TimeBounds& bounds) const {
    return fmt::format("[{}, {}]", FormatDuration(bounds.low_ns), FormatDuration(bounds.high_ns));
  }
  std::string operator()(const Size& size) const { return FormatBytes(size.bytes); }
  std::string operator()(const Count& count) const { return FormatCount(count.count); }
  std::string operator()(const Amount& amount) const { return FormatAmount(amount.amount); }
  std::string operator()(const Number& number) const {
    const std::string bounds = number.low && number.high ? fmt::format(" [{}, {}]", FormatNumber(*number.low),
                                                                       FormatNumber(*number.high))
                                                         : "";
    return FormatNumber(number.value) + bounds +
           (number.unit.empty()  ? ""
            : number.unit == "x" ? "x"
                                 : " " + number.unit);
  }
  std::string operator()(const Share& share) const { return PercentText(share.share); }
  std::string operator()(const Speedup& speedup) const {
    const Quantity& quantity = speedup.quantity;
    const auto ratio = RatioOf(quantity);
    if (!speedup.efficiency || !ratio) return GainText(quantity);
    if (quantity.estimate && quantity.verdict == stats::Verdict::kInconclusive) return kUndefined;
    return (quantity.estimate ? "" : "≈") + RatioText(*ratio) + ", " + PercentText(*speedup.efficiency);
  }
  std::string operator()(const Interval& interval) const { return IntervalText(interval.quantity); }
  std::string operator()(const Change& change) const {
    return change.low && change.high ? ChangeText(change.change, *change.low, *change.high)
                                     : ChangeText(change.change);
  }
};

}  // namespace

Table TableOf(const Facts& facts) {
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

std::vector<const Section*> SectionsOf(const Document& document) {
  std::vector<const Section*> sections;
  for (const auto* some : {&document.sections, &document.appendix}) {
    for (const Section& section : *some) sections.push_back(&section);
  }
  return sections;
}

std::string TextOf(const Cell& cell) { return std::visit(Words(), cell.value); }

Tone ToneOf(const Cell& cell) {
  const auto* speedup = std::get_if<Speedup>(&cell.value);
  if (speedup == nullptr || cell.tone != Tone::kPlain) return cell.tone;
  switch (speedup->quantity.verdict) {
    case stats::Verdict::kFaster:
      return Tone::kGood;
    case stats::Verdict::kSlower:
      return Tone::kBad;
    case stats::Verdict::kSame:
      return Tone::kPlain;
    default:
      return Tone::kUnknown;
  }
}

std::string HeadingOf(const Document& document) {
  std::string heading = document.title;
  for (const std::string& fact : document.facts) heading += " · " + fact;
  return heading;
}

std::string TextOf(const Note& note) {
  return (note.label == Note().label ? "" : note.label + ": ") + note.text;
}

std::vector<Note> NotesOf(const std::vector<std::string>& texts, const std::string& label) {
  std::vector<Note> notes;
  for (const std::string& text : texts) notes.push_back({text, label});
  return notes;
}

}  // namespace etprof::say
