#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

namespace etprof {

// The number of letters to insert, delete, replace or exchange with their neighbor to change one text into
// the other (optimal string alignment distance). O(a b) time.
std::size_t EditDistance(std::string_view a, std::string_view b);

// The string in `known` (a range of strings) that `text` was most likely meant to be: at most two edits away,
// or a third of its letters. Empty if no string is near.
template <typename Names>
std::string FindClosest(std::string_view text, const Names& known) {
  std::string best;
  if (text.size() > 100) return best;
  std::size_t best_distance = std::min(text.size(), std::max<std::size_t>(3, text.size() / 3 + 1));
  for (const auto& candidate : known) {
    const std::size_t distance = EditDistance(text, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

// A hint for an unknown name: `did you mean "threads"?`, or `fallback` if no known name is near.
template <typename Names>
std::string DidYouMean(std::string_view text, const Names& known, const std::string& fallback = "") {
  const std::string nearest = FindClosest(text, known);
  return nearest.empty() ? fallback : "did you mean \"" + nearest + "\"?";
}

}  // namespace etprof
