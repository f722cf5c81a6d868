#pragma once

#include <vector>

namespace etprof {

// A list of described views (core/describe.h), one of each of `values`, behind what all of them stand in:
// View{context..., value}. Views may refer to both.
template <typename View>
std::vector<View> ViewsOf(const auto& values, const auto&... context) {
  std::vector<View> views;
  views.reserve(values.size());
  for (const auto& value : values) views.push_back(View{context..., value});
  return views;
}

}  // namespace etprof
