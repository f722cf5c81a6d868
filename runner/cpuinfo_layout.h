#pragma once

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
inline constexpr CpuinfoField kX86Fields[] = {{"sse3", 16},
                                              {"ssse3", 17},
                                              {"sse4_1", 18},
                                              {"sse4_2", 19},
                                              {"avx", 22},
                                              {"avxvnni", 23},
                                              {"fma3", 24},
                                              {"f16c", 27},
                                              {"avx2", 28},
                                              {"avx512f", 29},
                                              {"avx512cd", 32},
                                              {"avx512dq", 33},
                                              {"avx512bw", 34},
                                              {"avx512vl", 35},
                                              {"avx512ifma", 36},
                                              {"avx512vbmi", 37},
                                              {"avx512vbmi2", 38},
                                              {"avx512bitalg", 39},
                                              {"avx512vpopcntdq", 40},
                                              {"avx512vnni", 41},
                                              {"avx512bf16", 42},
                                              {"avx512fp16", 43},
                                              {"avx512vp2intersect", 44},
                                              {"avx10_1", 47},
                                              {"avx10_2", 48},
                                              {"amx_bf16", 49},
                                              {"amx_tile", 50},
                                              {"amx_int8", 51},
                                              {"amx_fp16", 52},
                                              {"avxvnniint8", 53},
                                              {"avxvnniint16", 54},
                                              {"avxneconvert", 55},
                                              {"gfni", 75}};

inline constexpr std::size_t kArmIsaSize = 32;
inline constexpr CpuinfoField kArmFields[] = {
    {"atomics", 0},     {"bf16", 1},        {"sve", 2},    {"sve2", 3},       {"i8mm", 4},
    {"sme", 5},         {"sme2", 6},        {"sme2p1", 7}, {"sme_i16i32", 8}, {"sme_bi32i32", 9},
    {"sme_b16b16", 10}, {"sme_f16f16", 11}, {"rdm", 20},   {"fp16", 21},      {"dotprod", 22},
    {"jscvt", 23},      {"fcma", 24},       {"fhm", 25}};

}  // namespace etprof::runner
