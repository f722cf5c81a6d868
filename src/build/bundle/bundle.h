#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "build/bundle/steps.h"
#include "device/bundle.h"

namespace etprof {

enum class BundleTarget {
  kLinuxAarch64,
  kAndroid,     // the same files as kLinuxAarch64: they need only the device's kernel
  kMacosArm64,  // can be built on a Mac only
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

// The text of bundle.json, with a newline at the end.
std::string ToJsonText(const BundleManifest& manifest);

// Lists the files of a folder, sorted by name, with sizes and digests. Throws as MappedFile::Open.
std::vector<BundleManifest::File> ListFiles(const std::filesystem::path& folder);

// Returns whether `folder` contains exactly the files in `manifest`, and a bundle.json that equals it.
bool IsUpToDate(const std::filesystem::path& folder, const BundleManifest& manifest);

// Collects the roots and all libraries they need, directly or indirectly: file name to path. `list_needed`
// returns the names of the libraries that a file needs. `find_library` returns the path of a library, or
// throws Error if there is no such library.
std::map<std::string, std::filesystem::path> CollectLibraries(
    const std::vector<std::filesystem::path>& roots,
    const std::function<std::vector<std::string>(const std::filesystem::path&)>& list_needed,
    const std::function<std::filesystem::path(const std::string&)>& find_library);

// Builds etprof-runner for the target, and copies it with all files it needs into one flat folder. Steps
// that are already done are skipped. Throws Error: kBadInput if this machine lacks build requirements, or if
// `output` is a folder that is not a bundle; kDeviceFailed if a step fails.
Bundle BuildBundle(const BundleOptions& options);

}  // namespace etprof
