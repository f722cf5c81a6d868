#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "isa/features.h"

// Determines which instructions a function's machine code uses, as evidence for what ran. It is built for the
// host only, as the library etprof_code: the runner needs neither this nor Capstone.
//
// Sources of the rules: Intel SDM volume 2 (2.3 and 2.6: VEX and EVEX; chapters 3 to 5 and appendix A:
// opcodes and CPUID flags), Intel's Architecture Instruction Set Extensions reference (AMX, AVX-VNNI, FP16),
// and the Arm Architecture Reference Manual (DDI 0487), C4.1, with its SVE and SME encodings. Capstone
// decodes x86-64's legacy encodings. VEX and EVEX are decoded here, so that no version of Capstone changes a
// class. tests/devices/test_code_class.py compares the results with binutils.
namespace etprof::isa {

struct CodeClass {
  // The highest level that the code needs.
  // x86-64, highest first: "AMX", "AVX-512 FP16", "AVX-512 BF16", "AVX-512 VNNI", "AVX-512 VBMI", "AVX-512",
  // "AVX-VNNI", "AVX2", "FMA3", "F16C", "AVX", "SSE4.2", "SSE4.1", "SSSE3", "SSE3", "SSE2", "scalar".
  // aarch64: "SME2", "SME", "SVE2", "SVE", "NEON BF16", "NEON i8mm", "NEON dot product", "NEON FP16", "NEON",
  // "scalar".
  // One instruction of a level is enough, because XNNPACK does not run such code on a CPU without the level.
  // "scalar" means that there is no vector instruction and no feature that has a level. Scalar code in VEX
  // encoding is "AVX".
  std::string name;

  // A feature of Features(architecture) and the number of instructions that need it directly, in the order of
  // that table. WithDependencies() adds the features that those need. Empty for code that needs only the
  // baseline. Code with SME instructions runs its SVE instructions in streaming mode, which does not need
  // SVE, so they count as "sme".
  struct Use {
    std::string feature;
    std::size_t instructions = 0;
    bool operator==(const Use&) const = default;
  };
  std::vector<Use> features;

  std::size_t instructions = 0;  // decoded, without trailing padding
  // Instructions on vectors or tiles, including loads and stores of whole vector registers. Instructions that
  // scalar code also uses do not count: loads and stores of scalars (each prologue saves d8), copies of a
  // register, constants, and bitwise operations (which clear a register or change a sign).
  std::size_t vector = 0;
  std::size_t unknown = 0;  // sequences that no rule decodes
};

// Classifies any bytes of any length, including data between instructions or half a function. Padding (nop,
// int3, zeros) after the last instruction is not counted.
CodeClass ClassifyCode(std::span<const std::byte> code, Architecture architecture);

// The rank of a CodeClass's name among those of its architecture: a higher rank needs more CPU features.
// "scalar" is 0, an unknown name is -1.
int CodeRank(std::string_view name);

}  // namespace etprof::isa
