#include "isa/decoded.h"

namespace etprof::isa {
namespace {

// Bits high..low of a word, numbered as in the manual.
constexpr std::uint32_t Bits(std::uint32_t word, int high, int low) {
  return (word >> low) & ((1U << (high - low + 1)) - 1U);
}
constexpr bool Matches(std::uint32_t word, std::uint32_t mask, std::uint32_t value) {
  return (word & mask) == value;
}

constexpr DecodedWord kNoLevel{};  // an instruction without a level, or an invalid encoding
DecodedWord VectorInstruction(CodeLevel level) { return {.level = level, .is_vector = true}; }
// A NEON instruction, which works on a vector or on one element.
DecodedWord Neon(bool is_vector, CodeLevel level = CodeLevel::kNeon) { return {level, is_vector}; }

// C4.1, "Branches, Exception Generating and System instructions".
DecodedWord DecodeSystem(std::uint32_t w) {
  // MSR (immediate) to SVCR is SMSTART and SMSTOP. The others are MRS and MSR (register) of SVCR and
  // TPIDR2_EL0.
  const bool is_sme =
      IsStreamingModeSwitch(w) || Matches(w, 0xffdfffe0, 0xd51b4240) || Matches(w, 0xffdfffe0, 0xd51bd0a0);
  return is_sme ? VectorInstruction(CodeLevel::kSme) : kNoLevel;
}

// C4.1, "Loads and Stores".
DecodedWord DecodeLoadOrStore(std::uint32_t w) {
  if (Bits(w, 26, 26) == 0) return kNoLevel;
  if (Matches(w, 0xbe000000, 0x0c000000)) return Neon(true);                  // LD1 to ST4
  if (Bits(w, 29, 27) == 5) return Neon(Bits(w, 31, 30) == 2);                // LDP, STP of Q
  if (Matches(w, 0x3b000000, 0x18000000)) return Neon(Bits(w, 31, 30) == 2);  // LDR (literal) of Q
  return Neon(Bits(w, 31, 30) == 0 && Bits(w, 23, 23) == 1);                  // LDR, STR of Q
}

// Vector or scalar by element: bits 28..24 = x1111, bit 10 = 0.
DecodedWord DecodeByElement(std::uint32_t w, bool is_vector) {
  const std::uint32_t u = Bits(w, 29, 29), size = Bits(w, 23, 22), opcode = Bits(w, 15, 12);
  if (opcode == 14) return Neon(is_vector, CodeLevel::kNeonDotProduct);  // SDOT, UDOT
  if (opcode == 15 && u == 0)                                            // SUDOT, USDOT; BFDOT, BFMLAL
    return Neon(is_vector, size % 2 == 0 ? CodeLevel::kNeonI8mm : CodeLevel::kNeonBf16);
  if (u == 1 && (opcode == 13 || opcode == 15)) return Neon(is_vector);  // SQRDMLAH, SQRDMLSH
  const bool complex = u == 1 && is_vector && (opcode & 9) == 1 && size != 0;
  // FMLAL, FMLSL. With U = 0 MLAL has other opcodes, and with U = 1 there is no other instruction of this
  // size.
  const bool widening = size == 2 && (u == 0 ? opcode == 0 || opcode == 4 : opcode == 8 || opcode == 12);
  const bool half =
      complex ? size == 1 : widening || (size == 0 && (opcode == 1 || opcode == 5 || opcode == 9));
  return Neon(is_vector, half ? CodeLevel::kNeonFp16 : CodeLevel::kNeon);
}

// "Advanced SIMD three same extra": bit 21 = 0, bits 15 and 10 = 1.
DecodedWord DecodeThreeSameExtra(std::uint32_t w, bool is_vector) {
  const std::uint32_t size = Bits(w, 23, 22), opcode = Bits(w, 14, 11);
  if (opcode <= 1) return Neon(is_vector);  // SQRDMLAH, SQRDMLSH
  if (opcode == 2) return Neon(is_vector, CodeLevel::kNeonDotProduct);
  if (opcode <= 5) return Neon(is_vector, CodeLevel::kNeonI8mm);  // USDOT; SMMLA, UMMLA; USMMLA
  if ((opcode == 13 && size == 1) || opcode == 15)
    return Neon(is_vector, CodeLevel::kNeonBf16);  // BFMMLA; BFDOT, BFMLAL
  if (opcode < 8) return kNoLevel;
  return Neon(is_vector, size == 1 ? CodeLevel::kNeonFp16 : CodeLevel::kNeon);  // FCMLA, FCADD
}

// Shifts by immediate: bits 28..23 = x11110, bit 10 = 1. If immh is 0, the encoding is a modified immediate,
// which scalar code also uses to create constants.
DecodedWord DecodeImmediate(std::uint32_t w, bool is_vector) {
  if (Bits(w, 22, 19) == 0) return kNoLevel;
  const std::uint32_t opcode = Bits(w, 15, 11);
  const bool converts = opcode == 28 || opcode == 31;  // SCVTF, UCVTF, FCVTZS, FCVTZU, fixed point
  return Neon(is_vector, converts && Bits(w, 22, 20) == 1 ? CodeLevel::kNeonFp16 : CodeLevel::kNeon);
}

// C4.1, "Data processing -- scalar and SIMD": the groups of Advanced SIMD, vector (bit 28 = 0) and scalar.
DecodedWord DecodeSimd(std::uint32_t w) {
  const bool is_vector = Bits(w, 28, 28) == 0;
  if (Matches(w, 0xff000000, 0xce000000)) return Neon(true);  // EOR3, BCAX, SHA512, SM3, SM4
  if (Bits(w, 31, 31) == 1) return kNoLevel;
  if (Matches(w, 0xff3e0c00, 0x4e280800)) return Neon(true);  // AES
  if (Matches(w, 0xff208c00, 0x5e000000) || Matches(w, 0xff3e0c00, 0x5e280800))
    return Neon(true);  // SHA1, SHA256
  if (Bits(w, 24, 24) == 1) {
    if (Bits(w, 10, 10) == 0) return DecodeByElement(w, is_vector);
    return Bits(w, 23, 23) == 0 ? DecodeImmediate(w, is_vector) : kNoLevel;
  }
  const std::uint32_t u = Bits(w, 29, 29), size = Bits(w, 23, 22);
  if (Bits(w, 21, 21) == 0) {
    if (Matches(w, 0x00008400, 0x00008400)) return DecodeThreeSameExtra(w, is_vector);
    const bool half = Matches(w, 0x0060c400, 0x00400400);  // three same, FP16; else copy, permute, EXT, TBL
    return Neon(is_vector, half ? CodeLevel::kNeonFp16 : CodeLevel::kNeon);
  }
  if (Bits(w, 10, 10) == 1) {  // three same
    const std::uint32_t opcode = Bits(w, 15, 11);
    if (is_vector && size % 2 == 0 && opcode == (u == 0 ? 29 : 25))
      return Neon(true, CodeLevel::kNeonFp16);  // FMLAL
    return Neon(is_vector && opcode != 3);      // bitwise: also copies (ORR) and signs (BIT) of scalars
  }
  if (Bits(w, 11, 10) == 2) {
    const std::uint32_t opcode = Bits(w, 16, 12), group = Bits(w, 21, 17);
    if (group == 28) return Neon(is_vector, CodeLevel::kNeonFp16);  // two registers, FP16
    if (is_vector && group == 16 && u == 0 && size == 2 && opcode == 22)
      return Neon(true, CodeLevel::kNeonBf16);  // BFCVTN
    if (group == 24) {                          // across lanes; scalar: pairwise
      const bool half = u == 0 && (opcode == 12 || opcode == 13 || opcode == 15);
      return Neon(true, half ? CodeLevel::kNeonFp16 : CodeLevel::kNeon);
    }
  }
  return Neon(is_vector);
}

// Returns whether an SVE encoding was added by SVE2 (or 2.1), by its bits 31..24 and 23..22.
bool IsSve2(std::uint32_t w, std::uint32_t top, std::uint32_t size) {
  const bool bit21 = Bits(w, 21, 21) == 1;
  switch (top) {
    case 0x04:
      if (bit21)  // MUL, PMUL, SQDMULH (vectors); EOR3, BSL; XAR
        return Bits(w, 15, 13) == 3 || Bits(w, 15, 11) == 7 || Bits(w, 15, 10) == 13;
      // SQSHL to SQSHLU by immediate; below are ASR to ASRD
      return Matches(w, 0x0030e000, 0x00008000) && Bits(w, 19, 16) >= 6;
    case 0x05:  // TBL (two registers), TBX; EXT and SPLICE, constructive
      return Matches(w, 0xff20f800, 0x05202800) || Matches(w, 0xffe0e000, 0x05600000) ||
             Matches(w, 0xff3fe000, 0x052d8000);
    case 0x25:  // WHILEGE, WHILEGT, WHILEHI, WHILEHS; WHILERW, WHILEWR
      return bit21 && ((Bits(w, 15, 13) == 0 && Bits(w, 10, 10) == 0) || Bits(w, 15, 10) == 12);
    case 0x44: {  // all except SDOT, UDOT; USDOT, SUDOT
      const std::uint32_t opcode = Bits(w, 15, 10);
      return size < 2 || (opcode >> 1 != 0 && !(size == 2 && (bit21 ? opcode >> 1 == 3 : opcode == 30)));
    }
    case 0x45:
      return !Matches(w, 0x0020fc00, 0x00009800);  // all except SMMLA, UMMLA, USMMLA
    case 0x64: {
      const bool is_product =
          Matches(w, 0x00e0fc00, 0x00608000) || Matches(w, 0x00e0fc00, 0x00604000) ||  // BFDOT
          Matches(w, 0x00e0fc00, 0x0060e400) ||                                        // BFMMLA
          Matches(w, 0x00e0f800, 0x00e08000) || Matches(w, 0x00e0f000, 0x00e04000);    // BFMLAL
      const bool widening =
          bit21 && size == 2 && (Matches(w, 0x0000d800, 0x00008000) || Matches(w, 0x0000d000, 0x00004000));
      const bool pairwise = Matches(w, 0x0038e000, 0x00108000), narrows = Matches(w, 0x003ce000, 0x0008a000);
      return !is_product && !Matches(w, 0x00ffe000, 0x008aa000) &&
             (pairwise || narrows || widening);  // not BFCVTNT
    }
    case 0x65:
      return Matches(w, 0x00f9e000, 0x0018a000) || Matches(w, 0x00ffe000, 0x000aa000);  // FLOGB; FCVTX
    case 0x84:
    case 0x85:
      return Matches(w, 0x0060c000, 0x00008000);  // LDNT1 (vector)
    case 0xc4:
    case 0xc5:
      return Matches(w, 0x0060a000, 0x00008000);  // LDNT1 (vector)
    case 0xe4:
    case 0xe5:
      return Matches(w, 0x0020e000, 0x00002000);  // STNT1 (vector)
    default:
      return false;
  }
}

// Decodes SVE encodings. Some of them belong to SME and SME2.
DecodedWord DecodeSve(std::uint32_t w) {
  const std::uint32_t top = Bits(w, 31, 24), size = Bits(w, 23, 22);
  const bool is_predicate = top == 0x25 && Matches(w, 0x0020c000, 0x00204000);
  if (is_predicate && Bits(w, 4, 4) == 1)
    return VectorInstruction(CodeLevel::kSme2);  // predicates as counters, pairs of predicates
  if (Matches(w, 0xff3ff800, 0x25208000) && Bits(w, 9, 9) == 1)
    return VectorInstruction(CodeLevel::kSme2);             // CNTP of counter
  if (is_predicate ||                                       // PSEL
      Matches(w, 0xff20f800, 0x04205800) ||                 // ADDSVL, ADDSPL, RDSVL
      (Matches(w, 0xff3fe000, 0x052e8000) && size == 0) ||  // REVD
      (top == 0x44 && Matches(w, 0x0020f800, 0x0000c000)))  // SCLAMP, UCLAMP
    return VectorInstruction(CodeLevel::kSme);
  return VectorInstruction(IsSve2(w, top, size) ? CodeLevel::kSve2 : CodeLevel::kSve);
}

// SME encodings: bit 31 = 1, bits 28..25 = 0000. Encodings that are not in SME belong to SME2.
bool IsSme1(std::uint32_t w) {
  switch (Bits(w, 31, 24)) {
    case 0x80:
    case 0x81:
    case 0xa0:
    case 0xa1:
      // Bit 3 is set in the outer products that SME2 added; the other encodings are multi-vector loads and
      // stores.
      return IsOuterProduct(w) && Bits(w, 3, 3) == 0 && !Matches(w, 0xffe00000, 0x80a00000);
    case 0xc0:
      return Matches(w, 0xff3e0010, 0xc0000000) ||
             Matches(w, 0xff3e0200, 0xc0020000) ||  // MOVA of a tile's slice
             Matches(w, 0xffbe0010, 0xc0900000) ||
             Matches(w, 0xffffff00, 0xc0080000);  // ADDHA, ADDVA; ZERO {za}
    case 0xe0:
      return true;  // LD1, ST1 of a tile's slice
    case 0xe1:
      // LD1, ST1 of 128-bit elements; LDR, STR of ZA.
      return Bits(w, 23, 22) == 3 || Matches(w, 0xffdf9c10, 0xe1000000);
    default:
      return false;  // 0xc1: multi-vector
  }
}

}  // namespace

bool IsOuterProduct(std::uint32_t word) { return Matches(word, 0xde800000, 0x80800000); }
bool IsStreamingModeSwitch(std::uint32_t word) { return Matches(word, 0xfffff8ff, 0xd503407f); }

DecodedWord DecodeAarch64(std::uint32_t word) {
  const std::uint32_t group = Bits(word, 28, 25);
  if (group == 0 && Bits(word, 31, 31) == 1)
    return VectorInstruction(IsSme1(word) ? CodeLevel::kSme : CodeLevel::kSme2);
  if (group == 2) return DecodeSve(word);
  if ((group & 5) == 4) return DecodeLoadOrStore(word);
  if ((group & 7) == 7) {
    // Among scalar floating-point instructions, only BFCVT has a level.
    if (Bits(word, 30, 30) == 0 && Bits(word, 28, 28) == 1)
      return Matches(word, 0xfffffc00, 0x1e634000) ? Neon(false, CodeLevel::kNeonBf16) : kNoLevel;
    return DecodeSimd(word);
  }
  return (group & 14) == 10 && Matches(word, 0xff000000, 0xd5000000) ? DecodeSystem(word) : kNoLevel;
}

}  // namespace etprof::isa
