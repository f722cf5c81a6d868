#pragma once

#include <cstddef>
#include <new>
#include <type_traits>
#include <vector>

namespace etprof {

// Memory for a column. A large column is in huge pages, because the system maps each small page separately
// when it is first written. Throws std::bad_alloc. FreeColumn releases the memory; null is allowed.
void* AllocateColumn(std::size_t bytes);
void FreeColumn(void* memory) noexcept;

// An allocator for vectors that leave elements without an initial value uninitialized.
template <typename T>
struct ColumnAllocator {
  static_assert(std::is_trivially_copyable_v<T>);
  using value_type = T;

  ColumnAllocator() = default;
  template <typename U>
  ColumnAllocator(const ColumnAllocator<U>&) {}  // NOLINT: implicit, as the standard requires

  T* allocate(std::size_t count) { return static_cast<T*>(AllocateColumn(count * sizeof(T))); }
  void deallocate(T* memory, std::size_t) noexcept { FreeColumn(memory); }
  void construct(T* element) { ::new (element) T; }
  bool operator==(const ColumnAllocator&) const = default;
};

// A vector of numbers whose `resize` leaves new elements uninitialized, so that a large column that several
// threads are about to fill is not zeroed by one thread first.
template <typename T>
using Column = std::vector<T, ColumnAllocator<T>>;

}  // namespace etprof
