#pragma once

#include <span>
#include <string>
#include <string_view>

namespace etprof {

// The one of `known` that `text` was most likely meant to be: the nearest by Levenshtein distance (1966), at most a third of
// its letters (and at least one) away. Empty where none is near.
std::string Closest(std::string_view text, std::span<const std::string> known);

}  // namespace etprof
