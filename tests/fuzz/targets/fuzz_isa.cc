// The first byte chooses an architecture and the features of the CPU; the rest of the input is a mask
// (`--isa`).

#include <algorithm>

#include "fuzz.h"
#include "isa/features.h"

ETPROF_FUZZ_TARGET(isa) {
  using namespace etprof;
  if (size == 0) return 0;
  const isa::Architecture architecture =
      data[0] % 2 == 0 ? isa::Architecture::kX86_64 : isa::Architecture::kAarch64;
  isa::FeatureSet detected;
  const auto& features = isa::Features(architecture);
  // 0 and 1 mean all features; other values mean the first features of the table, which includes their
  // requirements.
  const std::size_t count = data[0] < 2 ? features.size() : data[0] % (features.size() + 1);
  for (std::size_t i = 0; i < count; ++i) detected.insert(std::string(features[i].name));
  isa::Mask mask;
  const std::string spec = fuzz::Text(data + 1, size - 1);
  if (!fuzz::Accepts({ExitCode::kUsage}, [&] { mask = isa::ParseMask(architecture, detected, spec); }))
    return 0;
  isa::FeatureSet both = mask.masked;
  both.insert(mask.enabled.begin(), mask.enabled.end());
  fuzz::Require(both == detected && mask.masked.size() + mask.enabled.size() == detected.size(),
                "a mask hides or shows each feature of the CPU, and no other");
  for (const std::string& feature : isa::WithDependencies(architecture, mask.enabled)) {
    fuzz::Require(!mask.masked.contains(feature), "no feature is shown without what it needs");
  }
  return 0;
}
