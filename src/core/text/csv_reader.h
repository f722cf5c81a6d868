#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace etprof {

// Reads RFC 4180 text record by record: quotes only around a whole field, doubled within it; lines end in LF
// or CRLF, the last one too; every record has as many fields as the first. A UTF-8 byte order mark is
// skipped. (Debian's libraries do not fit: libfccp wants the columns at compile time and no line breaks in
// fields, libcsv tells neither lines nor stray quotes.)
class CsvReader {
 public:
  // `text` must outlive the reader; `file_name` is for messages.
  CsvReader(std::string_view text, std::string file_name);

  // The next record; the views hold until the next call. False at the end. Throws Error (kBadInput) with the
  // line for what is no such CSV, or is cut.
  bool Next(std::vector<std::string_view>& fields);

  std::uint64_t line() const { return record_line_; }  // where the last record begins, counted from 1

 private:
  std::string_view QuotedField();
  std::string_view PlainField();

  std::string_view text_;
  std::string file_name_;
  std::size_t at_ = 0;
  std::uint64_t line_ = 1, record_line_ = 1;
  std::size_t columns_ = 0;            // of the first record; 0: not yet known
  std::deque<std::string> unescaped_;  // of this record
};

}  // namespace etprof
