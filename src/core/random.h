#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

namespace etprof {

// The same numbers on every platform, which those of <random>'s distributions and std::shuffle are not
// (SplitMix64; Steele, Lea & Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014).
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t Next() {
    state_ += 0x9e3779b97f4a7c15U;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31U);
  }

  double Uniform() { return static_cast<double>(Next() >> 11U) * 0x1p-53; }  // in [0, 1)

  // In [0, bound), by multiplication, not division; the bias of small bounds is below 2^-20.
  std::size_t Below(std::size_t bound) { return static_cast<std::size_t>((Next() >> 32U) * bound >> 32U); }

  // Normal with mean 0 and variance 1, nearly: the sum of twelve uniform numbers less 6. Without the C
  // library its last digits are the same everywhere.
  double Normal() {
    double sum = -6;
    for (int i = 0; i < 12; ++i) sum += Uniform();
    return sum;
  }

  template <typename T>
  void Shuffle(std::span<T> values) {
    for (std::size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[Below(i)]);
  }

 private:
  std::uint64_t state_;
};

}  // namespace etprof
