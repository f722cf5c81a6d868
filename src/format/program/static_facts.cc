#include "format/program/static_facts.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <utility>

#include "core/text/text.h"
#include "format/program/data_type.h"

namespace etprof {
namespace {

constexpr double kUnbounded = std::numeric_limits<double>::infinity();
constexpr double kSizeTolerance = 0.01;
constexpr double kWorkTolerance = 0.05;

double LowerBound(const Tally& tally) { return static_cast<double>(tally.known); }
double UpperBound(const Tally& tally) { return tally.has_unknown ? kUnbounded : LowerBound(tally); }

FactRange MakeRange(const Tally& tally) { return {LowerBound(tally), UpperBound(tally)}; }
FactRange ExactRange(std::int64_t number) {
  return {static_cast<double>(number), static_cast<double>(number)};
}

using Unit = FactInfo::Unit;
constexpr FactInfo kFacts[] = {
    {"delegated", "delegated operators", "require-delegated",
     "Minimum share of operators that are delegated, in each method", Unit::kShare, true, false, 0,
     [](const StaticFacts& facts, const FileFacts&) { return facts.operators.Share(); }},
    {"delegated_macs", "delegated MACs", "require-delegated-macs",
     "Minimum share of multiply-accumulates (MACs) that are delegated, in each method", Unit::kShare, true,
     false, 0, [](const StaticFacts& facts, const FileFacts&) { return facts.macs.Share(); }},
    {"sme2", "MACs with SME2 kernels", "require-sme2",
     "Minimum share of the MACs of matrix products and convolutions for which KleidiAI has SME2 kernels",
     Unit::kShare, true, false, 0,
     [](const StaticFacts& facts, const FileFacts&) { return facts.matrix_macs.Share(); }},
    {"delegates", "delegates", "max-delegates", "Maximum number of delegates of each method", Unit::kCount,
     false, false, 0, [](const StaticFacts& facts, const FileFacts&) { return ExactRange(facts.delegates); }},
    {"portable", "portable operators", "max-portable",
     "Maximum number of calls of operators that are not delegated, in each method", Unit::kCount, false,
     false, 0,
     [](const StaticFacts& facts, const FileFacts&) {
       return ExactRange(facts.operators.without_property.known);
     }},
    {"macs", "MACs", "max-macs", "Maximum number of multiply-accumulates (MACs) of each method", Unit::kCount,
     false, false, kWorkTolerance,
     [](const StaticFacts& facts, const FileFacts&) { return MakeRange(facts.AllMacs()); }},
    {"packed_weights", "packed weights", "max-packed-weights",
     "Maximum memory for the weights of each method that XNNPACK packs", Unit::kBytes, false, false,
     kWorkTolerance,
     [](const StaticFacts& facts, const FileFacts&) { return MakeRange(facts.packed_weight_bytes); }},
    {"planned", "planned memory", "max-planned", "Maximum planned memory of each method", Unit::kBytes, false,
     false, kSizeTolerance,
     [](const StaticFacts& facts, const FileFacts&) { return ExactRange(facts.planned_bytes); }},
    {"delegated_bytes", "delegated bytes", "max-delegated-bytes",
     "Maximum size of what the file holds for delegates", Unit::kBytes, false, true, kWorkTolerance,
     [](const StaticFacts&, const FileFacts& file) { return ExactRange(file.delegated_bytes); }},
    {"file_size", "file size", "max-file-size", "Maximum size of the file", Unit::kBytes, false, true,
     kSizeTolerance, [](const StaticFacts&, const FileFacts& file) { return ExactRange(file.size); }}};

// Parses a number that is not negative, and returns it with the rest of the text without leading blanks.
// Absent if the text does not begin with a number.
std::optional<std::pair<double, std::string>> ParseNumberAndUnit(const std::string& text) {
  if (text.empty() || !IsDigit(text.front())) return std::nullopt;
  const std::size_t end = std::min(text.find_first_not_of("0123456789."), text.size());
  const auto number = AsNumber<double>(text.substr(0, end));
  if (!number || !std::isfinite(*number)) return std::nullopt;
  return std::pair(*number, std::string(Trimmed(text.substr(end))));
}

std::optional<double> ParseBytes(const std::string& text) {
  static constexpr std::pair<const char*, double> kUnits[] = {
      {"", 1},     {"b", 1},      {"kb", 1e3},      {"mb", 1e6},
      {"gb", 1e9}, {"kib", 1024}, {"mib", 1048576}, {"gib", 1073741824}};
  const auto number_and_unit = ParseNumberAndUnit(text);
  if (!number_and_unit) return std::nullopt;
  for (const auto& [unit, bytes] : kUnits) {
    if (Lower(number_and_unit->second) == unit) return number_and_unit->first * bytes;
  }
  return std::nullopt;
}

}  // namespace

void Tally::Add(std::optional<std::int64_t> count) {
  const auto sum = CheckedSum(known, count);
  known = sum.value_or(known);
  has_unknown = has_unknown || !sum;
}

std::optional<std::int64_t> Tally::Exact() const { return has_unknown ? std::nullopt : std::optional(known); }

std::optional<std::int64_t> Split::Total() const {
  return CheckedSum(CheckedSum(with_property.Exact(), without_property.Exact()), unknown.Exact());
}

std::optional<double> Split::ExactShare() const {
  const FactRange share = Share();
  const auto whole = Total();
  return whole && *whole > 0 && share.IsExact() ? std::optional(share.low) : std::nullopt;
}

FactRange Split::Share() const {
  // The lowest share has the lower bound of the amount with the property, and the upper bounds of the rest.
  const double max_without = UpperBound(without_property) + UpperBound(unknown);
  const double min_with = LowerBound(with_property);
  const double low = max_without == 0 ? 1 : min_with / (min_with + max_without);
  const double max_with = UpperBound(with_property) + UpperBound(unknown);
  const double min_without = LowerBound(without_property);
  double high = 1;
  if (min_without > 0) {
    // The share can be arbitrarily close to 1, but not 1.
    high = max_with == kUnbounded ? std::nextafter(1.0, 0.0) : max_with / (max_with + min_without);
  }
  return {low, high};
}

Tally StaticFacts::AllMacs() const {
  Tally sum = macs.with_property;
  for (const Tally& part : {macs.without_property, macs.unknown}) {
    sum.Add(part.known);
    if (part.has_unknown) sum.Add(std::nullopt);
  }
  return sum;
}

std::string FactInfo::FileKey() const {
  std::string file_key = limit;
  std::ranges::replace(file_key, '-', '_');
  return file_key;
}

std::optional<double> FactInfo::Parse(const std::string& text) const {
  if (unit == Unit::kBytes) return ParseBytes(text);
  if (unit == Unit::kShare) {
    const auto share = ParsePercent(text);
    return share && *share >= 0 && *share <= 1 ? share : std::nullopt;
  }
  const auto number = AsNumber<std::int64_t>(text);
  return number && *number >= 0 ? std::optional(static_cast<double>(*number)) : std::nullopt;
}

const char* FactInfo::ValidValues() const {
  return unit == Unit::kShare   ? "a percentage from 0% to 100%"
         : unit == Unit::kCount ? "a whole number from 0"
                                : "a size, such as 300kB, 2MB, or 1.5MiB";
}

std::span<const FactInfo> AllFacts() { return kFacts; }

std::optional<double> ParsePercent(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  const std::string unit = end;
  if (end == text.c_str() || (unit != "%" && unit != " %") || !std::isfinite(value)) return std::nullopt;
  // Parses the decimal number times 10^-2, because 99.9 / 100 is not the number closest to 0.999.
  const std::string digits(text.c_str(), static_cast<const char*>(end));
  const bool is_decimal = digits.find_first_not_of("+-.0123456789") == std::string::npos;
  return is_decimal ? std::strtod((digits + "e-2").c_str(), nullptr) : value / 100;
}

}  // namespace etprof
