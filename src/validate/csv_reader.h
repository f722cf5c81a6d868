#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace etprof {

struct CsvProblem {
  std::uint64_t line = 1;  // counted from 1
  std::string problem;
};

// Reads RFC 4180 text with a header, lines ending in LF or CRLF, and calls `take` with the line where each
// record begins and its fields, the header first. Stops with a problem at the first spot that is no such
// text: a quote where none may be or that is not closed, a record with another number of fields than the
// header, a last line without its end. An empty text has no header.
std::optional<CsvProblem> ReadCsv(
    std::string_view text,
    const std::function<void(std::uint64_t line, const std::vector<std::string>& fields)>& take);

}  // namespace etprof
