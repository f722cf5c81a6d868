#include "say/document.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "core/units.h"
#include "report/ladder/matrix.h"
#include "say/gates.h"
#include "say/wording.h"

namespace etprof::say {
namespace {

struct ValueFormatter {
  std::string operator()(const Nothing&) const { return kUndefined; }
  std::string operator()(const std::string& text) const { return text; }
  std::string operator()(const Duration& duration) const { return FormatDuration(duration.ns); }
  std::string operator()(const Time& time) const { return FormatDuration(time.ns); }
  std::string operator()(const PartTime& part) const { return FormatDuration(part.ns()); }
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
    return FormatNumber(number.value) + bounds + (number.unit.empty() ? "" : " " + number.unit);
  }
  std::string operator()(const Share& share) const { return PercentText(share.share); }
  std::string operator()(const Ratio& ratio) const { return RatioText(ratio.ratio); }
  std::string operator()(const Speedup& speedup) const {
    const Quantity& quantity = speedup.quantity;
    const auto ratio = SpeedupRatio(quantity);
    if (!speedup.efficiency || !ratio) return SpeedupOrDash(quantity);
    if (quantity.estimate && quantity.verdict == stats::Verdict::kInconclusive) return kUndefined;
    return (quantity.estimate ? "" : "≈") + RatioText(*ratio) + ", " + PercentText(*speedup.efficiency);
  }
  std::string operator()(const Interval& interval) const { return IntervalText(interval.quantity); }
  std::string operator()(const Change& change) const {
    return change.low && change.high ? ChangeText(change.change, *change.low, *change.high)
                                     : ChangeText(change.change);
  }
};

// As ValueFormatter, for a text whose times share one unit and number of digits.
struct ScaledValueFormatter {
  const TimeScale& scale;

  std::string operator()(const auto& value) const { return ValueFormatter()(value); }
  std::string operator()(const Time& time) const { return scale.Text(time.ns); }
  std::string operator()(const TimeBounds& bounds) const {
    return fmt::format("[{}, {}] {}", scale.Number(bounds.low_ns), scale.Number(bounds.high_ns), scale.unit);
  }
  std::string operator()(const PartTime& part) const {
    // Parts with equal remainders are rounded up in the order of a table by decreasing time.
    std::vector<std::size_t> order(part.parts_ns.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, std::greater(), [&](std::size_t i) { return part.parts_ns[i]; });
    std::vector<double> falling;
    for (const std::size_t i : order) falling.push_back(part.parts_ns[i]);
    const auto place = static_cast<std::size_t>(std::ranges::find(order, part.index) - order.begin());
    return scale.FormatUnits(RoundToUnits({falling}, scale)[place], part.ns());
  }
};

}  // namespace

void Text::Add(Cell::Value piece) {
  const auto* const words = std::get_if<std::string>(&piece);
  auto* const before = pieces_.empty() ? nullptr : std::get_if<std::string>(&pieces_.back());
  if (words != nullptr && words->empty()) return;
  if (words != nullptr && before != nullptr) {
    *before += *words;
  } else {
    pieces_.push_back(std::move(piece));
  }
}

Text& Text::operator+=(const Text& more) {
  for (const Cell::Value& piece : std::vector(more.pieces_)) Add(piece);
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

std::string TextOf(const Cell& cell) { return std::visit(ValueFormatter(), cell.value); }

Tone ToneOf(const Cell& cell) {
  const auto* speedup = std::get_if<Speedup>(&cell.value);
  if (speedup == nullptr || cell.tone != Tone::kPlain) return cell.tone;
  const stats::Verdict verdict = speedup->quantity.verdict;
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
  for (const Cell::Value& piece : text.pieces())
    words += span ? std::visit(ScaledValueFormatter{scale}, piece) : std::visit(ValueFormatter(), piece);
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

}  // namespace etprof::say
