#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

// The level of an instruction, by which the class of a function is determined. Internal to code_class and to
// the plugin for QEMU.
namespace etprof::isa {

// The levels of each architecture are in ascending order.
enum class CodeLevel {
  kScalar,
  kSse2,
  kSse3,
  kSsse3,
  kSse41,
  kSse42,
  kAvx,
  kF16c,
  kFma3,
  kAvx2,
  kAvxVnni,
  kAvx512,
  kAvx512Vbmi,
  kAvx512Vnni,
  kAvx512Bf16,
  kAvx512Fp16,
  kAmx,
  kNeon,
  kNeonFp16,
  kNeonDotProduct,
  kNeonI8mm,
  kNeonBf16,
  kSve,
  kSve2,
  kSme,
  kSme2,
};

// Calls `on_level` with the level of every instruction of `code`, in order. SSE2 instructions on one element,
// and instructions that scalar code also uses, are kScalar.
void DecodeX86(std::span<const std::byte> code, const std::function<void(CodeLevel)>& on_level);

struct DecodedWord {
  CodeLevel level = CodeLevel::kScalar;
  bool is_vector = false;  // false: works on one element, or is also used by scalar code
};
DecodedWord DecodeAarch64(std::uint32_t word);
// True for SME's and SME2's outer products (FMOPA, BFMOPA, SMOPA, UMOPA, ...) and their subtracting forms.
bool IsOuterProduct(std::uint32_t word);
// True for SMSTART and SMSTOP.
bool IsStreamingModeSwitch(std::uint32_t word);

}  // namespace etprof::isa
