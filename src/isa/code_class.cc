#include "isa/code_class.h"

#include <algorithm>
#include <array>

#include "core/file/file.h"
#include "isa/decoded.h"

namespace etprof::isa {
namespace {

// Indexed by CodeLevel.
constexpr std::array<std::string_view, 26> kLevelNames = {
    "scalar",       "SSE2",         "SSE3", "SSSE3",    "SSE4.1",    "SSE4.2",           "AVX",
    "F16C",         "FMA3",         "AVX2", "AVX-VNNI", "AVX-512",   "AVX-512 VBMI",     "AVX-512 VNNI",
    "AVX-512 BF16", "AVX-512 FP16", "AMX",  "NEON",     "NEON FP16", "NEON dot product", "NEON i8mm",
    "NEON BF16",    "SVE",          "SVE2", "SME",      "SME2"};
static_assert(kLevelNames.size() == static_cast<std::size_t>(CodeLevel::kSme2) + 1);

CodeLevel FindHighestLevel(std::span<const std::byte> code) {
  CodeLevel highest = CodeLevel::kScalar;
  for (; code.size() >= 4; code = code.subspan(4)) {
    const DecodedWord decoded = DecodeAarch64(static_cast<std::uint32_t>(LittleEndian(code.first(4))));
    if (decoded.is_vector) highest = std::max(highest, decoded.level);
  }
  return highest;
}

}  // namespace

std::string_view ClassifyCode(std::span<const std::byte> code, Architecture architecture) {
  CodeLevel highest = CodeLevel::kScalar;
  if (architecture == Architecture::kAarch64) {
    highest = FindHighestLevel(code);
  } else {
    DecodeX86(code, [&](CodeLevel level) { highest = std::max(highest, level); });
  }
  return kLevelNames[static_cast<std::size_t>(highest)];
}

int CodeRank(std::string_view name) {
  const auto* const found = std::ranges::find(kLevelNames, name);
  return found == kLevelNames.end() ? -1 : static_cast<int>(found - kLevelNames.begin());
}

}  // namespace etprof::isa
