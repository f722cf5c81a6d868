#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "isa/features.h"

// Which instructions a function's machine code uses: evidence for what ran, from bytes alone.
namespace etprof::isa {

struct CodeClass {
  // The highest level that the code needs, by the field's name for it.
  // x86-64, highest first: "AMX", "AVX-512 FP16", "AVX-512 BF16", "AVX-512 VNNI", "AVX-512 VBMI", "AVX-512",
  // "AVX-VNNI", "AVX2", "FMA3", "F16C", "AVX", "SSE4.2", "SSE4.1", "SSSE3", "SSE3", "SSE2", "scalar".
  // aarch64: "SME2", "SME", "SVE2", "SVE", "NEON BF16", "NEON i8mm", "NEON dot product", "NEON FP16", "NEON",
  // "scalar".
  // One instruction of a level is enough: XNNPACK runs no such code where a CPU lacks the level.
  std::string name;

  // A feature of Features(architecture) and how many instructions need it directly, in the order of that table.
  // WithNeeds() adds what those features need. Empty for code of the architecture's base.
  struct Use {
    std::string feature;
    std::size_t instructions = 0;
    bool operator==(const Use&) const = default;
  };
  std::vector<Use> features;

  std::size_t instructions = 0;  // decoded, padding after the end not counted
  std::size_t vector = 0;        // of these, work on more than one element: vectors, tiles
  std::size_t unknown = 0;       // that no rule decodes
};

// Total: any bytes of any length, also those of data between instructions or of half a function. Padding after
// the last instruction (nop, int3, zeros) is no instruction.
CodeClass ClassifyCode(std::span<const std::byte> code, Architecture architecture);

}  // namespace etprof::isa
