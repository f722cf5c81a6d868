#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace etprof {

// Reads RFC 4180 text record by record. Quotes enclose a whole field and are doubled within it. An apostrophe
// that CsvField puts in front of a formula is removed. Every line ends in LF or CRLF, including the last one.
// Every record has as many fields as the first. A UTF-8 byte order mark is skipped. (Debian's libraries are
// unsuitable: libfccp needs the columns at compile time and allows no line breaks in fields; libcsv reports
// neither line numbers nor stray quotes.)
class CsvReader {
 public:
  // `text` must outlive the reader; `file_name` is used in messages.
  CsvReader(std::string_view text, std::string file_name);

  // Reads the next record. The views are valid until the next call. False at the end. Throws Error
  // (kBadInput) with the line number if the text is invalid or truncated.
  bool Next(std::vector<std::string_view>& fields);

  std::uint64_t line() const { return record_line_; }  // line number, from 1, where the last record begins

 private:
  [[noreturn]] void Fail(std::uint64_t line, const std::string& problem, const char* remedy) const;
  std::string_view QuotedField();
  std::string_view PlainField();

  std::string_view text_;
  std::string file_name_;
  std::size_t position_ = 0;
  std::uint64_t line_ = 1, record_line_ = 1;
  std::size_t columns_ = 0;            // fields of the first record; 0: not read yet
  std::deque<std::string> unescaped_;  // fields of the current record whose quotes were doubled
};

}  // namespace etprof
