#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace etprof::fuzz {

// Turns the input's bytes into a sequence of decisions. After the end of the input, all values are 0.
class Choices {
 public:
  Choices(const std::uint8_t* data, std::size_t size) : data_(data), size_(size) {}
  bool Done() const { return position_ >= size_; }
  // The next `bytes` bytes as a big-endian number.
  std::size_t Next(int bytes = 1) {
    std::size_t value = 0;
    for (; bytes > 0; --bytes) value = value << 8U | (Done() ? 0 : data_[position_++]);
    return value;
  }
  std::size_t Below(std::size_t count) { return Next() % count; }

 private:
  const std::uint8_t* data_;
  std::size_t size_, position_ = 0;
};

// Replaces, removes, repeats, or moves values of the JSON text `valid`, as the bytes decide, since random
// bytes are seldom JSON. Bytes that begin with '{' or '[' are returned unchanged.
std::string MutateJson(std::string_view valid, const std::uint8_t* data, std::size_t size);

}  // namespace etprof::fuzz
