#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace etprof {

// Removes blanks (space, tab, CR, newline) at both ends.
std::string_view Trimmed(std::string_view text);

// The last line that is not blank, without trailing blanks; empty if all lines are blank.
std::string LastLine(std::string_view text);

// The first `max_bytes` of a UTF-8 text, cut between characters and followed by "..."; a shorter text is
// unchanged. Messages quote values this way.
std::string Shorten(std::string_view text, std::size_t max_bytes = 60);

// Replaces each `from`, which is not empty, from left to right. Replacements are not searched again.
std::string ReplaceAll(std::string text, std::string_view from, std::string_view to);

// Converts A to Z to lower case; other bytes are unchanged.
std::string Lower(std::string_view text);

// Removes the number at the beginning of a text, and returns it. Parses with std::from_chars: no blanks, no
// "+". `format` is its base or format. Absent, and nothing is removed, if there is no number or it does not
// fit.
template <typename Number>
std::optional<Number> ConsumeNumber(std::string_view& text, auto... format) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, format...);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

// Parses a whole text as ConsumeNumber does. Absent if the text is not a number or the number does not fit.
template <typename Number>
std::optional<Number> AsNumber(std::string_view text, auto... format) {
  const std::optional<Number> value = ConsumeNumber<Number>(text, format...);
  return text.empty() ? value : std::nullopt;
}

// Parses the integer at the beginning of a text: 16384 for "16384 kB".
inline std::optional<std::int64_t> ParseLeadingInteger(std::string_view text) {
  return ConsumeNumber<std::int64_t>(text);
}

inline bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Appends `text` if the list does not contain it.
void AppendUnique(std::string text, std::vector<std::string>& list);

// Names without the words that they have in common at their beginning and end. A word ends at "_", "-"
// or ".".
struct DistinctNames {
  std::string shared;  // the common beginning with its separator: "toy_cnn."; empty: no common word
  std::vector<std::string> names;  // the remaining part of each name: "sme2_off", "sme2_on"
};
// Shortens the names. They stay unchanged if two are equal or there is only one. A word that is meaningless
// alone (on, off, a number) keeps the word before it.
DistinctNames DropCommonWords(const std::vector<std::string>& names);

// Splits a text at blanks; no part is empty.
std::vector<std::string> Words(const std::string& text);

// Splits a text at each separator. Parts may be empty, and n separators give n + 1 parts.
std::vector<std::string_view> SplitAt(std::string_view text, char separator);

// "0a1f": two lower-case digits per byte.
std::string ToHexadecimal(std::span<const std::byte> bytes);
// Parses hexadecimal text up to the first pair that is not two hexadecimal digits.
std::vector<std::byte> FromHexadecimal(std::string_view text);

}  // namespace etprof
