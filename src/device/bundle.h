#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/json/describe.h"
#include "core/units.h"

namespace etprof {

inline constexpr const char* kBundleManifest = "bundle.json";

// A bundle is a flat folder with a runner, its libraries, and its loader. The folder can be pushed to a
// device unchanged (`etprof build --target`; docs/guides/boards.md).
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
  std::string executorch;  // version of the ExecuTorch wheel
  std::string program = "etprof-runner";
  // The command line before the runner's own arguments. A word that names a file of the bundle, or is ".", is
  // relative to the bundle's folder.
  std::vector<std::string> start;
  std::vector<File> files;  // sorted by name; without bundle.json

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
  // Throws std::invalid_argument if the start command is missing or a file name leaves the folder.
  static void Check(const BundleManifest& manifest);
};

struct RunnerBundle {
  std::filesystem::path folder;
  BundleManifest manifest;

  // The command that starts the runner when the bundle's folder on the device is `bundle_folder`.
  std::vector<std::string> StartCommand(const std::string& bundle_folder) const;
};

// The bundle in the program's folder; absent if there is no bundle.json, or it is for another program. Throws
// Error (kBadInput) for an invalid bundle.json.
std::optional<RunnerBundle> FindBundle(const std::filesystem::path& program);

}  // namespace etprof
