#pragma once

#include <cstddef>

#include "core/describe.h"

namespace etprof {

// The text that a table has for a value; "" where it has none.
template <typename E, std::size_t N>
constexpr const char* NameIn(const NamedValue<E> (&names)[N], E value) {
  for (const auto& [each, name] : names) {
    if (each == value) return name;
  }
  return "";
}

}  // namespace etprof
