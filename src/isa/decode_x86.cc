#include <capstone/capstone.h>

#include <algorithm>
#include <new>
#include <optional>

#include "isa/decoded.h"

namespace etprof::isa {
namespace {

// Mandatory prefixes as bit masks, in the order in which VEX and EVEX number them.
constexpr unsigned kNp = 1, k66 = 2, kF3 = 4, kF2 = 8, kAnyPp = 15;
constexpr unsigned kW0 = 1, kW1 = 2, kAnyW = 3;

// Opcodes first..last of a map with these prefixes and values of W have `level`. If `wide_only`, the rule
// applies to 256-bit vectors only. The first matching rule applies.
struct Rule {
  unsigned map, first, last, pp, w;
  CodeLevel level;
  bool wide_only = false;
};

// Source: SDM volume 2, pages of the VEX-encoded instructions. All other instructions are AVX.
constexpr Rule kVexRules[] = {
    {1, 0x41, 0x4b, kNp | k66, kAnyW, CodeLevel::kAvx512},  // masks: KAND to KXNOR, KADD, KUNPCK
    {1, 0x90, 0x93, kAnyPp, kAnyW, CodeLevel::kAvx512},     // KMOV
    {1, 0x98, 0x99, kNp | k66, kAnyW, CodeLevel::kAvx512},  // KORTEST, KTEST
    {3, 0x30, 0x33, k66, kAnyW, CodeLevel::kAvx512},        // KSHIFTR, KSHIFTL
    {1, 0x6e, 0x6f, k66 | kF3, kAnyW, CodeLevel::kAvx},
    {1, 0x60, 0x76, k66 | kF3 | kF2, kAnyW, CodeLevel::kAvx2, true},
    {1, 0xd6, 0xd6, k66, kAnyW, CodeLevel::kAvx},
    {1, 0xe6, 0xe7, kAnyPp, kAnyW, CodeLevel::kAvx},
    {1, 0xd1, 0xfe, k66, kAnyW, CodeLevel::kAvx2, true},
    {2, 0x00, 0x0b, k66, kAnyW, CodeLevel::kAvx2, true},
    {2, 0x13, 0x13, k66, kW0, CodeLevel::kF16c},
    {2, 0x16, 0x16, k66, kW0, CodeLevel::kAvx2},
    {2, 0x2c, 0x2f, k66, kW0, CodeLevel::kAvx},
    {2, 0x36, 0x36, k66, kW0, CodeLevel::kAvx2},
    {2, 0x45, 0x47, k66, kAnyW, CodeLevel::kAvx2},
    {2, 0x1c, 0x41, k66, kAnyW, CodeLevel::kAvx2, true},
    {2, 0x49, 0x4b, kAnyPp, kW0, CodeLevel::kAmx},
    {2, 0x50, 0x53, kAnyPp, kW0, CodeLevel::kAvxVnni},  // AVX-VNNI-INT8 as well
    {2, 0xd2, 0xd3, kNp | k66 | kF3, kW0, CodeLevel::kAvxVnni},
    {2, 0x58, 0x5a, k66, kW0, CodeLevel::kAvx2},
    {2, 0x5c, 0x5e, kAnyPp, kW0, CodeLevel::kAmx},
    {2, 0x72, 0x72, kF3, kW0, CodeLevel::kAvx2},  // AVX-NE-CONVERT
    {2, 0xb0, 0xb1, kAnyPp, kW0, CodeLevel::kAvx2},
    {2, 0x78, 0x79, k66, kW0, CodeLevel::kAvx2},
    {2, 0x8c, 0x8e, k66, kAnyW, CodeLevel::kAvx2},
    {2, 0x90, 0x93, k66, kAnyW, CodeLevel::kAvx2},
    {2, 0xb4, 0xb5, k66, kW1, CodeLevel::kAvx2},  // AVX-IFMA
    {2, 0x96, 0xbf, k66, kAnyW, CodeLevel::kFma3},
    {2, 0xdb, 0xdf, k66, kAnyW, CodeLevel::kAvx2, true},  // AES, VAES
    {2, 0xe0, 0xef, k66, kAnyW, CodeLevel::kScalar},      // CMPccXADD
    {2, 0xf2, 0xf7, kAnyPp, kAnyW, CodeLevel::kScalar},   // BMI1 and BMI2
    {3, 0x00, 0x02, k66, kAnyW, CodeLevel::kAvx2},
    {3, 0x0e, 0x0f, k66, kAnyW, CodeLevel::kAvx2, true},
    {3, 0x1d, 0x1d, k66, kW0, CodeLevel::kF16c},
    {3, 0x38, 0x39, k66, kW0, CodeLevel::kAvx2},
    {3, 0x42, 0x42, k66, kAnyW, CodeLevel::kAvx2, true},
    {3, 0x44, 0x44, k66, kAnyW, CodeLevel::kAvx2, true},  // PCLMULQDQ
    {3, 0x46, 0x46, k66, kW0, CodeLevel::kAvx2},
    {3, 0x4c, 0x4c, k66, kW0, CodeLevel::kAvx2, true},
    {3, 0xf0, 0xf0, kF2, kAnyW, CodeLevel::kScalar},  // RORX
};

// SDM volume 2: pages of the EVEX-encoded instructions. All other instructions are AVX-512.
constexpr Rule kEvexRules[] = {
    {2, 0x50, 0x53, k66, kW0, CodeLevel::kAvx512Vnni},
    {2, 0x52, 0x52, kF3, kW0, CodeLevel::kAvx512Bf16},
    {2, 0x72, 0x72, kF3 | kF2, kW0, CodeLevel::kAvx512Bf16},
    {2, 0x62, 0x63, k66, kAnyW, CodeLevel::kAvx512Vbmi},
    {2, 0x70, 0x73, k66, kAnyW, CodeLevel::kAvx512Vbmi},
    {2, 0x75, 0x75, k66, kW0, CodeLevel::kAvx512Vbmi},
    {2, 0x7d, 0x7d, k66, kW0, CodeLevel::kAvx512Vbmi},
    {2, 0x83, 0x83, k66, kW1, CodeLevel::kAvx512Vbmi},
    {2, 0x8d, 0x8d, k66, kW0, CodeLevel::kAvx512Vbmi},
    {3, 0x70, 0x73, k66, kAnyW, CodeLevel::kAvx512Vbmi},
    {3, 0x08, 0xc2, kNp | kF3, kW0, CodeLevel::kAvx512Fp16},
    {5, 0x10, 0x7e, kAnyPp, kAnyW, CodeLevel::kAvx512Fp16},
    {6, 0x13, 0xd7, kAnyPp, kW0, CodeLevel::kAvx512Fp16},
};

struct Encoding {
  unsigned map = 1;  // 1: 0F, 2: 0F38, 3: 0F3A, 5 and 6: FP16 (EVEX)
  unsigned opcode = 0;
  unsigned pp = 0;  // 0: none, 1: 66, 2: F3, 3: F2
  unsigned w = 0;
  bool wide = false;  // VEX: 256 bits
  unsigned modrm = 0;
  bool IsRegister() const { return modrm >> 6 == 3; }
};

CodeLevel FindLevel(std::span<const Rule> rules, const Encoding& e, CodeLevel default_level) {
  const auto found = std::ranges::find_if(rules, [&](const Rule& rule) {
    return rule.map == e.map && rule.first <= e.opcode && e.opcode <= rule.last &&
           (rule.pp >> e.pp & 1) != 0 && (rule.w >> e.w & 1) != 0;
  });
  return found == rules.end() || (found->wide_only && !e.wide) ? default_level : found->level;
}

// Returns whether a legacy SSE instruction works on one element, or scalar code uses it, too: copies of a
// register, and bitwise operations, which clear a register or change a sign.
bool IsUsedByScalarCode(const Encoding& e) {
  const unsigned op = e.opcode;
  const bool repeat = e.pp >= 2;  // F3 and F2 mark instructions on one element
  if (e.map == 3) return op == 0x0a || op == 0x0b || (op >= 0x14 && op <= 0x17) || (op >= 0x20 && op <= 0x22);
  if (e.map != 1) return false;
  if (op == 0x10 || op == 0x11 || op == 0x2a || op == 0x2c || op == 0x2d || (op >= 0x51 && op <= 0x53) ||
      (op >= 0x58 && op <= 0x5f && op != 0x5b) || op == 0xc2) {
    return repeat || ((op == 0x10 || op == 0x11) && e.IsRegister());
  }
  const bool moves = (!repeat && (op == 0x28 || op == 0x29)) || op == 0x6f || op == 0x7f;
  const bool bitwise = (op >= 0x54 && op <= 0x57) || op == 0xdb || op == 0xdf || op == 0xeb || op == 0xef;
  const bool moves_half = !repeat && (op == 0x12 || op == 0x13 || op == 0x16 || op == 0x17);
  return bitwise || moves_half || (moves && e.IsRegister()) || op == 0x2e || op == 0x2f || op == 0x6e ||
         op == 0x7e || op == 0xd6 || op == 0xc4 || op == 0xc5 || op == 0xae || op == 0x77;
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

struct Decoded {
  std::size_t length = 1;          // bytes to the next instruction
  std::optional<CodeLevel> level;  // absent: the bytes are not an instruction
};

// Decodes a VEX or EVEX instruction from the position of its opcode on. A truncated instruction takes all
// remaining bytes.
Decoded DecodeVector(const CodeReader& code, Encoding e, std::size_t at, std::span<const Rule> rules,
                     CodeLevel default_level) {
  e.opcode = code[at];
  const bool no_operands =
      default_level == CodeLevel::kAvx && e.map == 1 && e.opcode == 0x77;  // VZEROUPPER, VZEROALL
  e.modrm = no_operands ? 0xc0 : code[at + 1];
  const std::size_t length =
      at + 1 + (no_operands ? 0 : code.OperandLength(at + 1)) + (HasImmediate(e) ? 1 : 0);
  if (length > code.Size()) return {code.Size(), {}};
  // A broadcast from a register instead of memory needs AVX2.
  if (default_level == CodeLevel::kAvx && e.map == 2 && (e.opcode == 0x18 || e.opcode == 0x19) &&
      e.IsRegister())
    return {length, CodeLevel::kAvx2};
  return {length, FindLevel(rules, e, default_level)};
}

// Decodes a VEX instruction (SDM volume 2, 2.3.5).
Decoded DecodeVex(const CodeReader& code, std::size_t at) {
  const bool is_two_byte = code[at] == 0xc5;
  const unsigned last_prefix_byte = code[at + (is_two_byte ? 1 : 2)];
  Encoding e;
  e.map = is_two_byte ? 1 : code[at + 1] & 0x1f;
  e.w = is_two_byte ? 0 : last_prefix_byte >> 7;
  e.pp = last_prefix_byte & 3;
  e.wide = (last_prefix_byte & 4) != 0;
  if (e.map < 1 || e.map > 3) return {};
  return DecodeVector(code, e, at + (is_two_byte ? 2 : 3), kVexRules, CodeLevel::kAvx);
}

// Decodes an EVEX instruction (SDM volume 2, 2.7.1).
Decoded DecodeEvex(const CodeReader& code, std::size_t at) {
  const unsigned p0 = code[at + 1], p1 = code[at + 2];
  Encoding e;
  e.map = p0 & 7;
  e.w = p1 >> 7;
  e.pp = p1 & 3;
  const bool map_exists = e.map == 1 || e.map == 2 || e.map == 3 || e.map == 5 || e.map == 6;
  if ((p0 & 8) != 0 || (p1 & 4) == 0 || !map_exists) return {};
  return DecodeVector(code, e, at + 4, kEvexRules, CodeLevel::kAvx512);
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

// Returns whether a legacy SSE instruction works on vectors: maps 0F, 0F38, and 0F3A with prefix 66 or none,
// except MMX.
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
  if (IsUsedByScalarCode(e)) return false;
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
  if (!cs_disasm_iter(capstone.engine, &bytes, &size, &address, &instruction)) return {};
  Decoded result{instruction.size, IsLegacyVector(code) ? CodeLevel::kSse2 : CodeLevel::kScalar};
  const std::pair<unsigned, CodeLevel> groups[] = {{X86_GRP_SSE3, CodeLevel::kSse3},
                                                   {X86_GRP_SSSE3, CodeLevel::kSsse3},
                                                   {X86_GRP_SSE41, CodeLevel::kSse41},
                                                   {X86_GRP_SSE42, CodeLevel::kSse42}};
  for (const auto& [group, level] : groups) {
    if (cs_insn_group(capstone.engine, &instruction, group)) result.level = level;
  }
  return result;
}

}  // namespace

void DecodeX86(std::span<const std::byte> code, const std::function<void(CodeLevel)>& on_level) {
  CapstoneHandle capstone;
  while (!code.empty()) {
    const CodeReader reader(code.first(std::min<std::size_t>(code.size(), 15)));  // longest instruction
    // Segment and address-size prefixes may precede VEX and EVEX.
    std::size_t at = 0;
    while (IsPrefix(reader[at]) && reader[at] != 0x66 && reader[at] < 0xf0) ++at;
    const unsigned first = reader[at];
    const Decoded decoded =
        first == 0xc4 || first == 0xc5 ? DecodeVex(reader, at)
        : first == 0x62                ? DecodeEvex(reader, at)
                        : DecodeLegacy(reader, capstone, reinterpret_cast<const std::uint8_t*>(code.data()));
    if (decoded.level) on_level(*decoded.level);
    code = code.subspan(std::clamp<std::size_t>(decoded.length, 1, code.size()));
  }
}

}  // namespace etprof::isa
