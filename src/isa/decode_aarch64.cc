#include "isa/decoded.h"

namespace etprof::isa {
namespace {

// Bits high..low of a word, numbered as in the manual.
constexpr std::uint32_t Bits(std::uint32_t word, int high, int low) {
  return (word >> low) & ((1U << (high - low + 1)) - 1U);
}
constexpr bool Is(std::uint32_t word, std::uint32_t mask, std::uint32_t value) {
  return (word & mask) == value;
}

Decoded Known(bool vector, std::string_view feature = {}, std::string_view second = {}) {
  return {.length = 4, .known = true, .vector = vector, .features = {feature, second}};
}
constexpr Decoded kUnknownWord{.length = 4};

// C4.1, "Branches, Exception Generating and System instructions".
Decoded DecodeSystem(std::uint32_t w) {
  // MSR (immediate) to SVCR is SMSTART and SMSTOP; MRS and MSR (register) of SVCR and TPIDR2_EL0.
  if (IsStreamingModeSwitch(w)) return Known(false, "sme");
  if (Is(w, 0xffdfffe0, 0xd51b4240) || Is(w, 0xffdfffe0, 0xd51bd0a0)) return Known(false, "sme");
  Decoded result = Known(false);
  result.padding = w == 0xd503201f;  // NOP
  return result;
}

// C4.1, "Loads and Stores".
Decoded DecodeLoadOrStore(std::uint32_t w) {
  if (Bits(w, 26, 26) == 0) {
    const bool compare_and_swap = Is(w, 0x3fa07c00, 0x08a07c00) || Is(w, 0xbfa07c00, 0x08207c00);
    // LDADD to SWP; with o3 = 1 only opc = 000 (SWP) belongs to FEAT_LSE.
    const bool memory = Is(w, 0x3f200c00, 0x38200000) && (Bits(w, 15, 15) == 0 || Bits(w, 14, 12) == 0);
    return Known(false, compare_and_swap || memory ? "atomics" : "");
  }
  if (Is(w, 0xbe000000, 0x0c000000)) return Known(true);                  // LD1 to ST4
  if (Bits(w, 29, 27) == 5) return Known(Bits(w, 31, 30) == 2);           // LDP, STP of Q
  if (Is(w, 0x3b000000, 0x18000000)) return Known(Bits(w, 31, 30) == 2);  // LDR (literal) of Q
  return Known(Bits(w, 31, 30) == 0 && Bits(w, 23, 23) == 1);             // LDR, STR of Q
}

// C4.1, "Data processing -- scalar floating-point": bit 30 = 0, bit 28 = 1.
Decoded DecodeScalarFloat(std::uint32_t w) {
  if (Is(w, 0xfffffc00, 0x1e7e0000)) return Known(false, "jscvt");
  if (Is(w, 0xfffffc00, 0x1e634000)) return Known(false, "bf16");  // BFCVT
  // FCVT between half and another precision is in the baseline; other operations on half precision are
  // FEAT_FP16.
  const bool converts = Is(w, 0xff3e7c00, 0x1e224000);
  return Known(false, Bits(w, 23, 22) == 3 && !converts ? "fp16" : "");
}

// Vector or scalar by element: bits 28..24 = x1111, bit 10 = 0.
Decoded DecodeByElement(std::uint32_t w, bool vector) {
  const std::uint32_t u = Bits(w, 29, 29), size = Bits(w, 23, 22), opcode = Bits(w, 15, 12);
  if (opcode == 14) return Known(vector, "dotprod");  // SDOT, UDOT
  if (opcode == 15 && u == 0)
    return Known(vector, size % 2 == 0 ? "i8mm" : "bf16");  // SUDOT, USDOT; BFDOT, BFMLAL
  if (u == 1 && (opcode == 13 || opcode == 15)) return Known(vector, "rdm");
  if (u == 1 && vector && (opcode & 9) == 1 && size != 0) return Known(true, "fcma", size == 1 ? "fp16" : "");
  if (size == 0 && (opcode == 1 || opcode == 5 || opcode == 9)) return Known(vector, "fp16");
  if (size == 2 && (u == 0 ? opcode == 0 || opcode == 4 : opcode == 8 || opcode == 12) && vector) {
    // FMLAL, FMLSL. With U = 0 MLAL has other opcodes, and with U = 1 there is no other instruction of this
    // size.
    return Known(true, "fhm");
  }
  return Known(vector);
}

// "Advanced SIMD three same extra": bit 21 = 0, bits 15 and 10 = 1.
Decoded DecodeThreeSameExtra(std::uint32_t w, bool vector) {
  const std::uint32_t size = Bits(w, 23, 22), opcode = Bits(w, 14, 11);
  if (opcode <= 1) return Known(vector, "rdm");
  if (opcode == 2) return Known(vector, "dotprod");
  if (opcode == 3 || opcode == 4 || opcode == 5) return Known(vector, "i8mm");  // USDOT; SMMLA, UMMLA; USMMLA
  if (opcode == 13 && size == 1) return Known(vector, "bf16");                  // BFMMLA
  if (opcode == 15) return Known(vector, "bf16");                               // BFDOT, BFMLAL
  if (opcode >= 8) return Known(vector, "fcma", size == 1 ? "fp16" : "");
  return kUnknownWord;
}

// Shifts by immediate, and the modified immediate where immh is 0: bits 28..23 = x11110, bit 10 = 1.
Decoded DecodeImmediate(std::uint32_t w, bool vector) {
  if (Bits(w, 22, 19) != 0) {
    const std::uint32_t opcode = Bits(w, 15, 11);
    const bool converts = opcode == 28 || opcode == 31;  // SCVTF, FCVTZS and the unsigned ones, fixed point
    return Known(vector, converts && Bits(w, 22, 20) == 1 ? "fp16" : "");
  }
  if (Bits(w, 15, 11) == 31) return Known(false, "fp16");  // FMOV of half precision
  return Known(false);                                     // scalar code also creates constants this way
}

// C4.1, "Data processing -- scalar and SIMD": the groups of Advanced SIMD, vector (bit 28 = 0) and scalar.
Decoded DecodeSimd(std::uint32_t w) {
  const bool vector = Bits(w, 28, 28) == 0;
  if (Is(w, 0xff000000, 0xce000000)) return Known(true);  // EOR3, BCAX, SHA512, SM3, SM4
  if (Bits(w, 31, 31) == 1) return kUnknownWord;
  if (Is(w, 0xff3e0c00, 0x4e280800)) return Known(true);                                   // AES
  if (Is(w, 0xff208c00, 0x5e000000) || Is(w, 0xff3e0c00, 0x5e280800)) return Known(true);  // SHA1, SHA256
  if (Bits(w, 24, 24) == 1) {
    if (Bits(w, 10, 10) == 0) return DecodeByElement(w, vector);
    return Bits(w, 23, 23) == 0 ? DecodeImmediate(w, vector) : kUnknownWord;
  }
  const std::uint32_t u = Bits(w, 29, 29), size = Bits(w, 23, 22);
  if (Bits(w, 21, 21) == 0) {
    if (Is(w, 0x00008400, 0x00008400)) return DecodeThreeSameExtra(w, vector);
    if (Is(w, 0x0060c400, 0x00400400)) return Known(vector, "fp16");  // three same, FP16
    return Known(vector);                                             // copy, permute, EXT, TBL
  }
  if (Bits(w, 10, 10) == 1) {  // three same
    const std::uint32_t opcode = Bits(w, 15, 11);
    if (vector && size % 2 == 0 && opcode == (u == 0 ? 29 : 25)) return Known(true, "fhm");
    return Known(vector && opcode != 3);  // bitwise: also copies (ORR) and signs (BIT) of scalars
  }
  if (Bits(w, 11, 10) == 2) {
    const std::uint32_t opcode = Bits(w, 16, 12);
    if (Bits(w, 21, 17) == 28) return Known(vector, "fp16");  // two registers, FP16
    if (vector && Bits(w, 21, 17) == 16 && u == 0 && size == 2 && opcode == 22)
      return Known(true, "bf16");  // BFCVTN
    if (Bits(w, 21, 17) == 24) {   // across lanes; scalar: pairwise
      return Known(true, u == 0 && (opcode == 12 || opcode == 13 || opcode == 15) ? "fp16" : "");
    }
  }
  return Known(vector);
}

// SVE encodings by bits 31..24. The other features are additions of SVE2 (and 2.1).
Decoded DecodeSve(std::uint32_t w) {
  const std::uint32_t top = Bits(w, 31, 24), size = Bits(w, 23, 22);
  const bool b21 = Bits(w, 21, 21) == 1;
  std::string_view feature = "sve", second;
  switch (top) {
    case 0x04:
      if (b21 && Bits(w, 15, 11) == 11) {
        feature = "sme";  // ADDSVL, ADDSPL, RDSVL
      } else if (b21 && (Bits(w, 15, 13) == 3 || Bits(w, 15, 11) == 7 || Bits(w, 15, 10) == 13)) {
        feature = "sve2";  // MUL, PMUL, SQDMULH (vectors); EOR3, BSL; XAR
      } else if (Is(w, 0x0030e000, 0x00008000) && Bits(w, 19, 16) >= 6) {
        feature = "sve2";  // SQSHL to SQSHLU by immediate; below are ASR to ASRD
      }
      break;
    case 0x05:
      if (Is(w, 0xff3fe000, 0x052e8000) && size == 0) {
        feature = "sme";  // REVD
      } else if (Is(w, 0xff20f800, 0x05202800) || Is(w, 0xffe0e000, 0x05600000) ||
                 Is(w, 0xff3fe000, 0x052d8000)) {
        feature = "sve2";  // TBL of two, TBX; EXT and SPLICE, constructive
      }
      break;
    case 0x25:
      if (b21 && Bits(w, 15, 14) == 1) {
        feature = Bits(w, 4, 4) == 0 ? "sme" : "sme2";  // PSEL; predicates as counters and pairs
      } else if (Is(w, 0xff3ff800, 0x25208000) && Bits(w, 9, 9) == 1) {
        feature = "sme2";  // CNTP (predicate as counter)
      } else if (b21 && ((Bits(w, 15, 13) == 0 && Bits(w, 10, 10) == 0) || Bits(w, 15, 10) == 12)) {
        feature = "sve2";  // WHILEGE, WHILEGT, WHILEHI, WHILEHS; WHILERW, WHILEWR
      }
      break;
    case 0x44: {
      const std::uint32_t opcode = Bits(w, 15, 10);
      if (!b21 && opcode >> 1 == 24) {
        feature = "sme";  // SCLAMP, UCLAMP
      } else if (size == 2 && (b21 ? opcode >> 1 == 3 : opcode == 30)) {
        second = "i8mm";  // USDOT, SUDOT
      } else if (opcode >> 1 != 0 || size < 2) {
        feature = "sve2";  // all except SDOT, UDOT
      }
      break;
    }
    case 0x45:
      if (Is(w, 0x0020fc00, 0x00009800)) {
        second = "i8mm";  // SMMLA, UMMLA, USMMLA
      } else {
        feature = "sve2";
      }
      break;
    case 0x64: {
      const bool pairwise = Is(w, 0x0038e000, 0x00108000);
      const bool narrows = Is(w, 0x003ce000, 0x0008a000);
      const bool widening =
          b21 && size == 2 && (Is(w, 0x0000d800, 0x00008000) || Is(w, 0x0000d000, 0x00004000));
      const bool products = Is(w, 0x00e0fc00, 0x00608000) || Is(w, 0x00e0fc00, 0x00604000) ||  // BFDOT
                            Is(w, 0x00e0fc00, 0x0060e400) ||                                   // BFMMLA
                            Is(w, 0x00e0f800, 0x00e08000) || Is(w, 0x00e0f000, 0x00e04000);    // BFMLAL
      if (products || Is(w, 0x00ffe000, 0x008aa000)) {                                         // BFCVTNT
        second = "bf16";
      } else if (pairwise || narrows || widening) {
        feature = "sve2";
      }
      break;
    }
    case 0x65:
      if (Is(w, 0x00f9e000, 0x0018a000) || Is(w, 0x00ffe000, 0x000aa000)) feature = "sve2";  // FLOGB; FCVTX
      if (Is(w, 0x00ffe000, 0x008aa000)) second = "bf16";                                    // BFCVT
      break;
    case 0x84:
    case 0x85:
      if (Is(w, 0x0060c000, 0x00008000)) feature = "sve2";  // LDNT1 (vector)
      break;
    case 0xc4:
    case 0xc5:
      if (Is(w, 0x0060a000, 0x00008000)) feature = "sve2";  // LDNT1 (vector)
      break;
    case 0xe4:
    case 0xe5:
      if (Is(w, 0x0020e000, 0x00002000)) feature = "sve2";  // STNT1 (vector)
      break;
    default:
      break;
  }
  return Known(true, feature, second);
}

// SME encodings: bit 31 = 1, bits 28..25 = 0000. Encodings that are not in SME belong to SME2.
Decoded DecodeSme(std::uint32_t w) {
  const std::uint32_t top = Bits(w, 31, 24);
  bool is_sme1 = false;
  switch (top) {
    case 0x80:
    case 0x81:
    case 0xa0:
    case 0xa1:
      // Bit 3 is set in the outer products that SME2 added; the other encodings are multi-vector loads and
      // stores.
      is_sme1 = IsOuterProduct(w) && Bits(w, 3, 3) == 0 && !Is(w, 0xffe00000, 0x80a00000);
      break;
    case 0xc0:
      is_sme1 = Is(w, 0xff3e0010, 0xc0000000) || Is(w, 0xff3e0200, 0xc0020000) ||  // MOVA of a tile's slice
                Is(w, 0xffbe0010, 0xc0900000) || Is(w, 0xffffff00, 0xc0080000);    // ADDHA, ADDVA; ZERO {za}
      break;
    case 0xe0:
      is_sme1 = true;  // LD1, ST1 of a tile's slice
      break;
    case 0xe1:
      // LD1, ST1 of 128-bit elements; LDR, STR of ZA.
      is_sme1 = Bits(w, 23, 22) == 3 || Is(w, 0xffdf9c10, 0xe1000000);
      break;
    default:
      break;  // 0xc1: multi-vector
  }
  return Known(true, is_sme1 ? "sme" : "sme2");
}

}  // namespace

bool IsOuterProduct(std::uint32_t word) { return Is(word, 0xde800000, 0x80800000); }
bool IsStreamingModeSwitch(std::uint32_t word) { return Is(word, 0xfffff8ff, 0xd503407f); }

Decoded DecodeAarch64(std::uint32_t word) {
  const std::uint32_t group = Bits(word, 28, 25);
  if (group == 0 && Bits(word, 31, 31) == 1) return DecodeSme(word);
  if (group == 0) {
    Decoded result = kUnknownWord;
    result.known = result.padding = Bits(word, 31, 16) == 0;  // UDF, which is also the encoding of zeros
    return result;
  }
  if (group == 2) return DecodeSve(word);
  if (group == 1 || group == 3) return kUnknownWord;
  if ((group & 5) == 4) return DecodeLoadOrStore(word);
  if ((group & 7) == 7) {
    if (Bits(word, 30, 30) == 0 && Bits(word, 28, 28) == 1) return DecodeScalarFloat(word);
    return DecodeSimd(word);
  }
  if ((group & 14) == 10 && Is(word, 0xff000000, 0xd5000000)) return DecodeSystem(word);
  return Known(false);
}

}  // namespace etprof::isa
