#include "say/document.h"

#include <fmt/format.h>

#include "core/number.h"
#include "core/units.h"
#include "say/check.h"
#include "say/wording.h"

namespace etprof::say {
namespace {

struct Words {
  std::string operator()(const Nothing&) const { return kUndefined; }
  std::string operator()(const std::string& text) const { return text; }
  std::string operator()(const Duration& duration) const { return FormatDuration(duration.ns); }
  std::string operator()(const Time& time) const { return FormatDuration(time.ns); }
  std::string operator()(const Size& size) const { return FormatBytes(size.bytes); }
  std::string operator()(const Count& count) const { return FormatCount(count.count); }
  std::string operator()(const Number& number) const {
    return ThreeDigits(number.value) + (number.unit.empty() ? "" : " " + number.unit);
  }
  std::string operator()(const Change& change) const {
    return change.low && change.high ? ChangeText(change.change, *change.low, *change.high)
                                     : ChangeText(change.change);
  }
};

}  // namespace

std::string TextOf(const Cell& cell) { return std::visit(Words(), cell.value); }

std::string HeadingOf(const Document& document) {
  std::string heading = document.title;
  for (const std::string& fact : document.facts) heading += " · " + fact;
  return heading;
}

}  // namespace etprof::say
