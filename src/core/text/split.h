#pragma once

#include <string_view>
#include <vector>

namespace etprof {

// Splits a text at each separator. Parts may be empty, and n separators give n + 1 parts.
inline std::vector<std::string_view> SplitAt(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

}  // namespace etprof
