#include "core/text/text.h"

#include <algorithm>
#include <set>
#include <sstream>

namespace etprof {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";

}  // namespace

std::string_view Trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

std::string LastLine(std::string_view text) {
  text = text.substr(0, text.find_last_not_of(kBlanks) + 1);  // npos + 1 is 0 if all is blank
  const std::size_t newline = text.find_last_of('\n');
  return std::string(newline == std::string_view::npos ? text : text.substr(newline + 1));
}

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return lower;
}

std::optional<std::int64_t> ParseLeadingInteger(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end == text.data()) return std::nullopt;
  return value;
}

void AppendUnique(std::string text, std::vector<std::string>& list) {
  if (std::ranges::find(list, text) == list.end()) list.push_back(std::move(text));
}

DistinctNames DropCommonWords(const std::vector<std::string>& names) {
  static constexpr std::string_view kSeparators = "_-.";
  DistinctNames distinct{"", names};
  if (names.size() < 2 || std::set<std::string>(names.begin(), names.end()).size() < names.size())
    return distinct;
  std::size_t begin = names[0].size(),
              end = names[0].size();  // numbers of bytes at the beginning and end that all names share
  for (const std::string& name : names) {
    begin = std::min(begin,
                     static_cast<std::size_t>(std::ranges::mismatch(names[0], name).in1 - names[0].begin()));
    end = std::min(end,
                   static_cast<std::size_t>(
                       std::mismatch(names[0].rbegin(), names[0].rend(), name.rbegin(), name.rend()).first -
                       names[0].rbegin()));
  }
  // Shorten both to whole words, and leave at least one word of each name.
  const auto word_before = [&](std::size_t size) {
    const std::size_t at = size == 0 ? std::string::npos : names[0].find_last_of(kSeparators, size - 1);
    return at == std::string::npos ? 0 : at + 1;
  };
  begin = word_before(begin);
  const std::size_t ending = names[0].find_first_of(kSeparators, names[0].size() - end);
  end = ending == std::string::npos ? 0 : names[0].size() - ending;
  const auto any_left = [&] {
    return std::ranges::all_of(names, [&](const std::string& name) { return name.size() > begin + end; });
  };
  // For net_fp32 and net_encoder_fp32, drop the common end and keep the beginning: "net" and "net_encoder".
  const std::size_t longest_begin = begin;
  if (!any_left()) begin = 0;
  if (!any_left()) {
    begin = longest_begin;
    end = 0;
  }
  while (begin > 0 && !any_left()) begin = word_before(begin - 1);
  const auto is_meaningless = [&](const std::string& name) {
    const std::string_view rest = std::string_view(name).substr(begin, name.size() - begin - end);
    return rest == "on" || rest == "off" || std::ranges::all_of(rest, IsDigit);
  };
  if (begin > 0 && std::ranges::any_of(names, is_meaningless)) begin = word_before(begin - 1);
  distinct.shared = names[0].substr(0, begin);
  for (std::string& name : distinct.names) name = name.substr(begin, name.size() - begin - end);
  return distinct;
}

std::vector<std::string> Words(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

}  // namespace etprof
