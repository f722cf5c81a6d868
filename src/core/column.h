#pragma once

#include <cstddef>
#include <limits>
#include <memory>
#include <new>
#include <utility>
#include <vector>

namespace etprof {

// Memory for a column, in the system's huge pages where it is large: of small ones each has to be asked for
// as it is first written. Throws std::bad_alloc. FreeColumn gives it back.
void* AllocateColumn(std::size_t bytes);
void FreeColumn(void* memory) noexcept;

// As std::allocator, but elements made without a value are left unset: a large column that is about to be
// filled, by several threads perhaps, is not filled with zeros first by one.
template <typename T>
struct UnsetAllocator : std::allocator<T> {
  template <typename U>
  struct rebind {
    using other = UnsetAllocator<U>;
  };
  T* allocate(std::size_t count) {
    if (count > std::numeric_limits<std::size_t>::max() / sizeof(T)) throw std::bad_array_new_length();
    return static_cast<T*>(AllocateColumn(count * sizeof(T)));
  }
  void deallocate(T* memory, std::size_t) noexcept { FreeColumn(memory); }
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
