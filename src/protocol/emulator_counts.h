#pragma once

// The request by which etprof-runner in an emulator gets the current counts of the emulator's plugin. The
// runner executes kEmulatorRequest, which does nothing without the plugin, and then stores to an
// EmulatorCounts, so that the plugin learns its address. The first four instructions rotate a register by 128
// bits in total, which no compiler generates (Valgrind's requests begin with the same instructions:
// valgrind/valgrind.h).

#include <array>
#include <cstdint>

namespace etprof::protocol {

inline constexpr std::array<std::uint32_t, 5> kEmulatorRequest = {0x93cc0d8c,   // ror x12, x12, #3
                                                                  0x93cc358c,   // ror x12, x12, #13
                                                                  0x93cccd8c,   // ror x12, x12, #51
                                                                  0x93ccf58c,   // ror x12, x12, #61
                                                                  0xf900001f};  // str xzr, [x0]

// The first counter is the number of all instructions. Each instruction also counts in one of the following
// kinds. The last counter counts changes of PSTATE.SM and PSTATE.ZA (SMSTART, SMSTOP), which are of the kind
// "sme".
inline constexpr std::array<const char*, 10> kEmulatorCounters = {"instructions",
                                                                  "scalar_instructions",
                                                                  "neon_instructions",
                                                                  "dot_product_instructions",
                                                                  "i8mm_instructions",
                                                                  "bf16_instructions",
                                                                  "sve_instructions",
                                                                  "sme_instructions",
                                                                  "outer_product_instructions",
                                                                  "streaming_mode_switches"};

struct EmulatorCounts {
  static constexpr std::uint64_t kAnswer = 0x6574'7072'6f66'0001;

  std::uint64_t answer = 0;  // kAnswer if a plugin answered
  std::array<std::uint64_t, kEmulatorCounters.size()> counts = {};
};

}  // namespace etprof::protocol
