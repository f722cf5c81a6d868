#include "validate/difference.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <streambuf>
#include <string_view>
#include <vector>

#include "core/error.h"
#include "core/file/file.h"
#include "core/json/json.h"
#include "core/text/csv_reader.h"
#include "core/text/text.h"

namespace etprof {
namespace {

using nlohmann::json;
using Table = std::vector<std::vector<std::string>>;

std::string MemberPath(const std::string& path, const std::string& name) {
  return path.empty() ? name : path + "." + name;
}

std::optional<std::string> Compare(const json& stored, const json& expected, const std::string& path) {
  if (stored == expected) return std::nullopt;
  if (stored.is_object() && expected.is_object()) {
    for (const auto& [name, value] : expected.items()) {
      const auto other = stored.find(name);
      if (other == stored.end())
        return fmt::format("{} is not there, the data give {}", MemberPath(path, name),
                           Shorten(JsonText(value)));
      if (auto difference = Compare(*other, value, MemberPath(path, name))) return difference;
    }
    for (const auto& [name, value] : stored.items()) {
      if (!expected.contains(name))
        return fmt::format("{} is {}, the data give no such key", MemberPath(path, name),
                           Shorten(JsonText(value)));
    }
  }
  if (stored.is_array() && expected.is_array()) {
    for (std::size_t i = 0; i < std::min(stored.size(), expected.size()); ++i) {
      if (auto difference = Compare(stored[i], expected[i], fmt::format("{}[{}]", path, i)))
        return difference;
    }
    return fmt::format("{} has {} entries, the data give {}", path, stored.size(), expected.size());
  }
  return fmt::format("{} is {}, the data give {}", path.empty() ? "the whole" : path,
                     Shorten(JsonText(stored)), Shorten(JsonText(expected)));
}

Table ReadTable(std::string_view text, const std::string& name) {
  Table table;
  CsvReader reader(text, name);
  std::vector<std::string_view> fields;
  while (reader.Next(fields)) table.emplace_back(fields.begin(), fields.end());
  return table;
}

std::string CompareTables(const Table& stored, const Table& expected) {
  for (std::size_t row = 0; row < std::min(stored.size(), expected.size()); ++row) {
    for (std::size_t column = 0; column < std::min(stored[row].size(), expected[row].size()); ++column) {
      if (stored[row][column] == expected[row][column]) continue;
      const std::string location =
          row == 0
              ? fmt::format("the header's field {}", column + 1)
              : fmt::format("row {} ({}), column {},", row, Shorten(expected[row].front()),
                            column < expected[0].size() ? Shorten(expected[0][column]) : std::string("?"));
      return fmt::format("{} is \"{}\", the data give \"{}\"", location, Shorten(stored[row][column]),
                         Shorten(expected[row][column]));
    }
    if (stored[row].size() != expected[row].size())
      return fmt::format("row {} has {} fields, the data give {}", row, stored[row].size(),
                         expected[row].size());
  }
  if (stored.size() != expected.size())
    return fmt::format("has {} lines, the data give {}", stored.size(), expected.size());
  return "is laid out otherwise than etprof writes it";
}

// Returns line `number` (from 1); absent if the text has fewer lines.
std::optional<std::string_view> GetLine(std::string_view text, std::uint64_t number) {
  for (std::uint64_t i = 1; i < number; ++i) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) return std::nullopt;
    text.remove_prefix(end + 1);
  }
  if (text.empty()) return std::nullopt;
  return text.substr(0, text.find('\n'));
}

// Describes how line `number` differs: both lines, from shortly before their first difference.
std::string CompareLines(std::string_view stored, std::string_view expected, std::uint64_t number) {
  const auto stored_line = GetLine(stored, number);
  const auto expected_line = GetLine(expected, number);
  if (!stored_line) return fmt::format("ends before line {}: it is cut short", number);
  if (!expected_line) return fmt::format("has more than the {} lines that the data give", number - 1);
  const auto mismatch =
      std::mismatch(stored_line->begin(), stored_line->end(), expected_line->begin(), expected_line->end());
  auto from = static_cast<std::size_t>(mismatch.first - stored_line->begin());
  if (from == stored_line->size() && stored_line->size() < expected_line->size() &&
      stored_line->data() + stored_line->size() == stored.data() + stored.size()) {
    return fmt::format("ends within line {}: it is cut short", number);
  }
  constexpr std::size_t kContextBytes = 20;
  from = from < kContextBytes ? 0 : from - kContextBytes;
  while (from > 0 && (static_cast<unsigned char>((*stored_line)[from]) & 0xC0U) == 0x80U) --from;
  return fmt::format("line {} has \"{}\", the data give \"{}\"", number, Shorten(stored_line->substr(from)),
                     Shorten(expected_line->substr(from)));
}

// Compares the bytes that are written with the expected bytes.
class ComparingBuffer : public std::streambuf {
 public:
  explicit ComparingBuffer(ByteView expected)
      : expected_(reinterpret_cast<const char*>(expected.data()), expected.size()) {}

  bool IsEqual() const { return !different_ && offset_ == expected_.size(); }
  std::uint64_t line() const {
    return 1 + static_cast<std::uint64_t>(std::count(
                   expected_.begin(), expected_.begin() + static_cast<std::ptrdiff_t>(offset_), '\n'));
  }

 protected:
  std::streamsize xsputn(const char* text, std::streamsize count) override {
    if (different_) return count;
    const std::string_view written(text, static_cast<std::size_t>(count));
    const std::string_view remaining = expected_.substr(offset_);
    const auto [end, other] =
        std::mismatch(written.begin(), written.end(), remaining.begin(), remaining.end());
    offset_ += static_cast<std::size_t>(end - written.begin());
    different_ = end != written.end();
    return count;
  }
  int_type overflow(int_type c) override {
    if (traits_type::eq_int_type(c, traits_type::eof())) return 0;
    const char character = traits_type::to_char_type(c);
    xsputn(&character, 1);
    return c;
  }

 private:
  std::string_view expected_;
  std::size_t offset_ = 0;  // all bytes before this offset are equal
  bool different_ = false;
};

}  // namespace

std::optional<std::uint64_t> FirstDifferentLine(const std::filesystem::path& file,
                                                const std::function<void(std::ostream&)>& render) {
  const MappedFile mapped = MappedFile::Open(file, kMaxTableBytes);
  ComparingBuffer buffer(mapped.bytes());
  std::ostream out(&buffer);
  render(out);
  if (buffer.IsEqual()) return std::nullopt;
  return buffer.line();
}

std::optional<std::string> DescribeDifference(const json& stored, const json& expected) {
  return Compare(stored, expected, "");
}

std::optional<std::string> DescribeDifference(const std::filesystem::path& file,
                                              const std::function<void(std::ostream&)>& render) {
  const auto line = FirstDifferentLine(file, render);
  if (!line) return std::nullopt;
  std::ostringstream out;
  render(out);
  const std::string expected = out.str();
  const std::string stored = ReadTextFile(file);
  if (file.extension() == ".json") {
    const json value = ParseJson(stored);
    if (value.is_discarded()) return "is not JSON, or is cut short";
    return DescribeDifference(value, ParseJson(expected));
  }
  if (file.extension() == ".csv") {
    try {
      return CompareTables(ReadTable(stored, file.string()), ReadTable(expected, file.string()));
    } catch (const Error& error) {
      return error.problem();
    }
  }
  return CompareLines(stored, expected, *line);
}

}  // namespace etprof
