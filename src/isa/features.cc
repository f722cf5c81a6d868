#include "isa/features.h"

#include <algorithm>

#include "core/text/text.h"

namespace etprof::isa {
namespace {

// Sources: XNNPACK's src/configs/hardware-config.c (the features that it reads) and the compiler flags of its
// microkernels; Intel SDM volume 1, chapters 14 and 15; gcc's -m options (their implications).
const std::vector<Feature>& X86Features() {
  static const std::vector<Feature> features = {
      {"sse3", {"pni"}, {}},
      {"ssse3", {}, {"sse3"}},
      {"sse4_1", {"sse4.1", "sse41"}, {"ssse3"}},
      {"sse4_2", {"sse4.2", "sse42"}, {"sse4_1"}},
      {"avx", {}, {"sse4_2"}},
      {"f16c", {}, {"avx"}},
      {"fma3", {"fma"}, {"avx", "f16c"}},
      {"avx2", {}, {"avx", "f16c", "fma3"}},
      {"gfni", {}, {"sse3"}},
      {"avxvnni", {"avx_vnni"}, {"avx2"}},
      {"avxvnniint8", {"avx_vnni_int8"}, {"avx2"}},
      {"avxvnniint16", {"avx_vnni_int16"}, {"avx2"}},
      {"avxneconvert", {"avx_ne_convert"}, {"avx2"}},
      {"avx512f", {}, {"avx2"}},
      {"avx512cd", {}, {"avx512f"}},
      {"avx512dq", {}, {"avx512f"}},
      {"avx512bw", {}, {"avx512f"}},
      {"avx512vl", {}, {"avx512f"}},
      {"avx512ifma", {"avx512_ifma"}, {"avx512f"}},
      {"avx512vbmi", {"avx512_vbmi"}, {"avx512bw"}},
      {"avx512vbmi2", {"avx512_vbmi2"}, {"avx512bw"}},
      {"avx512bitalg", {"avx512_bitalg"}, {"avx512bw"}},
      {"avx512vpopcntdq", {"avx512_vpopcntdq"}, {"avx512f"}},
      {"avx512vnni", {"avx512_vnni"}, {"avx512f"}},
      {"avx512bf16", {"avx512_bf16"}, {"avx512bw"}},
      {"avx512fp16", {"avx512_fp16"}, {"avx512bw", "avx512dq", "avx512vl"}},
      {"avx512vp2intersect", {"avx512_vp2intersect"}, {"avx512f"}},
      {"avx10_1", {"avx10.1"}, {"avx512f", "avx512cd", "avx512dq", "avx512bw", "avx512vl"}},
      {"avx10_2", {"avx10.2"}, {"avx10_1"}},
      {"amx_tile", {"amxtile"}, {}},
      {"amx_int8", {"amxint8"}, {"amx_tile"}},
      {"amx_bf16", {"amxbf16"}, {"amx_tile"}},
      {"amx_fp16", {"amxfp16"}, {"amx_tile"}},
  };
  return features;
}

// Sources: the Arm Architecture Reference Manual's feature list (SVE requires FP16; SME requires FP16 and
// BF16, not SVE: Apple's M4 has SME2 and no SVE), Linux's Documentation/arch/arm64/elf_hwcaps.rst, LLVM's
// AArch64Features.td.
const std::vector<Feature>& ArmFeatures() {
  static const std::vector<Feature> features = {
      {"atomics", {"lse"}, {}},
      {"rdm", {"asimdrdm"}, {}},
      {"jscvt", {}, {}},
      {"fcma", {}, {}},
      {"fp16", {"asimdhp", "fphp", "fp16arith", "neonfp16arith", "neon_fp16_arith"}, {}},
      {"fhm", {"asimdfhm", "fp16fml"}, {"fp16"}},
      {"dotprod", {"asimddp", "dot", "neondot", "neon_dot"}, {}},
      {"bf16", {"neonbf16", "neon_bf16"}, {}},
      {"i8mm", {"neoni8mm", "neon_i8mm"}, {}},
      {"sve", {}, {"fp16"}},
      {"sve2", {}, {"sve"}},
      {"sme", {"neonsme"}, {"fp16", "bf16"}},
      {"sme2", {"neonsme2"}, {"sme"}},
      {"sme2p1", {"sme2.1"}, {"sme2"}},
      {"sme_i16i32", {"smei16i32"}, {"sme2"}},
      {"sme_bi32i32", {"smebi32i32"}, {"sme2"}},
      {"sme_b16b16", {"smeb16b16"}, {"sme2"}},
      {"sme_f16f16", {"smef16f16"}, {"sme2"}},
  };
  return features;
}

const Feature& FindFeature(Architecture architecture, std::string_view name) {
  const auto& features = Features(architecture);
  return *std::ranges::find_if(features, [&](const Feature& f) { return f.name == name; });
}

}  // namespace

Architecture HostArchitecture() {
#if defined(__aarch64__)
  return Architecture::kAarch64;
#else
  return Architecture::kX86_64;
#endif
}

std::string_view ArchitectureName(Architecture architecture) {
  return architecture == Architecture::kAarch64 ? "aarch64" : "x86-64";
}

const std::vector<Feature>& Features(Architecture architecture) {
  return architecture == Architecture::kAarch64 ? ArmFeatures() : X86Features();
}

const std::vector<FeatureGroup>& FeatureGroups(Architecture architecture) {
  // "sme" and "sve" are features, not groups: features that need them are masked with them. avx512skx is
  // XNNPACK's name for the set that its most common AVX-512 kernels need.
  static const std::vector<FeatureGroup> x86 = {
      {"avx512",
       {"avx512f", "avx512cd", "avx512dq", "avx512bw", "avx512vl", "avx512ifma", "avx512vbmi", "avx512vbmi2",
        "avx512bitalg", "avx512vpopcntdq", "avx512vnni", "avx512bf16", "avx512fp16", "avx512vp2intersect"}},
      {"avx512skx", {"avx512f", "avx512cd", "avx512dq", "avx512bw", "avx512vl"}},
      {"avx10", {"avx10_1", "avx10_2"}},
      {"amx", {"amx_tile", "amx_int8", "amx_bf16", "amx_fp16"}},
      {"sse4", {"sse4_1", "sse4_2"}},
  };
  static const std::vector<FeatureGroup> arm = {};
  return architecture == Architecture::kAarch64 ? arm : x86;
}

std::optional<std::string> CanonicalName(Architecture architecture, std::string_view name) {
  const std::string wanted = Lower(name);
  for (const Feature& feature : Features(architecture)) {
    if (feature.name == wanted || std::ranges::find(feature.aliases, wanted) != feature.aliases.end()) {
      return std::string(feature.name);
    }
  }
  return std::nullopt;
}

FeatureSet WithDependencies(Architecture architecture, const FeatureSet& features) {
  FeatureSet result = features;
  std::vector<std::string> pending(features.begin(), features.end());
  while (!pending.empty()) {
    const std::string name = pending.back();
    pending.pop_back();
    for (const std::string_view need : FindFeature(architecture, name).needs) {
      if (result.emplace(need).second) pending.emplace_back(need);
    }
  }
  return result;
}

FeatureSet WithDependents(Architecture architecture, const FeatureSet& features) {
  FeatureSet result = features;
  // Dependencies come first in the table, so one pass is enough.
  for (const Feature& feature : Features(architecture)) {
    const bool is_dependent = std::ranges::any_of(
        feature.needs, [&](std::string_view need) { return result.contains(std::string(need)); });
    if (is_dependent) result.emplace(feature.name);
  }
  return result;
}

Architecture DetectArchitecture(const FeatureSet& detected) {
  const auto count_known = [&](Architecture architecture) {
    const auto& features = Features(architecture);
    return std::ranges::count_if(
        features, [&](const Feature& feature) { return detected.contains(std::string(feature.name)); });
  };
  Architecture best = HostArchitecture();
  for (const Architecture other : {Architecture::kX86_64, Architecture::kAarch64}) {
    if (count_known(other) > count_known(best)) best = other;
  }
  return best;
}

std::optional<Extension> WidestExtension(Architecture architecture, const FeatureSet& detected) {
  // Widest first. Below AVX-512 the step that matters for fp32 is from 256-bit to 128-bit vectors, which is
  // AVX. On Zen 3 toy_cnn in fp32 (fastest runs of 40 interleaved bursts) took 7.05 ms with all features,
  // 7.05 ms without avx2, 6.88 ms without fma3 and 8.21 ms without avx. Arm's int8 extensions come after SME,
  // because they only affect quantized models.
  static const std::vector<std::pair<std::string, Extension>> x86 = {
      {"avx512f", {"avx512", "-avx512"}}, {"avx", {"avx", "-avx"}}, {"sse4_1", {"sse4_1", "-sse4_1"}}};
  static const std::vector<std::pair<std::string, Extension>> arm = {{"sme2", {"sme2", "-sme,-sme2"}},
                                                                     {"sme", {"sme", "-sme"}},
                                                                     {"i8mm", {"i8mm", "-i8mm"}},
                                                                     {"dotprod", {"dotprod", "-dotprod"}},
                                                                     {"fp16", {"fp16", "-fp16"}}};
  for (const auto& [feature, extension] : architecture == Architecture::kAarch64 ? arm : x86) {
    if (detected.contains(feature)) return extension;
  }
  return std::nullopt;
}

}  // namespace etprof::isa
