#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace etprof {

// The deepest nesting of lists and objects that etprof reads. Its own files nest less than 10 deep.
// nlohmann-json copies and writes recursively, so deeper nesting could overflow the stack.
inline constexpr int kMaxJsonNesting = 200;

// Returns whether `text` nests more than kMaxJsonNesting lists and objects before it ends or stops being
// valid JSON.
bool NestsTooDeep(std::string_view text, bool with_comments = false);

// Parses JSON from an untrusted source. The result is discarded (is_discarded()) if `text` is not JSON or
// nests too deep.
nlohmann::json ParseJson(std::string_view text);

// Serializes `value`, indented by `indent` (-1: on one line). Invalid UTF-8 becomes U+FFFD. Characters that
// JSON does not escape but terminals or readers obey (DEL, C1, bidirectional marks) are escaped as "\u202e",
// which every parser reads as the same value.
std::string JsonText(const nlohmann::json& value, int indent = -1);
std::string JsonText(const nlohmann::ordered_json& value, int indent = -1);

// Replaces NaN, Infinity and -Infinity in `text` by null: Python's json module writes them, but JSON does not
// have them.
std::string NullForNonFinite(std::string_view text);

}  // namespace etprof
