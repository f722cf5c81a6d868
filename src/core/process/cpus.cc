#include "core/process/cpus.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/error.h"
#include "core/text/text.h"

namespace etprof {
namespace {

constexpr int kMaxCpus = 1024;  // size of Linux's cpu_set_t

[[noreturn]] void ThrowInvalidCpus(std::string_view text, const char* reason) {
  throw Error(ExitCode::kUsage, fmt::format("\"{}\" is not a set of CPUs: {}", text, reason))
      .Remedy("write a list such as 0-3,6 or a mask such as 0x4f");
}

std::vector<int> ParseMask(std::string_view text, std::string_view digits) {
  if (digits.empty()) ThrowInvalidCpus(text, "the mask is empty");
  if (digits.size() > kMaxCpus / 4) ThrowInvalidCpus(text, "the mask is too long");
  std::vector<int> cpus;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    const auto value = AsNumber<unsigned>(digits.substr(digits.size() - 1 - i, 1), 16);
    if (!value) ThrowInvalidCpus(text, "a mask has hexadecimal digits only");
    for (int bit = 0; bit < 4; ++bit) {
      if ((*value >> bit & 1U) != 0) cpus.push_back(static_cast<int>(i) * 4 + bit);
    }
  }
  if (cpus.empty()) ThrowInvalidCpus(text, "no CPU is in it");
  return cpus;
}

int ParseCpuNumber(std::string_view text, std::string_view digits) {
  const auto value = AsNumber<int>(digits);
  if (!value || *value < 0) ThrowInvalidCpus(text, "not a number");
  if (*value >= kMaxCpus) ThrowInvalidCpus(text, "a CPU's number is below 1024");
  return *value;
}

}  // namespace

std::vector<int> ParseCpus(std::string_view text) {
  if (text.starts_with("0x") || text.starts_with("0X")) return ParseMask(text, text.substr(2));
  if (text.find_first_of("abcdefABCDEF") != std::string_view::npos) return ParseMask(text, text);
  std::vector<int> cpus;
  for (const std::string_view part : SplitAt(text, ',')) {
    const std::size_t dash = part.find('-');
    const int first = ParseCpuNumber(text, part.substr(0, dash));
    const int last = dash == std::string_view::npos ? first : ParseCpuNumber(text, part.substr(dash + 1));
    if (last < first) ThrowInvalidCpus(text, "a range runs backwards");
    for (int cpu = first; cpu <= last; ++cpu) cpus.push_back(cpu);
  }
  std::ranges::sort(cpus);
  cpus.erase(std::unique(cpus.begin(), cpus.end()), cpus.end());
  return cpus;
}

std::string CpusText(const std::vector<int>& cpus) {
  std::string text;
  for (std::size_t i = 0; i < cpus.size();) {
    std::size_t end = i;
    while (end + 1 < cpus.size() && cpus[end + 1] == cpus[end] + 1) ++end;
    if (!text.empty()) text += ",";
    text += end == i ? fmt::format("{}", cpus[i]) : fmt::format("{}-{}", cpus[i], cpus[end]);
    i = end + 1;
  }
  return text;
}

}  // namespace etprof
