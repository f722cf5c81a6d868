#include "core/json/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "core/text/escape.h"

namespace etprof {
namespace {

using nlohmann::json;

struct TooDeep {};

// Escapes unsafe characters in JSON. Outside of strings JSON is ASCII, so the whole text can be searched.
std::string EscapeUnsafe(std::string text) {
  std::string out;
  std::size_t from = 0;
  for (auto unsafe = FindUnsafeCharacter(text, 0); unsafe;
       unsafe = FindUnsafeCharacter(text, unsafe->offset + unsafe->length)) {
    // Keep line ends: they are part of the indentation, since JSON strings contain no raw line ends.
    if (!unsafe->code || *unsafe->code < 0x7f) continue;
    out.append(text, from, unsafe->offset - from);
    out += fmt::format("\\u{:04x}", static_cast<unsigned>(*unsafe->code));
    from = unsafe->offset + unsafe->length;
  }
  if (from == 0) return text;
  return out.append(text, from);
}

}  // namespace

std::string JsonText(const json& value, int indent) {
  return EscapeUnsafe(value.dump(indent, ' ', false, json::error_handler_t::replace));
}

std::string JsonText(const nlohmann::ordered_json& value, int indent) {
  return EscapeUnsafe(value.dump(indent, ' ', false, json::error_handler_t::replace));
}

bool NestsTooDeep(std::string_view text, bool with_comments) {
  const auto discard_value = [](int depth, json::parse_event_t event, const json&) {
    using Event = json::parse_event_t;
    if (depth >= kMaxJsonNesting && (event == Event::object_start || event == Event::array_start))
      throw TooDeep();
    return false;
  };
  try {
    const json discarded = json::parse(text, discard_value, /*allow_exceptions=*/false, with_comments);
    return false;
  } catch (const TooDeep&) {
    return true;
  }
}

json ParseJson(std::string_view text) {
  if (NestsTooDeep(text)) return json(json::value_t::discarded);
  return json::parse(text, nullptr, /*allow_exceptions=*/false);
}

std::string NullForNonFinite(std::string_view text) {
  static constexpr std::array<std::string_view, 3> kNonFiniteNumbers = {"-Infinity", "Infinity", "NaN"};
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    std::size_t length = 1;
    if (text[at] == '"') {
      // The string up to its closing quote. An escaped quote does not end it.
      while (at + length < text.size() && text[at + length] != '"')
        length += text[at + length] == '\\' ? 2U : 1U;
      ++length;
    } else if (const auto number = std::ranges::find_if(
                   kNonFiniteNumbers,
                   [&](std::string_view candidate) { return text.substr(at).starts_with(candidate); });
               number != kNonFiniteNumbers.end()) {
      out += "null";
      at += number->size();
      continue;
    }
    out += text.substr(at, length);
    at += length;
  }
  return out;
}

}  // namespace etprof
