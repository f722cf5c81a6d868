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

namespace etprof {
namespace {

using nlohmann::json;
using Table = std::vector<std::vector<std::string>>;

constexpr std::size_t kMostShown = 60;  // bytes of a value

// The beginning of a value, whole characters of it.
std::string Short(std::string text) {
  if (text.size() <= kMostShown) return text;
  std::size_t end = kMostShown;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return text.substr(0, end) + "...";
}

std::string Short(const json& value) { return Short(JsonText(value)); }

std::string Key(const std::string& path, const std::string& name) {
  return path.empty() ? name : path + "." + name;
}

std::optional<std::string> Compare(const json& said, const json& made, const std::string& path) {
  if (said == made) return std::nullopt;
  if (said.is_object() && made.is_object()) {
    for (const auto& [name, value] : made.items()) {
      const auto other = said.find(name);
      if (other == said.end())
        return fmt::format("{} is not there, the data give {}", Key(path, name), Short(value));
      if (auto difference = Compare(*other, value, Key(path, name))) return difference;
    }
    for (const auto& [name, value] : said.items()) {
      if (!made.contains(name))
        return fmt::format("{} is {}, the data give no such key", Key(path, name), Short(value));
    }
  }
  if (said.is_array() && made.is_array()) {
    for (std::size_t i = 0; i < std::min(said.size(), made.size()); ++i) {
      if (auto difference = Compare(said[i], made[i], fmt::format("{}[{}]", path, i))) return difference;
    }
    return fmt::format("{} has {} entries, the data give {}", path, said.size(), made.size());
  }
  return fmt::format("{} is {}, the data give {}", path.empty() ? "the whole" : path, Short(said),
                     Short(made));
}

Table ReadTable(std::string_view text, const std::string& name) {
  Table table;
  CsvReader reader(text, name);
  std::vector<std::string_view> fields;
  while (reader.Next(fields)) table.emplace_back(fields.begin(), fields.end());
  return table;
}

std::string CompareTables(const Table& said, const Table& made) {
  for (std::size_t row = 0; row < std::min(said.size(), made.size()); ++row) {
    for (std::size_t column = 0; column < std::min(said[row].size(), made[row].size()); ++column) {
      if (said[row][column] == made[row][column]) continue;
      const std::string what =
          row == 0 ? fmt::format("the header's field {}", column + 1)
                   : fmt::format("row {} ({}), column {},", row, Short(made[row].front()),
                                 column < made[0].size() ? Short(made[0][column]) : std::string("?"));
      return fmt::format("{} is \"{}\", the data give \"{}\"", what, Short(said[row][column]),
                         Short(made[row][column]));
    }
    if (said[row].size() != made[row].size())
      return fmt::format("row {} has {} fields, the data give {}", row, said[row].size(), made[row].size());
  }
  if (said.size() != made.size())
    return fmt::format("has {} lines, the data give {}", said.size(), made.size());
  return "is laid out otherwise than etprof writes it";
}

// Line `number`, counted from 1; absent: the text has not so many.
std::optional<std::string_view> Line(std::string_view text, std::uint64_t number) {
  for (std::uint64_t i = 1; i < number; ++i) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) return std::nullopt;
    text.remove_prefix(end + 1);
  }
  if (text.empty()) return std::nullopt;
  return text.substr(0, text.find('\n'));
}

// Two lines from a little before where they part.
std::string CompareLines(std::string_view said, std::string_view made, std::uint64_t number) {
  const auto line_said = Line(said, number);
  const auto line_made = Line(made, number);
  if (!line_said) return fmt::format("ends before line {}: it is cut short", number);
  if (!line_made) return fmt::format("has more than the {} lines that the data give", number - 1);
  const auto parted =
      std::mismatch(line_said->begin(), line_said->end(), line_made->begin(), line_made->end());
  auto from = static_cast<std::size_t>(parted.first - line_said->begin());
  if (from == line_said->size() && line_said->size() < line_made->size() &&
      line_said->data() + line_said->size() == said.data() + said.size()) {
    return fmt::format("ends within line {}: it is cut short", number);
  }
  constexpr std::size_t kBefore = 20;
  from = from < kBefore ? 0 : from - kBefore;
  while (from > 0 && (static_cast<unsigned char>((*line_said)[from]) & 0xC0U) == 0x80U) --from;
  return fmt::format("line {} has \"{}\", the data give \"{}\"", number,
                     Short(std::string(line_said->substr(from))),
                     Short(std::string(line_made->substr(from))));
}

// Takes what is written and compares it with the expected bytes.
class Comparing : public std::streambuf {
 public:
  explicit Comparing(ByteView expected)
      : expected_(reinterpret_cast<const char*>(expected.data()), expected.size()) {}

  bool same() const { return !different_ && at_ == expected_.size(); }
  std::uint64_t line() const {
    return 1 + static_cast<std::uint64_t>(
                   std::count(expected_.begin(), expected_.begin() + static_cast<std::ptrdiff_t>(at_), '\n'));
  }

 protected:
  std::streamsize xsputn(const char* text, std::streamsize count) override {
    if (different_) return count;
    const std::string_view written(text, static_cast<std::size_t>(count));
    const std::string_view rest = expected_.substr(at_);
    const auto [end, other] = std::mismatch(written.begin(), written.end(), rest.begin(), rest.end());
    at_ += static_cast<std::size_t>(end - written.begin());
    different_ = end != written.end();
    return count;
  }
  int_type overflow(int_type c) override {
    if (traits_type::eq_int_type(c, traits_type::eof())) return 0;
    const char one = traits_type::to_char_type(c);
    xsputn(&one, 1);
    return c;
  }

 private:
  std::string_view expected_;
  std::size_t at_ = 0;  // up to here they are the same
  bool different_ = false;
};

}  // namespace

std::optional<std::uint64_t> FirstDifferentLine(const std::filesystem::path& file,
                                                const std::function<void(std::ostream&)>& render) {
  const MappedFile mapped = MappedFile::Open(file, kMostTable);
  Comparing buffer(mapped.bytes());
  std::ostream out(&buffer);
  render(out);
  if (buffer.same()) return std::nullopt;
  return buffer.line();
}

std::optional<std::string> DescribeDifference(const json& said, const json& made) {
  return Compare(said, made, "");
}

std::optional<std::string> DescribeDifference(const std::filesystem::path& file,
                                              const std::function<void(std::ostream&)>& render) {
  const auto line = FirstDifferentLine(file, render);
  if (!line) return std::nullopt;
  std::ostringstream out;
  render(out);
  const std::string made = out.str();
  const std::string said = ReadTextFile(file);
  if (file.extension() == ".json") {
    const json value = ParseJson(said);
    if (value.is_discarded()) return "is not JSON, or is cut short";
    return DescribeDifference(value, ParseJson(made));
  }
  if (file.extension() == ".csv") {
    try {
      return CompareTables(ReadTable(said, file.string()), ReadTable(made, file.string()));
    } catch (const Error& error) {
      return error.problem();
    }
  }
  return CompareLines(said, made, *line);
}

}  // namespace etprof
