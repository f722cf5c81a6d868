#include "format/xnnpack/operator_name.h"

#include <algorithm>
#include <array>

#include "core/text/text.h"

namespace etprof::xnnpack {
namespace {

// Removes " #12" from the end.
std::optional<std::uint32_t> ConsumeOperatorNumber(std::string_view& name) {
  const std::size_t at = name.rfind(" #");
  if (at == std::string_view::npos) return std::nullopt;
  const auto number = AsNumber<std::uint32_t>(name.substr(at + 2));
  if (!number) return std::nullopt;
  name = name.substr(0, at);
  return number;
}

}  // namespace

bool IsDataType(std::string_view word) {
  if (word == "xx") return true;
  // The letters before the number of bits: floating-point, integer or raw elements (f, bf, s, u, x),
  // quantized (qs, qu, qd, qdu, qb, qc), packed (pf, pqs, qp). The suffix w means weights only; acc means the
  // accumulator.
  constexpr std::array<std::string_view, 16> kElementKinds = {
      "f", "bf", "s", "u", "x", "qs", "qu", "qd", "qb", "qc", "qp", "pf", "pq", "pqs", "ps", "qdu"};
  const auto digit = std::ranges::find_if(word, IsDigit);
  const std::string_view letters = word.substr(0, static_cast<std::size_t>(digit - word.begin()));
  if (std::ranges::find(kElementKinds, letters) == kElementKinds.end()) return false;
  std::string_view suffix = word.substr(letters.size());
  std::size_t digits = 0;
  while (digits < suffix.size() && IsDigit(suffix[digits])) ++digits;
  suffix.remove_prefix(digits);
  return digits >= 1 && digits <= 2 && (suffix.empty() || suffix == "w" || suffix == "acc");
}

std::string ModernOperatorName(std::string name) {
  constexpr std::string_view kOldSuffix = " Transpose";
  const std::size_t close = name.starts_with("Transpose (") ? name.find(')') : std::string::npos;
  if (close != std::string::npos && name.compare(close + 1, kOldSuffix.size(), kOldSuffix) == 0)
    name.erase(close + 1, kOldSuffix.size());
  return name;
}

bool IsPackedType(std::string_view data_type) {
  const std::string type = Lower(data_type);
  return IsDataType(type) && (type.starts_with("p") || type.starts_with("qp"));
}

bool RunsOnKleidiai(const OperatorName& name) {
  return (name.kind == "GEMM" || name.kind == "IGEMM") &&
         std::ranges::any_of(name.data_types, [](const std::string& type) { return IsPackedType(type); });
}

bool NeedsSme(const OperatorName& name) {
  return std::ranges::any_of(name.data_types, [](const std::string& type) {
    return IsPackedType(type) && Lower(type).starts_with("p");
  });
}

std::optional<OperatorName> ParseOperatorName(std::string_view name) {
  OperatorName parsed;
  name = Trimmed(name);
  parsed.number = ConsumeOperatorNumber(name);
  const std::size_t open = name.find(" (");
  const std::size_t close = open == std::string_view::npos ? open : name.find(')', open);
  if (close == std::string_view::npos) {
    if (!parsed.number || Trimmed(name).empty()) return std::nullopt;
    parsed.type = Trimmed(name);
    return parsed;
  }
  parsed.type = Trimmed(name.substr(0, open));
  if (parsed.type.empty()) return std::nullopt;
  parsed.kind = Trimmed(name.substr(close + 1));
  for (const std::string_view part : SplitAt(name.substr(open + 2, close - open - 2), ',')) {
    const std::string_view word = Trimmed(part);
    if (IsDataType(Lower(word))) {
      parsed.data_types.emplace_back(word);
    } else if (parsed.layout.empty()) {
      parsed.layout = word;
    }
  }
  return parsed;
}

}  // namespace etprof::xnnpack
