#pragma once

#include <filesystem>
#include <string>

#include "build/bundle/manifest.h"
#include "build/bundle/steps.h"

namespace etprof {

enum class BundleTarget {
  kLinuxAarch64,
  kAndroid,     // the same files as kLinuxAarch64: they need only the device's kernel
  kMacosArm64,  // on a Mac only
  kNative,      // this machine
};
template <>
inline constexpr const char* kNames<BundleTarget>[] = {"linux-aarch64", "android", "macos-arm64", "native"};
inline std::string Name(BundleTarget target) { return GetName(target); }

struct BundleOptions {
  std::filesystem::path checkout;  // etprof's checkout
  BundleTarget target = BundleTarget::kNative;
  std::filesystem::path output;  // folder of the bundle; empty: build/bundles/<target> of the checkout
  int jobs = 0;                  // parallel compilations; 0: ninja's default
  StepProgress progress;
};

// The build folder of a target's etprof-runner in a checkout. It also has files that bundles leave out.
std::filesystem::path RunnerBuildFolder(const std::filesystem::path& checkout, BundleTarget target);

struct Bundle {
  std::filesystem::path folder;
  BundleManifest manifest;
  Bytes bytes = 0;       // total size of the files
  bool changed = false;  // false: the folder already contained exactly this bundle

  static void Describe(auto& v) {
    DescribeSchemaVersion(v);
    v("folder", &Bundle::folder, {.meaning = "that has it"});
    v("changed", &Bundle::changed, {.meaning = "false: the folder held exactly this already"});
    v("bytes", &Bundle::bytes, {.meaning = "of all its files"});
    v("bundle", &Bundle::manifest, {.meaning = "its bundle.json"});
  }
};

// Builds etprof-runner for the target, and copies it with all files it needs into one flat folder. Steps
// that are already done are skipped. Throws Error: kBadInput if this machine lacks build requirements, or if
// `output` is a folder that is not a bundle; kDeviceFailed if a step fails.
Bundle BuildBundle(const BundleOptions& options);

}  // namespace etprof
