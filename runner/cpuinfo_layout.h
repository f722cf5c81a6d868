#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "isa/features.h"

// Offsets of features in cpuinfo's structures `cpuinfo_x86_isa` (64-bit) and `cpuinfo_arm_isa` (64-bit) of
// cpuinfo's include/cpuinfo.h, in the version that ExecuTorch 1.5 and PyTorch 2.13 pin. Every field is a bool
// of one byte. Only torch ships the header, and the runner must build without torch, so the offsets are
// written down here. cpuinfo_layout_test.cc compares them with the header if it is installed, and at run time
// isa_mask.cc checks the structure's size and the values of features that the CPU itself reports.
namespace etprof::runner {

struct CpuinfoField {
  std::string_view feature;  // isa/features.h
  std::size_t offset;        // bytes from the start of cpuinfo_isa
};

inline constexpr std::size_t kX86IsaSize = 85;
inline constexpr std::array kX86Fields = {
    CpuinfoField{"sse3", 16},
    CpuinfoField{"ssse3", 17},
    CpuinfoField{"sse4_1", 18},
    CpuinfoField{"sse4_2", 19},
    CpuinfoField{"avx", 22},
    CpuinfoField{"avxvnni", 23},
    CpuinfoField{"fma3", 24},
    CpuinfoField{"f16c", 27},
    CpuinfoField{"avx2", 28},
    CpuinfoField{"avx512f", 29},
    CpuinfoField{"avx512cd", 32},
    CpuinfoField{"avx512dq", 33},
    CpuinfoField{"avx512bw", 34},
    CpuinfoField{"avx512vl", 35},
    CpuinfoField{"avx512ifma", 36},
    CpuinfoField{"avx512vbmi", 37},
    CpuinfoField{"avx512vbmi2", 38},
    CpuinfoField{"avx512bitalg", 39},
    CpuinfoField{"avx512vpopcntdq", 40},
    CpuinfoField{"avx512vnni", 41},
    CpuinfoField{"avx512bf16", 42},
    CpuinfoField{"avx512fp16", 43},
    CpuinfoField{"avx512vp2intersect", 44},
    CpuinfoField{"avx10_1", 47},
    CpuinfoField{"avx10_2", 48},
    CpuinfoField{"amx_bf16", 49},
    CpuinfoField{"amx_tile", 50},
    CpuinfoField{"amx_int8", 51},
    CpuinfoField{"amx_fp16", 52},
    CpuinfoField{"avxvnniint8", 53},
    CpuinfoField{"avxvnniint16", 54},
    CpuinfoField{"avxneconvert", 55},
    CpuinfoField{"gfni", 75},
};

inline constexpr std::size_t kArmIsaSize = 32;
inline constexpr std::array kArmFields = {
    CpuinfoField{"atomics", 0},     CpuinfoField{"bf16", 1},        CpuinfoField{"sve", 2},
    CpuinfoField{"sve2", 3},        CpuinfoField{"i8mm", 4},        CpuinfoField{"sme", 5},
    CpuinfoField{"sme2", 6},        CpuinfoField{"sme2p1", 7},      CpuinfoField{"sme_i16i32", 8},
    CpuinfoField{"sme_bi32i32", 9}, CpuinfoField{"sme_b16b16", 10}, CpuinfoField{"sme_f16f16", 11},
    CpuinfoField{"rdm", 20},        CpuinfoField{"fp16", 21},       CpuinfoField{"dotprod", 22},
    CpuinfoField{"jscvt", 23},      CpuinfoField{"fcma", 24},       CpuinfoField{"fhm", 25},
};

}  // namespace etprof::runner
