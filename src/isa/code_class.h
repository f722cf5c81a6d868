#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "isa/features.h"

// Determines which instructions a function's machine code uses, as evidence for what ran. It is built for the
// host only, as the library etprof_code: the runner needs neither this nor Capstone.
//
// Sources of the rules: Intel SDM volume 2 (2.3 and 2.6: VEX and EVEX; chapters 3 to 5 and appendix A:
// opcodes and CPUID flags), Intel's Architecture Instruction Set Extensions reference (AMX, AVX-VNNI, FP16),
// and the Arm Architecture Reference Manual (DDI 0487), C4.1, with its SVE and SME encodings. Capstone
// decodes x86-64's legacy encodings. It cannot decode the other encodings: 4.0.2 (Debian 12) decodes neither
// SVE, SME, and Arm's dot products nor AVX-512 VNNI, BF16, FP16, AVX-VNNI, and AMX; 5.0.7 adds SVE2 and SME
// but not SME2, and names the features of no Arm instruction; neither knows AVX10.
// tests/devices/test_code_class.py compares the results with binutils.
namespace etprof::isa {

// The highest level that the code needs.
// x86-64, highest first: "AMX", "AVX-512 FP16", "AVX-512 BF16", "AVX-512 VNNI", "AVX-512 VBMI", "AVX-512",
// "AVX-VNNI", "AVX2", "FMA3", "F16C", "AVX", "SSE4.2", "SSE4.1", "SSSE3", "SSE3", "SSE2", "scalar".
// aarch64: "SME2", "SME", "SVE2", "SVE", "NEON BF16", "NEON i8mm", "NEON dot product", "NEON FP16", "NEON",
// "scalar".
// One instruction of a level is enough, because XNNPACK does not run such code on a CPU without the level.
// "scalar" means that there is no vector instruction and no instruction of a higher level. Scalar code in VEX
// encoding is "AVX". Instructions that scalar code also uses are not vector instructions: loads and stores of
// scalars (each prologue saves d8), copies of a register, constants, and bitwise operations (which clear a
// register or change a sign). Any bytes of any length are accepted, including data between instructions or
// half a function; bytes that are not an instruction have no level.
std::string_view ClassifyCode(std::span<const std::byte> code, Architecture architecture);

// The rank of a class among those of its architecture: a higher rank needs more CPU features. "scalar" is 0,
// an unknown name is -1.
int CodeRank(std::string_view name);

}  // namespace etprof::isa
