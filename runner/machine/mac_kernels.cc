#include "machine/mac_kernels.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <string>

namespace etprof::runner {
namespace {

// Writes 2 and 3 in each format: IEEE 754 single and half, bfloat16 (the upper half of a single), integers.
template <typename T>
void Fill(MacOperands& operands, T two, T three) {
  for (std::size_t at = 0; at < 256; at += sizeof(T)) {
    std::memcpy(operands.bytes + at, &two, sizeof(T));
    std::memcpy(operands.bytes + 256 + at, &three, sizeof(T));
  }
}

double FromHalf(std::uint16_t bits) {
  const int exponent = bits >> 10 & 31;
  const int fraction = bits & 1023;
  const double magnitude =
      exponent == 31 ? HUGE_VAL
                     : std::ldexp(exponent == 0 ? fraction : fraction + 1024, std::max(exponent, 1) - 25);
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

template <typename T, typename Convert>
double Sum(const unsigned char* bytes, std::int64_t size, Convert convert) {
  double sum = 0;
  for (std::int64_t at = 0; at < size; at += static_cast<std::int64_t>(sizeof(T))) {
    T value{};
    std::memcpy(&value, bytes + at, sizeof(T));
    sum += convert(value);
  }
  return sum;
}

}  // namespace

std::vector<MacKernel> MacKernels(const isa::FeatureSet& enabled) {
  std::vector<MacKernel> kernels = AllMacKernels(enabled);
  std::erase_if(kernels, [&, baseline = kernels.front().level](const MacKernel& kernel) {
    return kernel.level != baseline && !enabled.contains(std::string(kernel.level));
  });
  return kernels;
}

MacOperands MakeOperands(const MacKernel& kernel) {
  MacOperands operands{};
  switch (kernel.operand) {
    case MacKernel::Operand::kF32:
      Fill(operands, 2.0F, 3.0F);
      break;
    case MacKernel::Operand::kF16:
      Fill<std::uint16_t>(operands, 0x4000, 0x4200);
      break;
    case MacKernel::Operand::kBf16:
      Fill<std::uint16_t>(operands, 0x4000, 0x4040);
      break;
    case MacKernel::Operand::kS8:
      Fill<std::int8_t>(operands, 2, 3);
      break;
    case MacKernel::Operand::kS16:
      Fill<std::int16_t>(operands, 2, 3);
      break;
  }
  return operands;
}

double SumAfter(const MacKernel& kernel, std::int64_t iterations) {
  const MacOperands operands = MakeOperands(kernel);
  const auto size = static_cast<std::size_t>(kernel.accumulator_bytes);
  const auto accumulators = std::make_unique<unsigned char[]>(size);
  kernel.run(iterations, operands.bytes, accumulators.get());
  switch (kernel.accumulator) {
    case MacKernel::Accumulator::kF32:
      return Sum<float>(accumulators.get(), kernel.accumulator_bytes,
                        [](float value) { return static_cast<double>(value); });
    case MacKernel::Accumulator::kF16:
      return Sum<std::uint16_t>(accumulators.get(), kernel.accumulator_bytes, FromHalf);
    case MacKernel::Accumulator::kS32:
      return Sum<std::int32_t>(accumulators.get(), kernel.accumulator_bytes,
                               [](std::int32_t value) { return static_cast<double>(value); });
  }
  return 0;
}

}  // namespace etprof::runner
