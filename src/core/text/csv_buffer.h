#pragma once

#include <charconv>
#include <cstdint>
#include <cstring>
#include <memory>
#include <ostream>
#include <string_view>

#include "core/units.h"

namespace etprof {

// Writes rows of CSV to a stream through a large character buffer: an iostream insertion per cell would take
// longer than the analysis.
class CsvBuffer {
 public:
  explicit CsvBuffer(std::ostream& out) : out_(out), text_(new char[kSize]) {}
  ~CsvBuffer() { Flush(); }
  CsvBuffer(CsvBuffer&&) = delete;

  CsvBuffer& operator<<(std::string_view text) {
    if (text.size() > kSize - used_) Flush();
    if (text.size() > kSize) {
      out_.write(text.data(), static_cast<std::streamsize>(text.size()));
      return *this;
    }
    std::memcpy(text_.get() + used_, text.data(), text.size());
    used_ += text.size();
    return *this;
  }
  CsvBuffer& operator<<(char c) {
    MakeRoom();
    text_[used_++] = c;
    return *this;
  }
  CsvBuffer& Integer(std::int64_t value) {
    MakeRoom();
    return SetEnd(std::to_chars(text_.get() + used_, text_.get() + kSize, value).ptr);
  }
  // Replaces the comma after the last cell by a line end.
  void EndRow() { text_[used_ - 1] = '\n'; }
  // Writes value / 10^kDecimals exactly, without trailing zeros, or with all decimals if kAllDecimals.
  template <int kDecimals, bool kAllDecimals = false>
  CsvBuffer& Decimal(std::int64_t value) {
    MakeRoom();
    char* at = text_.get() + used_;
    if (value < 0) *at++ = '-';
    const std::uint64_t magnitude =
        value < 0 ? 0 - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
    const std::uint64_t whole = magnitude / Power(kDecimals);
    auto fraction = static_cast<std::uint32_t>(magnitude % Power(kDecimals));
    if (whole < 10) {
      *at++ = static_cast<char>('0' + whole);
    } else {
      at = std::to_chars(at, text_.get() + kSize, whole).ptr;
    }
    if (kAllDecimals || fraction != 0) {
      int decimals = kDecimals;
      while (!kAllDecimals && fraction % 10 == 0) {
        fraction /= 10;
        --decimals;
      }
      *at = '.';
      for (int i = decimals; i > 0; --i) {
        at[i] = static_cast<char>('0' + fraction % 10);
        fraction /= 10;
      }
      at += decimals + 1;
    }
    return SetEnd(at);
  }
  // Writes 100 part / whole with four decimals, rounded to nearest; nothing if whole is 0.
  CsvBuffer& Percent(Nanoseconds part, Nanoseconds whole) {
    if (whole <= 0) return *this;
    const double scaled = 1e6 * static_cast<double>(part) / static_cast<double>(whole);
    if (!(scaled > -1e15 && scaled < 1e15)) {
      MakeRoom();
      return SetEnd(
          std::to_chars(text_.get() + used_, text_.get() + kSize, scaled / 1e4, std::chars_format::fixed, 4)
              .ptr);
    }
    return Decimal<4, true>(static_cast<std::int64_t>(scaled < 0 ? scaled - 0.5 : scaled + 0.5));
  }
  void Flush() {
    out_.write(text_.get(), static_cast<std::streamsize>(used_));
    used_ = 0;
  }

 private:
  static constexpr std::size_t kSize = std::size_t{1} << 18;
  static constexpr std::size_t kMaxNumberBytes = 512;  // bytes of the longest double in fixed notation

  static constexpr std::uint64_t Power(int exponent) {
    std::uint64_t power = 1;
    for (int i = 0; i < exponent; ++i) power *= 10;
    return power;
  }
  // Sets the end of the buffer's text.
  CsvBuffer& SetEnd(const char* end) {
    used_ = static_cast<std::size_t>(end - text_.get());
    return *this;
  }
  void MakeRoom() {
    if (kSize - used_ < kMaxNumberBytes) Flush();
  }
  std::ostream& out_;
  std::unique_ptr<char[]> text_;
  std::size_t used_ = 0;
};

}  // namespace etprof
