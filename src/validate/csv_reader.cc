#include "validate/csv_reader.h"

#include <fmt/format.h>

#include <algorithm>

namespace etprof {
namespace {

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  bool AtEnd() const { return at_ == text_.size(); }
  std::uint64_t line() const { return line_; }

  // One record into `fields`; false with a problem.
  bool ReadRecord(std::vector<std::string>& fields, std::string& problem) {
    fields.clear();
    while (true) {
      fields.emplace_back();
      if (!(Peek() == '"' ? ReadQuoted(fields.back(), problem) : ReadPlain(fields.back(), problem))) {
        return false;
      }
      if (Peek() == ',') {
        ++at_;
        continue;
      }
      if (Peek() == '\r' && at_ + 1 < text_.size() && text_[at_ + 1] == '\n') ++at_;
      if (Peek() == '\n') {
        ++at_;
        ++line_;
        return true;
      }
      problem = AtEnd() ? "the last line is cut short" : "something stands after a closing quote";
      return false;
    }
  }

 private:
  char Peek() const { return AtEnd() ? '\0' : text_[at_]; }

  bool ReadPlain(std::string& field, std::string& problem) {
    const std::size_t end = std::min(text_.find_first_of(",\r\n\"", at_), text_.size());
    field = text_.substr(at_, end - at_);
    at_ = end;
    if (Peek() != '"') return true;
    problem = "a quote stands inside a field that does not begin with one";
    return false;
  }

  bool ReadQuoted(std::string& field, std::string& problem) {
    ++at_;
    while (!AtEnd()) {
      const char c = text_[at_++];
      if (c == '"') {
        if (Peek() != '"') return true;
        ++at_;
      }
      if (c == '\n') ++line_;
      field += c;
    }
    problem = "a quote is not closed";
    return false;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::uint64_t line_ = 1;
};

}  // namespace

std::optional<CsvProblem> ReadCsv(
    std::string_view text,
    const std::function<void(std::uint64_t line, const std::vector<std::string>& fields)>& take) {
  if (text.empty()) return CsvProblem{1, "has no header"};
  Reader reader(text);
  std::vector<std::string> fields;
  std::string problem;
  std::size_t columns = 0;
  while (!reader.AtEnd()) {
    const std::uint64_t line = reader.line();
    if (!reader.ReadRecord(fields, problem)) return CsvProblem{line, problem};
    if (columns == 0) columns = fields.size();
    if (fields.size() != columns) {
      return CsvProblem{line, fmt::format("{} fields, the header has {}", fields.size(), columns)};
    }
    take(line, fields);
  }
  return std::nullopt;
}

}  // namespace etprof
