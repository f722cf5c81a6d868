#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace etprof {

// The number of letters to insert, delete, replace or exchange with their neighbor to change one text into
// the other (optimal string alignment distance). O(a b) time.
inline std::size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t cost = a[i - 1] == b[j - 1] ? 0 : 1;
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + cost});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
      }
    }
  }
  return d[a.size()][b.size()];
}

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
