#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/units.h"

namespace etprof {

// A folder that holds a program with everything that it needs, its loader included (`etprof build --target`;
// docs/guides/boards.md). bundle.json in it says what.
struct RunnerBundle {
  struct File {
    std::string name;  // relative to the folder; no sub-folders
    Bytes bytes = 0;
    std::string sha256;  // in hexadecimal
  };
  std::filesystem::path folder;
  std::string target;              // "linux-aarch64"
  std::string executorch;          // version
  std::string program;             // the file that is the program
  std::vector<std::string> start;  // the words before its arguments, relative to the folder
  std::vector<File> files;

  // The words that start it from any folder, when the bundle lies at `at` on the device: those of `start`
  // that are files of the bundle, and ".", become paths.
  std::vector<std::string> StartWords(const std::string& at) const;
};

// The bundle whose program this is; absent: none. Throws Error (kBadInput) for a bundle.json that is broken.
std::optional<RunnerBundle> BundleOf(const std::filesystem::path& program);

}  // namespace etprof
