#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

// Names of CPU features, their dependencies, and the syntax of `--isa`. All functions are pure. The caller
// passes the features of the CPU (the runner reads them from cpuinfo; etprof gets them from the worker).
namespace etprof::isa {

enum class Architecture { kX86_64, kAarch64 };

// The architecture for which this program is compiled.
Architecture HostArchitecture();
std::string_view ArchitectureName(Architecture architecture);  // "x86-64", "aarch64"

struct Feature {
  std::string_view name;                  // the name that etprof prints
  std::vector<std::string_view> aliases;  // other spellings: Linux's /proc/cpuinfo, XNNPACK's kernel suffixes
  std::vector<std::string_view> needs;    // direct dependencies
};

// All features that can be masked; dependencies come before the features that need them. The baseline of the
// architecture (SSE2; Advanced SIMD) is not included, because nothing runs without it.
//
// `needs` contains the dependencies that the architecture manuals state, and the compiler flags of XNNPACK's
// kernels (its BUILD files compile "avx2" kernels with -mf16c -mfma -mavx2). A kernel that is chosen by one
// feature uses the others too: with F16C or FMA masked, an AVX2 kernel would still execute them.
const std::vector<Feature>& Features(Architecture architecture);

// A name for several features, which can be used like a feature.
struct FeatureGroup {
  std::string_view name;
  std::vector<std::string_view> members;
};
const std::vector<FeatureGroup>& FeatureGroups(Architecture architecture);

using FeatureSet = std::set<std::string>;

// The name that etprof prints for a feature, given its name or alias (any case); absent if there is no such
// feature.
std::optional<std::string> CanonicalName(Architecture architecture, std::string_view name);

// `features` and their transitive dependencies.
FeatureSet WithDependencies(Architecture architecture, const FeatureSet& features);

// `features` and all features that need them, transitively.
FeatureSet WithDependents(Architecture architecture, const FeatureSet& features);

// The architecture with most of the detected features, since an emulated CPU may have another architecture
// than the device. Without features, the architecture of this program.
Architecture DetectArchitecture(const FeatureSet& detected);

struct Mask {
  FeatureSet masked;   // detected, but hidden
  FeatureSet enabled;  // detected and visible
};

// The mask that `spec` describes for a CPU with the features `detected`. A spec is a comma-separated list,
// applied from left to right, starting with all detected features:
//   -f      hides f and the features that need it       -sme2   -avx512
//   +f      shows f and its dependencies again          -avx512,+avx512f
//   =f      shows only f and its dependencies           =avx2
//   all     shows all features        none  hides all features except the baseline
// f is a feature, an alias or a group (for a group, the members that this CPU has). An empty spec is `all`.
// Throws Error (kUsage) for an unknown feature (with a suggestion), for a feature that this CPU lacks, for
// the baseline, and for a name without sign. A visible feature always has its dependencies (those that the
// CPU has).
Mask ParseMask(Architecture architecture, const FeatureSet& detected, std::string_view spec);

// The widest extension for which XNNPACK has kernels and which this CPU has. By default a profile compares
// runs with and without it. Absent if the CPU has only the baseline.
struct Extension {
  std::string name;      // "sme2", "avx512", "avx" (with the FMA and AVX2 that need it), ...
  std::string off_mask;  // the mask that hides the extension

  static void Describe(auto& v) {
    v("name", &Extension::name,
      {.meaning = "\"sme2\", \"avx512\", \"avx\" (with the FMA and AVX2 that need it), ..."});
    v("off", &Extension::off_mask, {.meaning = "the mask that hides it"});
  }
};
std::optional<Extension> WidestExtension(Architecture architecture, const FeatureSet& detected);

}  // namespace etprof::isa
