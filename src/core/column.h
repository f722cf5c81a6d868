#pragma once

#include <memory>
#include <utility>
#include <vector>

namespace etprof {

// std::allocator, but elements made without a value are left unset: a large column that is about to be
// filled, by several threads perhaps, is not filled with zeros first by one.
template <typename T>
struct UnsetAllocator : std::allocator<T> {
  template <typename U>
  struct rebind {
    using other = UnsetAllocator<U>;
  };
  template <typename U>
  void construct(U* place) noexcept {
    ::new (static_cast<void*>(place)) U;
  }
  template <typename U, typename... Arguments>
  void construct(U* place, Arguments&&... arguments) {
    ::new (static_cast<void*>(place)) U(std::forward<Arguments>(arguments)...);
  }
};

// A vector whose `resize(n)` leaves new elements unset.
template <typename T>
using Column = std::vector<T, UnsetAllocator<T>>;

}  // namespace etprof
