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

std::string Shorten(std::string_view text, std::size_t max_bytes) {
  if (text.size() <= max_bytes) return std::string(text);
  std::size_t end = max_bytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return std::string(text.substr(0, end)) + "...";
}

std::string ReplaceAll(std::string text, std::string_view from, std::string_view to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return lower;
}

void AppendUnique(std::string text, std::vector<std::string>& list) {
  if (std::ranges::find(list, text) == list.end()) list.push_back(std::move(text));
}

DistinctNames DropCommonWords(const std::vector<std::string>& names) {
  static constexpr std::string_view kSeparators = "_-.";
  DistinctNames distinct{"", names};
  if (names.size() < 2 || std::set<std::string>(names.begin(), names.end()).size() < names.size())
    return distinct;
  // The numbers of bytes that all names share at their beginning and end.
  std::size_t prefix_size = names[0].size(), suffix_size = names[0].size();
  for (const std::string& name : names) {
    prefix_size = std::min(
        prefix_size, static_cast<std::size_t>(std::ranges::mismatch(names[0], name).in1 - names[0].begin()));
    suffix_size = std::min(
        suffix_size, static_cast<std::size_t>(
                         std::mismatch(names[0].rbegin(), names[0].rend(), name.rbegin(), name.rend()).first -
                         names[0].rbegin()));
  }
  // Shorten prefix and suffix to whole words, and leave at least a word of each name.
  const auto word_begin = [&](std::size_t size) {
    const std::size_t at = size == 0 ? std::string::npos : names[0].find_last_of(kSeparators, size - 1);
    return at == std::string::npos ? 0 : at + 1;
  };
  prefix_size = word_begin(prefix_size);
  const std::size_t suffix_begin = names[0].find_first_of(kSeparators, names[0].size() - suffix_size);
  suffix_size = suffix_begin == std::string::npos ? 0 : names[0].size() - suffix_begin;
  const auto all_remain = [&] {
    return std::ranges::all_of(
        names, [&](const std::string& name) { return name.size() > prefix_size + suffix_size; });
  };
  // For net_fp32 and net_encoder_fp32, drop the common end and keep the beginning: "net" and "net_encoder".
  const std::size_t longest_prefix = prefix_size;
  if (!all_remain()) prefix_size = 0;
  if (!all_remain()) {
    prefix_size = longest_prefix;
    suffix_size = 0;
  }
  while (prefix_size > 0 && !all_remain()) prefix_size = word_begin(prefix_size - 1);
  const auto is_meaningless = [&](const std::string& name) {
    const std::string_view remainder =
        std::string_view(name).substr(prefix_size, name.size() - prefix_size - suffix_size);
    return remainder == "on" || remainder == "off" || std::ranges::all_of(remainder, IsDigit);
  };
  if (prefix_size > 0 && std::ranges::any_of(names, is_meaningless))
    prefix_size = word_begin(prefix_size - 1);
  distinct.shared = names[0].substr(0, prefix_size);
  for (std::string& name : distinct.names)
    name = name.substr(prefix_size, name.size() - prefix_size - suffix_size);
  return distinct;
}

std::vector<std::string> Words(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

std::vector<std::string_view> SplitAt(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::string ToHexadecimal(std::span<const std::byte> bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(2 * bytes.size());
  for (const std::byte byte : bytes) {
    text += kDigits[std::to_integer<unsigned>(byte) >> 4U];
    text += kDigits[std::to_integer<unsigned>(byte) & 15U];
  }
  return text;
}

std::vector<std::byte> FromHexadecimal(std::string_view text) {
  std::vector<std::byte> bytes;
  bytes.reserve(text.size() / 2);
  for (; text.size() >= 2; text.remove_prefix(2)) {
    const auto value = AsNumber<std::uint8_t>(text.substr(0, 2), 16);
    if (!value) break;
    bytes.push_back(std::byte{*value});
  }
  return bytes;
}

}  // namespace etprof
