#include "machine/mac_kernels.h"

#include <cstring>
#include <memory>
#include <numeric>
#include <span>
#include <string>

#include "core/tensors/tensor_values.h"

namespace etprof::runner {
namespace {

// Writes 2 and 3 in each format: IEEE 754 single and half, bfloat16 (the upper half of a single), integers.
template <typename T>
void Fill(MacOperands& operands, T two, T three) {
  for (std::size_t offset = 0; offset < 256; offset += sizeof(T)) {
    std::memcpy(operands.bytes + offset, &two, sizeof(T));
    std::memcpy(operands.bytes + 256 + offset, &three, sizeof(T));
  }
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

double RunAndSum(const MacKernel& kernel, std::int64_t iterations) {
  const MacOperands operands = MakeOperands(kernel);
  const auto size = static_cast<std::size_t>(kernel.accumulator_bytes);
  const auto accumulators = std::make_unique<unsigned char[]>(size);
  kernel.run(iterations, operands.bytes, accumulators.get());
  const char* const dtype = kernel.accumulator == MacKernel::Accumulator::kF32   ? "F32"
                            : kernel.accumulator == MacKernel::Accumulator::kF16 ? "F16"
                                                                                 : "I32";
  const std::vector<double> numbers = ReadNumbers(dtype, std::as_bytes(std::span(accumulators.get(), size)));
  return std::accumulate(numbers.begin(), numbers.end(), 0.0);
}

}  // namespace etprof::runner
