#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <type_traits>
#include <vector>

namespace etprof {

// The results of `make`, a function or a pointer to a member, for each of `values`.
auto MapEach(const auto& values, const auto& make) {
  std::vector<std::decay_t<decltype(std::invoke(make, *std::begin(values)))>> list;
  list.reserve(values.size());
  for (const auto& value : values) list.push_back(std::invoke(make, value));
  return list;
}

// The values of a map in the order of its keys.
auto MapValues(const auto& map) {
  return MapEach(map, [](const auto& entry) { return entry.second; });
}

// The indices of the values for which `condition`, a function or a pointer to a member, is true.
std::vector<std::size_t> IndicesWhere(const auto& values, const auto& condition) {
  std::vector<std::size_t> indices;
  indices.reserve(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (std::invoke(condition, values[i])) indices.push_back(i);
  }
  return indices;
}

// A view is a described struct (core/json/describe.h) made from a value and from context that all views
// share: View{context..., value}. It may hold references to both.

template <typename View>
std::vector<View> MakeViews(const auto& values, const auto&... context) {
  return MapEach(values, [&](const auto& value) { return View{context..., value}; });
}

// Makes a view of each index below `count`.
template <typename View>
std::vector<View> MakeIndexViews(std::size_t count, const auto&... context) {
  std::vector<View> views;
  views.reserve(count);
  for (std::size_t i = 0; i < count; ++i) views.push_back(View{context..., i});
  return views;
}

// Makes a view of a value that may be missing: an optional or a pointer.
template <typename View>
std::optional<View> MakeOptionalView(const auto& value, const auto&... context) {
  return value ? std::optional<View>(View{context..., *value}) : std::nullopt;
}

}  // namespace etprof
