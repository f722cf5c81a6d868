#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "measure/config/config.h"

namespace etprof {

// What `etprof suite` measures: models x data types x devices, each a cell with its own results directory, in
// which the variants are held against the model as it is (docs/guides/suites.md has the keys).

struct SuiteModel {
  std::string name;  // unique; its folder, too
  std::string method = "forward";
  std::string source;  // what `etprof export --model` takes; empty: it is not exported
  // Absolute, by data type, of what is there already; "" for a program whose type nobody named.
  std::map<std::string, std::filesystem::path> programs;
};

// Names or patterns (fnmatch), any of which matches; where there are none, everything does.
struct SuiteRule {
  std::vector<std::string> model, dtype, device, variant;
  std::string place;  // "exclude[1]"
};

struct SuiteConfig {
  std::filesystem::path file;
  std::filesystem::path output_root;  // absolute
  std::vector<SuiteModel> models;
  std::vector<std::string> dtypes, devices, variants;  // `variants` as ParseVariant
  std::vector<SuiteRule> include, exclude;
  std::string backend;                // empty: as the export chooses
  std::optional<double> max_minutes;  // of each device; absent: as long as it takes
  std::optional<double> max_seconds, margin, precision, max_temp, max_temp_wait, wait_minutes;
  std::optional<int> launches, rounds, runs, warmup, threads;
  std::optional<double> max_slowdown;  // 0.02 for +2 %; absent: nothing fails for being slow
  std::filesystem::path runner;        // empty: etprof-runner
  std::string cpus, period, power_mode;
  std::map<std::string, std::string> environment;
  bool peaks = true;
};

// Throws Error (kBadInput) as ReadConfig; for a device or variant that is none, kUsage.
SuiteConfig ReadSuite(const std::filesystem::path& path);
SuiteConfig ParseSuite(const std::string& text, const std::filesystem::path& path);

// One results directory.
struct SuiteCell {
  std::size_t model = 0;  // index into SuiteConfig::models
  std::string dtype;      // "": the model is one program
  std::string device;
  std::vector<std::string> variants;  // those of the suite that are left
  std::filesystem::path folder;       // absolute
};

// Model by model, type by type, device by device. A cell is there where no rule of `include` stands, or one
// matches, and none of `exclude` matches that says no variant; of its variants those of which the same is
// true. Throws Error (kBadInput) for a rule that matches nothing, and where no cell is left.
std::vector<SuiteCell> CellsOf(const SuiteConfig& suite);

}  // namespace etprof
