#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace etprof::fuzz {

// Decisions that bytes make, one after the other; zeros behind their end.
class Choices {
 public:
  Choices(const std::uint8_t* data, std::size_t size) : data_(data), size_(size) {}
  bool Done() const { return at_ >= size_; }
  // Big-endian.
  std::size_t Next(int bytes = 1) {
    std::size_t value = 0;
    for (; bytes > 0; --bytes) value = value << 8U | (Done() ? 0 : data_[at_++]);
    return value;
  }
  std::size_t Below(std::size_t count) { return Next() % count; }

 private:
  const std::uint8_t* data_;
  std::size_t size_, at_ = 0;
};

// The JSON text `valid` with some of its values replaced, removed, repeated, or moved, as the bytes say:
// bytes alone seldom stay JSON. Bytes that begin with '{' or '[' are returned as they are.
std::string MutatedJson(std::string_view valid, const std::uint8_t* data, std::size_t size);

}  // namespace etprof::fuzz
