#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

// CPU features by name, what each needs, and how `--isa` speaks of them. Pure functions on sets of names:
// what this CPU has is given by the caller (the runner reads it from cpuinfo; etprof is told by the worker).
namespace etprof::isa {

enum class Architecture { kX86_64, kAarch64 };

// The architecture that this program is compiled for.
Architecture HostArchitecture();
std::string_view Name(Architecture architecture);  // "x86-64", "aarch64"

struct Feature {
  std::string_view name;                  // the name that etprof prints
  std::vector<std::string_view> aliases;  // other spellings: Linux's /proc/cpuinfo, XNNPACK's kernel suffixes
  std::vector<std::string_view> needs;    // features without which it cannot be, directly
};

// Every feature that can be masked, those needed before those that need them. The baseline of the
// architecture (SSE2; Advanced SIMD) is not among them: nothing runs without it.
//
// `needs` is the architecture manuals' dependency where they state one, joined with the compiler flags of
// XNNPACK's kernels (its BUILD files compile "avx2" kernels with -mf16c -mfma -mavx2), because a kernel
// chosen by one feature uses the others too: with F16C or FMA masked an AVX2 kernel would still execute them.
const std::vector<Feature>& Features(Architecture architecture);

// A name for several features at once, usable wherever a feature is.
struct Group {
  std::string_view name;
  std::vector<std::string_view> members;
};
const std::vector<Group>& Groups(Architecture architecture);

using FeatureSet = std::set<std::string>;

// The name that etprof prints for a feature given by name or alias (any case); absent when there is no such
// feature.
std::optional<std::string> CanonicalName(Architecture architecture, std::string_view name);

// `features` and all that they need, transitively.
FeatureSet WithNeeds(Architecture architecture, const FeatureSet& features);

// `features` and all that need them, transitively.
FeatureSet WithDependents(Architecture architecture, const FeatureSet& features);

// The architecture that knows most of what was detected: an emulated CPU need not be the device's own. This
// program's own where nothing tells.
Architecture ArchitectureOf(const FeatureSet& detected);

struct Mask {
  FeatureSet masked;   // detected, but to be hidden
  FeatureSet enabled;  // detected and left visible
};

// What `spec` asks for on a CPU that has `detected`. A spec is a comma-separated list, read from left to
// right, starting from everything detected:
//   -f      hides f and what needs it                    -sme2   -avx512
//   +f      shows f and what it needs again              -avx512,+avx512f
//   =f      shows f, what it needs, and nothing else     =avx2
//   all     shows everything        none  hides everything but the architecture's baseline
// f is a feature, an alias or a group (of a group, the members that this CPU has). An empty spec is `all`.
// Throws Error (kUsage) for an unknown feature (with a suggestion), for one that this CPU lacks, for the
// baseline, and for a name without sign. A feature is never left visible without what it needs (as far as the
// CPU has it).
Mask ParseMask(Architecture architecture, const FeatureSet& detected, std::string_view spec);

// The widest extension for which XNNPACK has kernels and which this CPU has: what a profile compares with and
// without when nobody says otherwise. `off` is the spec that masks it ("-sme,-sme2"). Absent when there is
// only the baseline.
struct Extension {
  std::string name;  // "sme2", "avx512", "avx" (with the FMA and AVX2 that need it), ...
  std::string off;   // the mask that hides it

  static void Describe(auto& v) {
    v("name", &Extension::name,
      {.meaning = "\"sme2\", \"avx512\", \"avx\" (with the FMA and AVX2 that need it), ..."});
    v("off", &Extension::off, {.meaning = "the mask that hides it"});
  }
};
std::optional<Extension> WidestExtension(Architecture architecture, const FeatureSet& detected);

}  // namespace etprof::isa
