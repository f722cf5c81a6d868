#include "core/text/csv_reader.h"

#include <fmt/format.h>

#include "core/error.h"
#include "core/text/escape.h"
#include "core/units.h"

namespace etprof {

constexpr const char* kQuoteFields = "quote fields as RFC 4180 has it";

CsvReader::CsvReader(std::string_view text, std::string file_name)
    : text_(text), file_name_(std::move(file_name)) {
  if (text_.starts_with("\xef\xbb\xbf")) position_ = 3;
}

bool CsvReader::Next(std::vector<std::string_view>& fields) {
  fields.clear();
  unescaped_.clear();
  record_line_ = line_;
  if (position_ >= text_.size()) return false;
  while (true) {
    fields.push_back(UnescapeCsvFormula(position_ < text_.size() && text_[position_] == '"' ? QuotedField()
                                                                                            : PlainField()));
    if (position_ >= text_.size()) {
      Fail(line_, "the last line has no end: the file is cut",
           "write it again, or end it with a line break if it is complete");
    }
    const char c = text_[position_++];
    if (c == ',') continue;
    if (c == '\r' && position_ < text_.size() && text_[position_] == '\n') ++position_;
    ++line_;
    break;
  }
  if (columns_ == 0) columns_ = fields.size();
  if (fields.size() != columns_) {
    Fail(record_line_,
         fmt::format("has {}, the header has {}", CountedText(fields.size(), "field"), columns_),
         "give a CSV as etprof writes it");
  }
  return true;
}

void CsvReader::Fail(std::uint64_t line, const std::string& problem, const char* remedy) const {
  throw Error(ExitCode::kBadInput, problem).InFile(file_name_).AtLine(line).Remedy(remedy);
}

std::string_view CsvReader::PlainField() {
  const std::size_t start = position_;
  while (position_ < text_.size() && text_[position_] != ',' && text_[position_] != '\n' &&
         text_[position_] != '\r' && text_[position_] != '"') {
    ++position_;
  }
  const bool is_stray =
      position_ < text_.size() &&
      (text_[position_] == '"' ||
       (text_[position_] == '\r' && position_ + 1 < text_.size() && text_[position_ + 1] != '\n'));
  if (is_stray) {
    Fail(line_,
         text_[position_] == '"' ? "a quote in a field that does not begin with one"
                                 : "a carriage return without a line feed",
         kQuoteFields);
  }
  return text_.substr(start, position_ - start);
}

std::string_view CsvReader::QuotedField() {
  const std::uint64_t opening_line = line_;
  const std::size_t start = ++position_;
  bool has_doubled_quotes = false;
  while (position_ < text_.size()) {
    if (text_[position_] == '\n') ++line_;
    if (text_[position_] != '"') {
      ++position_;
      continue;
    }
    if (position_ + 1 >= text_.size() || text_[position_ + 1] != '"') break;
    has_doubled_quotes = true;
    position_ += 2;
  }
  if (position_ >= text_.size()) {
    Fail(opening_line, "a quoted field that begins here has no end", "the file is cut: write it again");
  }
  const std::string_view raw = text_.substr(start, position_ - start);
  ++position_;
  if (position_ < text_.size() && text_[position_] != ',' && text_[position_] != '\n' &&
      text_[position_] != '\r') {
    Fail(line_, "text after the closing quote of a field", kQuoteFields);
  }
  if (!has_doubled_quotes) return raw;
  std::string& text = unescaped_.emplace_back();
  for (std::size_t i = 0; i < raw.size(); ++i) {
    text += raw[i];
    if (raw[i] == '"') ++i;
  }
  return text;
}

}  // namespace etprof
