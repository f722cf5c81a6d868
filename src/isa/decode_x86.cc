#include <capstone/capstone.h>

#include <algorithm>
#include <new>

#include "isa/decoded.h"

namespace etprof::isa {
namespace {

// Mandatory prefixes as bit masks, in the order in which VEX and EVEX number them.
constexpr unsigned kNp = 1, k66 = 2, kF3 = 4, kF2 = 8, kAnyPp = 15;
constexpr unsigned kW0 = 1, kW1 = 2, kAnyW = 3;

// Opcodes first..last of a map with these prefixes and values of W need `feature`. Vectors of 256 bits need
// `wide` instead if it is not empty. The first matching rule applies.
struct Rule {
  unsigned map, first, last, pp, w;
  std::string_view feature;
  std::string_view wide = {};
};

constexpr std::string_view kNone{};

// SDM volume 2: pages of the VEX-encoded instructions.
constexpr Rule kVex[] = {
    // Moves, floating-point arithmetic, conversions.
    {1, 0x10, 0x17, kAnyPp, kAnyW, "avx"},
    {1, 0x28, 0x2f, kAnyPp, kAnyW, "avx"},
    // Masks: KAND to KXNOR, KADD, KUNPCK, KMOV, KORTEST, KTEST.
    {1, 0x4a, 0x4a, kNp, kW0, "avx512dq"},
    {1, 0x99, 0x99, kNp, kW0, "avx512dq"},
    {1, 0x4b, 0x4b, k66, kW0, "avx512f"},
    {1, 0x4b, 0x4b, kNp, kAnyW, "avx512bw"},
    {1, 0x41, 0x4b, kNp, kW0, "avx512f"},
    {1, 0x41, 0x4b, k66, kW0, "avx512dq"},
    {1, 0x41, 0x4b, kNp | k66, kW1, "avx512bw"},
    {1, 0x90, 0x93, kNp, kW0, "avx512f"},
    {1, 0x90, 0x93, k66, kW0, "avx512dq"},
    {1, 0x90, 0x93, kNp | k66 | kF2, kAnyW, "avx512bw"},
    {1, 0x98, 0x99, kNp, kW0, "avx512f"},
    {1, 0x98, 0x99, k66, kW0, "avx512dq"},
    {1, 0x98, 0x99, kNp | k66, kW1, "avx512bw"},
    {3, 0x30, 0x30, k66, kW1, "avx512f"},
    {3, 0x32, 0x32, k66, kW1, "avx512f"},
    {3, 0x30, 0x30, k66, kW0, "avx512dq"},
    {3, 0x32, 0x32, k66, kW0, "avx512dq"},
    {3, 0x30, 0x33, k66, kAnyW, "avx512bw"},
    {1, 0x50, 0x5f, kAnyPp, kAnyW, "avx"},
    {1, 0x6e, 0x6f, k66 | kF3, kAnyW, "avx"},
    {1, 0x7e, 0x7f, k66 | kF3, kAnyW, "avx"},
    {1, 0x60, 0x76, k66 | kF3 | kF2, kAnyW, "avx", "avx2"},
    {1, 0x77, 0x77, kNp, kAnyW, "avx"},
    {1, 0x7c, 0x7d, k66 | kF2, kAnyW, "avx"},
    {1, 0xae, 0xae, kNp, kAnyW, "avx"},
    {1, 0xc2, 0xc6, kAnyPp, kAnyW, "avx"},
    {1, 0xd0, 0xd0, k66 | kF2, kAnyW, "avx"},
    {1, 0xd6, 0xd6, k66, kAnyW, "avx"},
    {1, 0xe6, 0xe7, k66 | kF3 | kF2, kAnyW, "avx"},
    {1, 0xf0, 0xf0, kF2, kAnyW, "avx"},
    {1, 0xd1, 0xfe, k66, kAnyW, "avx", "avx2"},
    // Map 0F38.
    {2, 0x0c, 0x0f, k66, kW0, "avx"},
    {2, 0x00, 0x0b, k66, kAnyW, "avx", "avx2"},
    {2, 0x13, 0x13, k66, kW0, "f16c"},
    {2, 0x16, 0x16, k66, kW0, "avx2"},
    {2, 0x17, 0x1a, k66, kAnyW, "avx"},
    {2, 0x2c, 0x2f, k66, kW0, "avx"},
    {2, 0x36, 0x36, k66, kW0, "avx2"},
    {2, 0x45, 0x47, k66, kAnyW, "avx2"},
    {2, 0x1c, 0x41, k66, kAnyW, "avx", "avx2"},
    {2, 0x49, 0x49, kNp | k66 | kF2, kW0, "amx_tile"},
    {2, 0x4b, 0x4b, k66 | kF3 | kF2, kW0, "amx_tile"},
    {2, 0x50, 0x53, k66, kW0, "avxvnni"},
    {2, 0x50, 0x51, kNp | kF3 | kF2, kW0, "avxvnniint8"},
    {2, 0xd2, 0xd3, kNp | k66 | kF3, kW0, "avxvnniint16"},
    {2, 0x58, 0x5a, k66, kW0, "avx2"},
    {2, 0x5c, 0x5c, kF3, kW0, "amx_bf16"},
    {2, 0x5c, 0x5c, kF2, kW0, "amx_fp16"},
    {2, 0x5e, 0x5e, kAnyPp, kW0, "amx_int8"},
    {2, 0x72, 0x72, kF3, kW0, "avxneconvert"},
    {2, 0xb0, 0xb0, kAnyPp, kW0, "avxneconvert"},
    {2, 0xb1, 0xb1, k66 | kF3, kW0, "avxneconvert"},
    {2, 0x78, 0x79, k66, kW0, "avx2"},
    {2, 0x8c, 0x8e, k66, kAnyW, "avx2"},
    {2, 0x90, 0x93, k66, kAnyW, "avx2"},
    {2, 0xb4, 0xb5, k66, kW1, "avx2"},  // AVX-IFMA
    {2, 0x96, 0xbf, k66, kAnyW, "fma3"},
    {2, 0xcf, 0xcf, k66, kW0, "gfni"},
    {2, 0xdb, 0xdf, k66, kAnyW, "avx", "avx2"},  // AES, VAES
    {2, 0xe0, 0xef, k66, kAnyW, kNone},          // CMPccXADD
    {2, 0xf2, 0xf7, kAnyPp, kAnyW, kNone},       // BMI1 and BMI2
    // Map 0F3A.
    {3, 0x00, 0x02, k66, kAnyW, "avx2"},
    {3, 0x04, 0x0d, k66, kAnyW, "avx"},
    {3, 0x0e, 0x0f, k66, kAnyW, "avx", "avx2"},
    {3, 0x14, 0x19, k66, kAnyW, "avx"},
    {3, 0x1d, 0x1d, k66, kW0, "f16c"},
    {3, 0x20, 0x22, k66, kAnyW, "avx"},
    {3, 0x38, 0x39, k66, kW0, "avx2"},
    {3, 0x40, 0x41, k66, kAnyW, "avx"},
    {3, 0x42, 0x42, k66, kAnyW, "avx", "avx2"},
    {3, 0x44, 0x44, k66, kAnyW, "avx", "avx2"},  // PCLMULQDQ
    {3, 0x46, 0x46, k66, kW0, "avx2"},
    {3, 0x4a, 0x4b, k66, kW0, "avx"},
    {3, 0x4c, 0x4c, k66, kW0, "avx", "avx2"},
    {3, 0x48, 0x49, k66, kAnyW, "avx"},  // AMD's XOP and FMA4, which current CPUs no longer have
    {3, 0x5c, 0x5f, k66, kAnyW, "avx"},
    {3, 0x60, 0x63, k66, kAnyW, "avx"},
    {3, 0x68, 0x6f, k66, kAnyW, "avx"},
    {3, 0x78, 0x7f, k66, kAnyW, "avx"},
    {3, 0xce, 0xcf, k66, kW1, "gfni"},
    {3, 0xdf, 0xdf, k66, kAnyW, "avx"},
    {3, 0xf0, 0xf0, kF2, kAnyW, kNone},  // RORX
};

// SDM volume 2: pages of the EVEX-encoded instructions. Vectors below 512 bits also need avx512vl, which does
// not depend on the opcode.
constexpr Rule kEvex[] = {
    {1, 0x54, 0x57, kNp | k66, kAnyW, "avx512dq"},  // floating-point AND to XOR
    {1, 0x10, 0x17, kAnyPp, kAnyW, "avx512f"},
    {1, 0x28, 0x2f, kAnyPp, kAnyW, "avx512f"},
    {1, 0x5b, 0x5b, kNp, kW1, "avx512dq"},  // VCVTQQ2PS
    {1, 0x51, 0x5f, kAnyPp, kAnyW, "avx512f"},
    {1, 0x62, 0x62, k66, kAnyW, "avx512f"},
    {1, 0x66, 0x66, k66, kAnyW, "avx512f"},
    {1, 0x6a, 0x6a, k66, kAnyW, "avx512f"},
    {1, 0x6c, 0x6e, k66, kAnyW, "avx512f"},
    {1, 0x6f, 0x6f, k66 | kF3, kAnyW, "avx512f"},
    {1, 0x6f, 0x6f, kF2, kAnyW, "avx512bw"},
    {1, 0x70, 0x70, k66, kW0, "avx512f"},
    {1, 0x70, 0x70, kF3 | kF2, kAnyW, "avx512bw"},
    {1, 0x72, 0x72, k66, kAnyW, "avx512f"},
    {1, 0x76, 0x76, k66, kW0, "avx512f"},
    {1, 0x60, 0x75, k66, kAnyW, "avx512bw"},  // DecodeEvex() handles 73, which has two widths
    {1, 0x78, 0x79, kNp | kF3 | kF2, kAnyW, "avx512f"},
    {1, 0x78, 0x7b, k66, kAnyW, "avx512dq"},
    {1, 0x7a, 0x7a, kF3 | kF2, kW0, "avx512f"},
    {1, 0x7a, 0x7a, kF3 | kF2, kW1, "avx512dq"},
    {1, 0x7b, 0x7b, kF3 | kF2, kAnyW, "avx512f"},
    {1, 0x7e, 0x7e, k66 | kF3, kAnyW, "avx512f"},
    {1, 0x7f, 0x7f, k66 | kF3, kAnyW, "avx512f"},
    {1, 0x7f, 0x7f, kF2, kAnyW, "avx512bw"},
    {1, 0xc2, 0xc2, kAnyPp, kAnyW, "avx512f"},
    {1, 0xc4, 0xc5, k66, kAnyW, "avx512bw"},
    {1, 0xc6, 0xc6, kNp | k66, kAnyW, "avx512f"},
    {1, 0xd2, 0xd4, k66, kAnyW, "avx512f"},
    {1, 0xd6, 0xd6, k66, kW1, "avx512f"},
    {1, 0xdb, 0xdb, k66, kAnyW, "avx512f"},
    {1, 0xdf, 0xdf, k66, kAnyW, "avx512f"},
    {1, 0xe2, 0xe2, k66, kAnyW, "avx512f"},
    {1, 0xe6, 0xe6, kF3, kW1, "avx512dq"},  // VCVTQQ2PD
    {1, 0xe6, 0xe6, k66 | kF3 | kF2, kAnyW, "avx512f"},
    {1, 0xe7, 0xe7, k66, kW0, "avx512f"},
    {1, 0xeb, 0xeb, k66, kAnyW, "avx512f"},
    {1, 0xef, 0xef, k66, kAnyW, "avx512f"},
    {1, 0xf2, 0xf4, k66, kAnyW, "avx512f"},
    {1, 0xfa, 0xfb, k66, kAnyW, "avx512f"},
    {1, 0xfe, 0xfe, k66, kW0, "avx512f"},
    {1, 0xd1, 0xfd, k66, kAnyW, "avx512bw"},
    // Map 0F38.
    {2, 0x00, 0x0b, k66, kAnyW, "avx512bw"},
    {2, 0x0c, 0x0d, k66, kAnyW, "avx512f"},
    {2, 0x10, 0x12, k66, kW1, "avx512bw"},
    {2, 0x10, 0x10, kF3, kW0, "avx512bw"},  // VPMOVUSWB
    {2, 0x11, 0x15, kF3, kW0, "avx512f"},
    {2, 0x13, 0x16, k66, kAnyW, "avx512f"},
    {2, 0x18, 0x18, k66, kW0, "avx512f"},
    {2, 0x19, 0x19, k66, kW0, "avx512dq"},
    {2, 0x1a, 0x1a, k66, kW1, "avx512dq"},
    {2, 0x1b, 0x1b, k66, kW0, "avx512dq"},
    {2, 0x19, 0x1b, k66, kAnyW, "avx512f"},
    {2, 0x1c, 0x1d, k66, kAnyW, "avx512bw"},
    {2, 0x1e, 0x1f, k66, kAnyW, "avx512f"},
    {2, 0x20, 0x20, k66 | kF3, kAnyW, "avx512bw"},
    {2, 0x26, 0x26, k66 | kF3, kAnyW, "avx512bw"},
    {2, 0x28, 0x29, kF3, kAnyW, "avx512bw"},  // VPMOVM2B to VPMOVW2M
    {2, 0x2a, 0x2a, kF3, kW1, "avx512cd"},    // VPBROADCASTMB2Q
    {2, 0x2b, 0x2b, k66, kW0, "avx512bw"},
    {2, 0x20, 0x2d, k66 | kF3, kAnyW, "avx512f"},
    {2, 0x30, 0x30, k66 | kF3, kAnyW, "avx512bw"},
    {2, 0x38, 0x39, kF3, kAnyW, "avx512dq"},  // VPMOVM2D to VPMOVQ2M
    {2, 0x3a, 0x3a, kF3, kW0, "avx512cd"},    // VPBROADCASTMW2D
    {2, 0x38, 0x38, k66, kAnyW, "avx512bw"},
    {2, 0x3a, 0x3a, k66, kAnyW, "avx512bw"},
    {2, 0x3c, 0x3c, k66, kAnyW, "avx512bw"},
    {2, 0x3e, 0x3e, k66, kAnyW, "avx512bw"},
    {2, 0x31, 0x35, kF3, kW0, "avx512f"},
    {2, 0x31, 0x3f, k66, kAnyW, "avx512f"},
    {2, 0x40, 0x40, k66, kW1, "avx512dq"},
    {2, 0x44, 0x44, k66, kAnyW, "avx512cd"},
    {2, 0x40, 0x4f, k66, kAnyW, "avx512f"},
    {2, 0x50, 0x53, k66, kW0, "avx512vnni"},
    {2, 0x52, 0x52, kF3, kW0, "avx512bf16"},
    {2, 0x72, 0x72, kF3 | kF2, kW0, "avx512bf16"},
    {2, 0x54, 0x54, k66, kAnyW, "avx512bitalg"},
    {2, 0x55, 0x55, k66, kAnyW, "avx512vpopcntdq"},
    {2, 0x59, 0x59, k66, kW0, "avx512dq"},
    {2, 0x5a, 0x5a, k66, kW1, "avx512dq"},
    {2, 0x5b, 0x5b, k66, kW0, "avx512dq"},
    {2, 0x58, 0x5b, k66, kAnyW, "avx512f"},
    {2, 0x62, 0x63, k66, kAnyW, "avx512vbmi2"},
    {2, 0x64, 0x65, k66, kAnyW, "avx512f"},
    {2, 0x66, 0x66, k66, kAnyW, "avx512bw"},
    {2, 0x68, 0x68, kF2, kAnyW, "avx512vp2intersect"},
    {2, 0x70, 0x73, k66, kAnyW, "avx512vbmi2"},
    {2, 0x75, 0x75, k66, kW0, "avx512vbmi"},
    {2, 0x7d, 0x7d, k66, kW0, "avx512vbmi"},
    {2, 0x83, 0x83, k66, kW1, "avx512vbmi"},
    {2, 0x8d, 0x8d, k66, kW0, "avx512vbmi"},
    {2, 0x75, 0x75, k66, kW1, "avx512bw"},
    {2, 0x78, 0x7b, k66, kW0, "avx512bw"},
    {2, 0x7d, 0x7d, k66, kW1, "avx512bw"},
    {2, 0x8d, 0x8d, k66, kW1, "avx512bw"},
    {2, 0x76, 0x7f, k66, kAnyW, "avx512f"},
    {2, 0x8f, 0x8f, k66, kW0, "avx512bitalg"},
    {2, 0x88, 0x8b, k66, kAnyW, "avx512f"},
    {2, 0xb4, 0xb5, k66, kW1, "avx512ifma"},
    {2, 0x90, 0xbf, k66, kAnyW, "avx512f"},
    {2, 0xc4, 0xc4, k66, kAnyW, "avx512cd"},
    {2, 0xcf, 0xcf, k66, kW0, "gfni"},
    {2, 0xdc, 0xdf, k66, kAnyW, "avx512f"},  // VAES
    // Map 0F3A.
    {3, 0x0f, 0x0f, k66, kAnyW, "avx512bw"},
    {3, 0x14, 0x15, k66, kAnyW, "avx512bw"},
    {3, 0x20, 0x20, k66, kAnyW, "avx512bw"},
    {3, 0x3e, 0x3f, k66, kAnyW, "avx512bw"},
    {3, 0x42, 0x42, k66, kW0, "avx512bw"},
    {3, 0x16, 0x16, k66, kAnyW, "avx512dq"},
    {3, 0x22, 0x22, k66, kAnyW, "avx512dq"},
    {3, 0x18, 0x19, k66, kW1, "avx512dq"},
    {3, 0x1a, 0x1b, k66, kW0, "avx512dq"},
    {3, 0x38, 0x39, k66, kW1, "avx512dq"},
    {3, 0x3a, 0x3b, k66, kW0, "avx512dq"},
    {3, 0x50, 0x51, k66, kAnyW, "avx512dq"},
    {3, 0x56, 0x57, k66, kAnyW, "avx512dq"},
    {3, 0x66, 0x67, k66, kAnyW, "avx512dq"},
    {3, 0x08, 0x08, kNp, kW0, "avx512fp16"},
    {3, 0x0a, 0x0a, kNp, kW0, "avx512fp16"},
    {3, 0x26, 0x27, kNp, kW0, "avx512fp16"},
    {3, 0x56, 0x57, kNp, kW0, "avx512fp16"},
    {3, 0x66, 0x67, kNp, kW0, "avx512fp16"},
    {3, 0xc2, 0xc2, kNp | kF3, kW0, "avx512fp16"},
    {3, 0x44, 0x44, k66, kAnyW, "avx512f"},  // VPCLMULQDQ
    {3, 0x70, 0x73, k66, kAnyW, "avx512vbmi2"},
    {3, 0xce, 0xcf, k66, kW1, "gfni"},
    {3, 0x00, 0x0b, k66, kAnyW, "avx512f"},
    {3, 0x17, 0x3b, k66, kAnyW, "avx512f"},
    {3, 0x43, 0x43, k66, kAnyW, "avx512f"},
    {3, 0x54, 0x55, k66, kAnyW, "avx512f"},
    // Maps 5 and 6: FP16.
    {5, 0x10, 0x11, kF3, kW0, "avx512fp16"},
    {5, 0x1d, 0x1d, kNp | k66, kW0, "avx512fp16"},
    {5, 0x2a, 0x2f, kNp | kF3, kAnyW, "avx512fp16"},
    {5, 0x51, 0x5f, kAnyPp, kAnyW, "avx512fp16"},
    {5, 0x6e, 0x6e, k66, kAnyW, "avx512fp16"},
    {5, 0x78, 0x7e, kAnyPp, kAnyW, "avx512fp16"},
    {6, 0x13, 0x13, kNp | k66, kW0, "avx512fp16"},
    {6, 0x2c, 0x2d, k66, kW0, "avx512fp16"},
    {6, 0x42, 0x43, k66, kW0, "avx512fp16"},
    {6, 0x4c, 0x4f, k66, kW0, "avx512fp16"},
    {6, 0x56, 0x57, kF3 | kF2, kW0, "avx512fp16"},
    {6, 0xd6, 0xd7, kF3 | kF2, kW0, "avx512fp16"},
    {6, 0x96, 0xbf, k66, kW0, "avx512fp16"},
};

struct Encoding {
  unsigned map = 1;  // 1: 0F, 2: 0F38, 3: 0F3A, 5 and 6: FP16 (EVEX)
  unsigned opcode = 0;
  unsigned pp = 0;  // 0: none, 1: 66, 2: F3, 3: F2
  unsigned w = 0;
  unsigned length = 0;  // 0: 128 bits, 1: 256, 2: 512
  unsigned modrm = 0;
  bool IsRegister() const { return modrm >> 6 == 3; }
};

const Rule* FindRule(std::span<const Rule> rules, const Encoding& e) {
  const auto found = std::ranges::find_if(rules, [&](const Rule& rule) {
    return rule.map == e.map && rule.first <= e.opcode && e.opcode <= rule.last &&
           (rule.pp >> e.pp & 1) != 0 && (rule.w >> e.w & 1) != 0;
  });
  return found == rules.end() ? nullptr : &*found;
}

// Whether the instruction works on one element or has a single size: in EVEX encoding it then needs no
// avx512vl.
bool IsScalar(const Encoding& e) {
  const unsigned op = e.opcode;
  const bool repeat = e.pp >= 2;  // F3, F2: one element, in maps 1 and 5
  switch (e.map) {
    case 1:
      if (op == 0x10 || op == 0x11 || op == 0x2a || op == 0x2c || op == 0x2d || op == 0x51 || op == 0x52 ||
          op == 0x53 || (op >= 0x58 && op <= 0x5f && op != 0x5b) || op == 0x78 || op == 0x79 || op == 0x7b ||
          op == 0xc2) {
        return repeat;
      }
      return op == 0x2e || op == 0x2f || op == 0x6e || op == 0x7e || op == 0xd6 || op == 0xc4 || op == 0xc5 ||
             op == 0xae || op == 0x77 ||
             (!repeat && (op == 0x12 || op == 0x13 || op == 0x16 || op == 0x17)) ||
             (op >= 0x41 && op <= 0x4b) || (op >= 0x90 && op <= 0x99);
    case 2:
    case 6:
      return ((op & 0xf) >= 9 && op % 2 == 1 && op >= 0x99 && op <= 0xbf) || op == 0x2d || op == 0x43 ||
             op == 0x4d || op == 0x4f || (e.map == 2 && op >= 0xe0) ||
             (e.map == 6 && (op == 0x57 || op == 0xd7 || (op == 0x13 && e.pp == 0)));
    case 3:
      return op == 0x0a || op == 0x0b || (op >= 0x14 && op <= 0x17) || (op >= 0x20 && op <= 0x22) ||
             op == 0x27 || op == 0x51 || op == 0x55 || op == 0x57 || op == 0x67 || op == 0xf0 ||
             (op == 0xc2 && e.pp == 2) || (op >= 0x30 && op <= 0x33);
    default:  // 5
      return op == 0x2e || op == 0x2f || op == 0x6e || op == 0x7e || (op == 0x1d && e.pp == 0) ||
             (repeat && op != 0x5b && op != 0x7a && op != 0x7d);
  }
}

// Register copies and bitwise operations, which clear a register or change a sign: scalar code uses them,
// too.
bool IsUsedByScalarCode(const Encoding& e) {
  if (e.map != 1) return false;
  const unsigned op = e.opcode;
  const bool moves =
      ((op == 0x10 || op == 0x11 || op == 0x28 || op == 0x29) && e.pp <= 1) || op == 0x6f || op == 0x7f;
  const bool bitwise = (op >= 0x54 && op <= 0x57) || op == 0xdb || op == 0xdf || op == 0xeb || op == 0xef;
  return bitwise || (moves && e.IsRegister());
}

class CodeReader {
 public:
  explicit CodeReader(std::span<const std::byte> code) : code_(code) {}
  std::size_t Size() const { return code_.size(); }
  unsigned operator[](std::size_t at) const {
    return at < code_.size() ? std::to_integer<unsigned>(code_[at]) : 0;
  }

  // The length of ModRM, SIB, and displacement (SDM volume 2, 2.1.3 and 2.1.5). EVEX scales an 8-bit
  // displacement, which does not change its length.
  std::size_t OperandLength(std::size_t at) const {
    const unsigned mod = (*this)[at] >> 6, rm = (*this)[at] & 7;
    if (mod == 3) return 1;
    const std::size_t sib = rm == 4 ? 1 : 0;
    const unsigned base = sib != 0 ? (*this)[at + 1] & 7 : rm;
    if (mod == 0) return 1 + sib + (base == 5 ? 4 : 0);
    return 1 + sib + (mod == 1 ? 1 : 4);
  }

 private:
  std::span<const std::byte> code_;
};

bool HasImmediate(const Encoding& e) {
  if (e.map == 3) return true;
  const unsigned op = e.opcode;
  return e.map == 1 && ((op >= 0x70 && op <= 0x73) || op == 0xc2 || (op >= 0xc4 && op <= 0xc6));
}

// Decodes a VEX or EVEX instruction from the position of its opcode on. A truncated instruction takes all
// remaining bytes.
Decoded DecodeVector(const CodeReader& code, Encoding e, std::size_t at, std::span<const Rule> rules) {
  e.opcode = code[at];
  const bool no_operands = rules.data() == kVex && e.map == 1 && e.opcode == 0x77;  // VZEROUPPER, VZEROALL
  e.modrm = no_operands ? 0xc0 : code[at + 1];
  Decoded result;
  result.length = at + 1 + (no_operands ? 0 : code.OperandLength(at + 1)) + (HasImmediate(e) ? 1 : 0);
  if (result.length > code.Size()) {
    result.length = code.Size();
    return result;
  }
  const Rule* rule = FindRule(rules, e);
  if (rule == nullptr) return result;
  result.known = true;
  result.features[0] = e.length == 1 && !rule->wide.empty() ? rule->wide : rule->feature;
  result.vector = !IsScalar(e) && !IsUsedByScalarCode(e);
  return result;
}

// SDM volume 2, 2.3.5.
Decoded DecodeVex(const CodeReader& code, std::size_t at) {
  const bool is_two_byte = code[at] == 0xc5;
  const unsigned last = code[at + (is_two_byte ? 1 : 2)];
  Encoding e;
  e.map = is_two_byte ? 1 : code[at + 1] & 0x1f;
  e.w = is_two_byte ? 0 : last >> 7;
  e.pp = last & 3;
  e.length = last >> 2 & 1;
  if (e.map < 1 || e.map > 3) return {.length = 1};
  const std::size_t opcode = at + (is_two_byte ? 2 : 3);
  Decoded result = DecodeVector(code, e, opcode, kVex);
  e.opcode = code[opcode];
  e.modrm = code[opcode + 1];
  // A broadcast from a register instead of memory needs AVX2.
  if (result.known && e.map == 2 && (e.opcode == 0x18 || e.opcode == 0x19) && e.IsRegister()) {
    result.features[0] = "avx2";
  }
  if (result.features[0] == "gfni") result.features[1] = "avx";
  return result;
}

// SDM volume 2, 2.7.1.
Decoded DecodeEvex(const CodeReader& code, std::size_t at) {
  const unsigned p0 = code[at + 1], p1 = code[at + 2], p2 = code[at + 3];
  Encoding e;
  e.map = p0 & 7;
  e.w = p1 >> 7;
  e.pp = p1 & 3;
  e.length = p2 >> 5 & 3;
  const bool map_exists = e.map == 1 || e.map == 2 || e.map == 3 || e.map == 5 || e.map == 6;
  if ((p0 & 8) != 0 || (p1 & 4) == 0 || !map_exists) return {.length = 1};
  Decoded result = DecodeVector(code, e, at + 4, kEvex);
  if (!result.known) return result;
  e.opcode = code[at + 4];
  e.modrm = code[at + 5];
  const unsigned reg = e.modrm >> 3 & 7;
  if (e.map == 1 && e.opcode == 0x73 && (reg == 2 || reg == 6)) result.features[0] = "avx512f";
  if (IsScalar(e)) return result;
  // With a register operand, bit b means that the length bits are a rounding mode, and the length is 512
  // bits.
  const bool rounds = (p2 & 0x10) != 0 && e.IsRegister();
  if (e.length < 2 && !rounds) result.features[1] = "avx512vl";
  if (e.length >= 2 && result.features[0] == "gfni") result.features[1] = "avx512f";
  return result;
}

struct CapstoneHandle {
  CapstoneHandle() {
    // Opening fails only for lack of memory.
    if (cs_open(CS_ARCH_X86, CS_MODE_64, &engine) != CS_ERR_OK) throw std::bad_alloc();
    cs_option(engine, CS_OPT_DETAIL, CS_OPT_ON);
    instruction = cs_malloc(engine);
    if (instruction == nullptr) {
      cs_close(&engine);
      throw std::bad_alloc();
    }
  }
  CapstoneHandle(CapstoneHandle&&) = delete;
  ~CapstoneHandle() {
    cs_free(instruction, 1);
    cs_close(&engine);
  }
  csh engine = 0;
  cs_insn* instruction = nullptr;
};

bool IsPrefix(unsigned byte) {
  return byte == 0x66 || byte == 0xf2 || byte == 0xf3 || byte == 0xf0 || byte == 0x67 || byte == 0x2e ||
         byte == 0x36 || byte == 0x3e || byte == 0x26 || byte == 0x64 || byte == 0x65;
}

// Whether a legacy SSE instruction works on vectors: maps 0F, 0F38, and 0F3A with prefix 66 or none, except
// MMX.
bool IsLegacyVector(const CodeReader& code) {
  Encoding e;
  std::size_t at = 0;
  for (; IsPrefix(code[at]); ++at) {
    if (code[at] == 0x66 && e.pp == 0) e.pp = 1;
    if (code[at] == 0xf3) e.pp = 2;
    if (code[at] == 0xf2) e.pp = 3;
  }
  if (code[at] >> 4 == 4) ++at;  // REX
  if (code[at++] != 0x0f) return false;
  if (code[at] == 0x38 || code[at] == 0x3a) e.map = code[at++] == 0x38 ? 2 : 3;
  e.opcode = code[at];
  e.modrm = code[at + 1];
  const unsigned op = e.opcode;
  if (IsScalar(e) || IsUsedByScalarCode(e)) return false;
  if (e.map == 2)
    return (e.pp == 1 && (op <= 0x41 || op == 0xcf || (op >= 0xdb && op <= 0xdf))) ||
           (e.pp == 0 && op >= 0xc8 && op <= 0xcd);
  if (e.map == 3) return e.pp == 1 || op == 0xcc;
  if ((op >= 0x10 && op <= 0x17) || op == 0x28 || op == 0x29 || op == 0x2b) return true;
  if (op >= 0x50 && op <= 0x5f) return true;
  if (op == 0xc2 || op == 0xc6) return true;
  return e.pp != 0 && ((op >= 0x60 && op <= 0x76) || op == 0x7c || op == 0x7d || op == 0x7f || op >= 0xd0) &&
         op != 0xff;
}

Decoded DecodeLegacy(const CodeReader& code, CapstoneHandle& capstone, const std::uint8_t* bytes) {
  std::size_t size = code.Size();
  std::uint64_t address = 0;
  cs_insn& instruction = *capstone.instruction;
  if (!cs_disasm_iter(capstone.engine, &bytes, &size, &address, &instruction)) return {.length = 1};
  Decoded result{.length = instruction.size, .known = true};
  const std::pair<unsigned, std::string_view> groups[] = {
      {X86_GRP_SSE3, "sse3"}, {X86_GRP_SSSE3, "ssse3"}, {X86_GRP_SSE41, "sse4_1"}, {X86_GRP_SSE42, "sse4_2"}};
  for (const auto& [group, feature] : groups) {
    if (cs_insn_group(capstone.engine, &instruction, group)) result.features[0] = feature;
  }
  result.vector = IsLegacyVector(code);
  const bool zeros = instruction.size == 2 && code[0] == 0 && code[1] == 0;
  result.padding = instruction.id == X86_INS_NOP || instruction.id == X86_INS_INT3 || zeros;
  return result;
}

}  // namespace

void DecodeX86(std::span<const std::byte> code, const std::function<void(const Decoded&)>& each) {
  CapstoneHandle capstone;
  while (!code.empty()) {
    const CodeReader reader(code.first(std::min<std::size_t>(code.size(), 15)));  // longest: 15 bytes
    // Segment and address-size prefixes may precede VEX and EVEX.
    std::size_t at = 0;
    while (IsPrefix(reader[at]) && reader[at] != 0x66 && reader[at] < 0xf0) ++at;
    const unsigned first = reader[at];
    const Decoded decoded =
        first == 0xc4 || first == 0xc5 ? DecodeVex(reader, at)
        : first == 0x62                ? DecodeEvex(reader, at)
                        : DecodeLegacy(reader, capstone, reinterpret_cast<const std::uint8_t*>(code.data()));
    each(decoded);
    code = code.subspan(std::clamp<std::size_t>(decoded.length, 1, code.size()));
  }
}

}  // namespace etprof::isa
