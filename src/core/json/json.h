#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace etprof {

// The deepest nesting of lists and objects that is read. Our own files nest less than 10 deep; nlohmann-json
// copies and writes by recursion, so that text of nothing but brackets would overflow the stack.
inline constexpr int kMostJsonNesting = 200;

// Whether `text` opens more than kMostJsonNesting lists and objects within each other before it ends or stops
// being JSON.
bool NestsTooDeep(std::string_view text, bool with_comments = false);

// Parses JSON that somebody else wrote. The value is discarded (is_discarded()) where `text` is not JSON or
// nests too deep.
nlohmann::json ParseJson(std::string_view text);

// `value` as text, indented by `indent` (-1: on one line). Bytes that are no UTF-8 become U+FFFD; what a
// terminal or a reader's eye obeys beyond what JSON escapes by itself (DEL, C1, bidirectional marks) is
// escaped as "\u202e", which is the same value to every parser.
std::string JsonText(const nlohmann::json& value, int indent = -1);
std::string JsonText(const nlohmann::ordered_json& value, int indent = -1);

// Python's json module writes NaN, Infinity and -Infinity, which JSON has not: `text` with null in their
// place.
std::string NullForNonFinite(std::string_view text);

}  // namespace etprof
