#pragma once

#include <filesystem>
#include <string>

#include "bundle/manifest.h"
#include "bundle/steps.h"

namespace etprof {

enum class BundleTarget {
  kLinuxAarch64,
  kAndroid,     // the same files as kLinuxAarch64: they need nothing of the device but its kernel
  kMacosArm64,  // on a Mac only
  kNative,      // this machine
};
template <>
inline constexpr NamedValue<BundleTarget> kNames<BundleTarget>[] = {
    {BundleTarget::kLinuxAarch64, "linux-aarch64"},
    {BundleTarget::kAndroid, "android"},
    {BundleTarget::kMacosArm64, "macos-arm64"},
    {BundleTarget::kNative, "native"}};
inline std::string Name(BundleTarget target) { return NameOf(target); }

struct BundleOptions {
  std::filesystem::path checkout;  // of etprof
  BundleTarget target = BundleTarget::kNative;
  std::filesystem::path output;  // the bundle's folder; empty: build/bundles/<target> of the checkout
  int jobs = 0;                  // of the compiler, side by side; 0: as many as ninja thinks
  StepProgress progress;
};

struct Bundle {
  std::filesystem::path folder;
  BundleManifest manifest;
  Bytes bytes = 0;       // of all its files
  bool changed = false;  // false: the folder held exactly this already

  static void Describe(auto& v) {
    DescribeSchemaVersion(v);
    v("folder", &Bundle::folder, {.meaning = "that has it"});
    v("changed", &Bundle::changed, {.meaning = "false: the folder held exactly this already"});
    v("bytes", &Bundle::bytes, {.meaning = "of all its files"});
    v("bundle", &Bundle::manifest, {.meaning = "its bundle.json"});
  }
};

// Builds etprof-runner for the target, and gathers it with all that it needs in one flat folder. Does only
// what is missing. Throws Error: kBadInput where this machine lacks what the build needs, or `output` is a
// folder of something else; kDeviceFailed where a step fails.
Bundle BuildBundle(const BundleOptions& options);

}  // namespace etprof
