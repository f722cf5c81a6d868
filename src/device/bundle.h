#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/json/describe.h"
#include "core/units.h"

namespace etprof {

inline constexpr const char* kBundleManifest = "bundle.json";

// A runner with everything that it needs, its loader included, in one flat folder that can be pushed to a
// device as it is (`etprof build --target`; docs/guides/boards.md).
struct BundleManifest {
  struct File {
    std::string name;
    Bytes bytes = 0;
    std::string sha256;

    static void Describe(auto& v) {
      v("name", &File::name, {.meaning = "in the bundle's folder"});
      v("bytes", &File::bytes, {.meaning = "of the file"});
      v("sha256", &File::sha256, {.meaning = "of the file", .pattern = kSha256Pattern});
    }
  };
  std::string target;
  std::string executorch;  // the version of its wheel
  std::string program = "etprof-runner";
  // What to put before the arguments. Words that name a file of the bundle, and ".", are relative to its
  // folder.
  std::vector<std::string> start;
  std::vector<File> files;  // by name; all but bundle.json

  static constexpr const char* kSchemaName = "bundle";
  static void Describe(auto& v) {
    using M = BundleManifest;
    DescribeSchemaVersion(v);
    v("target", &M::target, {.meaning = "\"linux-aarch64\", \"android\", \"macos-arm64\", \"native\""});
    v("executorch", &M::executorch, {.meaning = "the version of its wheel"});
    v("program", &M::program, {.meaning = "the file to start"});
    v("start", &M::start, {.meaning = "what to put before the arguments"});
    v("files", &M::files, {.meaning = "all but bundle.json"});
  }
  // Throws std::invalid_argument.
  static void Check(const BundleManifest& read);
};

// A bundle and where it lies.
struct RunnerBundle {
  std::filesystem::path folder;
  BundleManifest manifest;

  // The words that start it from any folder, when the bundle lies at `at` on the device: those of `start`
  // that are files of the bundle, and ".", become paths.
  std::vector<std::string> StartWords(const std::string& at) const;
};

// The bundle whose program this is; absent: none. Throws Error (kBadInput) for a bundle.json that is broken.
std::optional<RunnerBundle> BundleOf(const std::filesystem::path& program);

}  // namespace etprof
