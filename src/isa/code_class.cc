#include "isa/code_class.h"

#include <algorithm>
#include <map>
#include <utility>

#include "isa/decoded.h"

namespace etprof::isa {
namespace {

struct CodeLevel {
  std::string_view name;
  std::vector<std::string_view> features;  // an instruction that needs one of these is of this level
  bool by_vectors = false;                 // only vector instructions count, not scalar ones
};

// Highest first.
const std::vector<CodeLevel>& CodeLevels(Architecture architecture) {
  static const std::vector<CodeLevel> x86 = {
      {"AMX", {"amx_tile", "amx_int8", "amx_bf16", "amx_fp16"}},
      {"AVX-512 FP16", {"avx512fp16"}},
      {"AVX-512 BF16", {"avx512bf16"}},
      {"AVX-512 VNNI", {"avx512vnni"}},
      {"AVX-512 VBMI", {"avx512vbmi", "avx512vbmi2"}},
      {"AVX-512",
       {"avx512f", "avx512cd", "avx512dq", "avx512bw", "avx512vl", "avx512ifma", "avx512bitalg",
        "avx512vpopcntdq", "avx512vp2intersect"}},
      {"AVX-VNNI", {"avxvnni", "avxvnniint8", "avxvnniint16"}},
      {"AVX2", {"avx2", "avxneconvert"}},
      {"FMA3", {"fma3"}},
      {"F16C", {"f16c"}},
      {"AVX", {"avx"}},
      {"SSE4.2", {"sse4_2"}},
      {"SSE4.1", {"sse4_1"}},
      {"SSSE3", {"ssse3"}},
      {"SSE3", {"sse3"}},
      {"SSE2", {"", "gfni"}, true}};
  static const std::vector<CodeLevel> arm = {
      {"SME2", {"sme2", "sme2p1", "sme_i16i32", "sme_bi32i32", "sme_b16b16", "sme_f16f16"}},
      {"SME", {"sme"}},
      {"SVE2", {"sve2"}},
      {"SVE", {"sve"}},
      {"NEON BF16", {"bf16"}, true},
      {"NEON i8mm", {"i8mm"}, true},
      {"NEON dot product", {"dotprod"}, true},
      {"NEON FP16", {"fp16", "fhm"}, true},
      {"NEON", {"", "rdm", "fcma"}, true}};
  return architecture == Architecture::kAarch64 ? arm : x86;
}

struct UseCount {
  std::size_t all = 0;
  std::size_t vector = 0;
  void Add(bool is_vector) {
    ++all;
    vector += is_vector ? 1 : 0;
  }
};

void DecodeWords(std::span<const std::byte> code, const auto& each) {
  for (; code.size() >= 4; code = code.subspan(4)) {
    const auto byte = [&](std::size_t at) { return std::to_integer<std::uint32_t>(code[at]); };
    each(DecodeAarch64(byte(0) | byte(1) << 8 | byte(2) << 16 | byte(3) << 24));
  }
  if (!code.empty()) each(Decoded{.length = code.size()});
}

}  // namespace

CodeClass ClassifyCode(std::span<const std::byte> code, Architecture architecture) {
  CodeClass result;
  std::map<std::string_view, UseCount> uses;  // by feature; "" is the baseline
  std::size_t padding = 0;                    // padding instructions since the last other one
  bool previous_known = true;
  const auto add = [&](const Decoded& decoded) {
    if (!decoded.known) {
      if (previous_known || architecture == Architecture::kAarch64) ++result.unknown;
      previous_known = false;
      return;
    }
    previous_known = true;
    if (decoded.padding) {
      ++padding;
      return;
    }
    result.instructions += std::exchange(padding, 0) + 1;
    result.vector += decoded.vector ? 1 : 0;
    const auto& [first, second] = decoded.features;
    uses[first].Add(decoded.vector);
    if (!second.empty()) uses[second].Add(decoded.vector);
  };
  if (architecture == Architecture::kAarch64) {
    DecodeWords(code, add);
  } else {
    DecodeX86(code, add);
  }

  if (uses.contains("sme") || uses.contains("sme2")) {
    for (const std::string_view streaming : {"sve", "sve2"}) {
      if (const auto found = uses.find(streaming); found != uses.end()) {
        uses["sme"].all += found->second.all;
        uses.erase(found);
      }
    }
    uses.erase("i8mm");  // these are USDOT and SUDOT, which SME also has
  }

  for (const Feature& feature : Features(architecture)) {
    if (const auto found = uses.find(feature.name); found != uses.end()) {
      result.features.push_back({std::string(feature.name), found->second.all});
    }
  }
  result.name = "scalar";
  for (const CodeLevel& level : CodeLevels(architecture)) {
    const bool reached = std::ranges::any_of(level.features, [&](std::string_view feature) {
      const auto found = uses.find(feature);
      return found != uses.end() && (level.by_vectors ? found->second.vector : found->second.all) > 0;
    });
    if (reached) {
      result.name = level.name;
      break;
    }
  }
  return result;
}

int CodeRank(std::string_view name) {
  if (name == "scalar") return 0;
  for (const Architecture architecture : {Architecture::kX86_64, Architecture::kAarch64}) {
    const std::vector<CodeLevel>& levels = CodeLevels(architecture);
    const auto found = std::ranges::find(levels, name, &CodeLevel::name);
    if (found != levels.end()) return static_cast<int>(levels.end() - found);
  }
  return -1;
}

}  // namespace etprof::isa
