#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <new>
#include <type_traits>
#include <utility>

namespace etprof {

// Memory for a column. A large column is in huge pages, because the system maps each small page separately
// when it is first written. Throws std::bad_alloc. FreeColumn releases the memory; null is allowed.
void* AllocateColumn(std::size_t bytes);
void FreeColumn(void* memory) noexcept;

// A vector of numbers like std::vector, except that `resize` leaves new elements uninitialized. A large
// column that several threads are about to fill is neither zeroed by one thread first nor destroyed element
// by element.
template <typename T>
class Column {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  Column() = default;
  Column(const Column& other) {
    resize(other.size_);
    std::copy(other.begin(), other.end(), data_);
  }
  Column(Column&& other) noexcept { swap(other); }
  Column& operator=(Column other) noexcept {
    swap(other);
    return *this;
  }
  ~Column() { FreeColumn(data_); }

  void swap(Column& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
  }
  void resize(std::size_t size) {
    if (size > capacity_) Reserve(size);
    size_ = size;
  }
  void push_back(T value) {
    if (size_ == capacity_) Reserve(std::max<std::size_t>(16, 2 * capacity_));
    data_[size_++] = value;
  }

  T* data() { return data_; }
  const T* data() const { return data_; }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  T& operator[](std::size_t i) { return data_[i]; }
  const T& operator[](std::size_t i) const { return data_[i]; }
  const T& back() const { return data_[size_ - 1]; }
  bool operator==(const Column& other) const {
    return std::equal(begin(), end(), other.begin(), other.end());
  }

 private:
  void Reserve(std::size_t capacity) {
    if (capacity > std::numeric_limits<std::size_t>::max() / sizeof(T)) throw std::bad_array_new_length();
    T* const data = static_cast<T*>(AllocateColumn(capacity * sizeof(T)));
    std::copy(begin(), end(), data);
    FreeColumn(std::exchange(data_, data));
    capacity_ = capacity;
  }

  T* data_ = nullptr;
  std::size_t size_ = 0, capacity_ = 0;
};

}  // namespace etprof
