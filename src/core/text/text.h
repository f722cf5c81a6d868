#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace etprof {

// Without the blanks (space, tab, CR, newline) at both ends.
std::string_view Trimmed(std::string_view text);

// The last line that says something, without the blanks behind it; empty where none does.
std::string LastLine(std::string_view text);

// A to Z as a to z; everything else as it is.
std::string Lower(std::string_view text);

// The number that the whole text is, as std::from_chars reads it: no blanks, no "+". Absent: it is none, or
// not one that fits.
template <typename Number>
std::optional<Number> AsNumber(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// The integer that a text begins with, as std::from_chars reads it: 16384 of "16384 kB".
std::optional<std::int64_t> LeadingInteger(std::string_view text);

inline bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Adds a text that the list does not have yet.
void AddOnce(std::string text, std::vector<std::string>& list);

// Names without the words that all of them begin and end with; a word ends at "_", "-" or ".".
struct NamesApart {
  std::string shared;              // what they begin with, and its separator: "toy_cnn."; "" where nothing is
  std::vector<std::string> names;  // what is left of each: "sme2_off", "sme2_on"
};
// As they are where two are alike, or there is only one. A word that says nothing alone (on, off, a number)
// keeps the word before it.
NamesApart TellApart(const std::vector<std::string>& names);

// Split at blanks; none is empty.
std::vector<std::string> Words(const std::string& text);

}  // namespace etprof
