#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "measure/config/config_keys.h"

namespace etprof {

// The suite that `etprof suite` measures: models x data types x devices. Each combination is a cell with its
// own results directory, in which the variants are compared with the unchanged model (docs/guides/suites.md).
// The reader, the reference of keys, and docs/schema/suite.schema.json are generated from these descriptions,
// as in config.h.

// The suffix of the data types that leave operators in float: "int8+keep".
inline constexpr std::string_view kKeepSuffix = "+keep";

struct SuiteModel {
  std::string name;  // unique
  std::string method = "forward";
  std::string source;             // as `etprof export --model` takes it; empty: the model is not exported
  std::vector<std::string> keep;  // patterns of `etprof export --keep`, for data types with kKeepSuffix
  // Absolute paths of existing programs, by data type; "" for a program whose data type is not given.
  std::map<std::string, std::filesystem::path> programs;

  static constexpr const char* kSchemaName = "model";
  static constexpr bool kAllowsComments = true;
  static void Describe(auto& v) {
    v("name", &SuiteModel::name,
      Key({.meaning = "its name in the suite, and its folder's; that of `model` without it",
           .pattern = kFolderNamePattern}));
    v("model", &SuiteModel::source,
      Key({.meaning = "what `etprof export --model` takes, where it is to be exported"}));
    v("keep", &SuiteModel::keep,
      Key({.meaning = "what its data types `int8+keep` and `int8dyn+keep` leave in float, as `etprof export "
                      "--keep`",
           .non_empty = true,
           .or_single = true}));
    v("method", &SuiteModel::method, Key({.meaning = "the method to run"}));
    v("programs", kDocumentedKey<std::map<std::string, std::string>>,
      Key({.meaning = "a .pte for each data type, where they are there already"}));
  }
};

// Names or patterns (fnmatch) of which one must match; an empty list matches everything.
struct SuiteRule {
  std::vector<std::string> model, dtype, device, variant;
  std::string json_path;  // for messages: "exclude[1]"

  static constexpr const char* kSchemaName = "rule";
  static constexpr bool kAllowsComments = true;
  static void Describe(auto& v) {
    using R = SuiteRule;
    v("model", &R::model,
      Key({.meaning = "names, or patterns with * and ?", .non_empty = true, .or_single = true}));
    v("dtype", &R::dtype, Key({.meaning = "likewise", .non_empty = true, .or_single = true}));
    v("device", &R::device, Key({.meaning = "likewise", .non_empty = true, .or_single = true}));
    v("variant", &R::variant,
      Key({.meaning = "likewise; without it the whole cell is meant", .non_empty = true, .or_single = true}));
  }
};

struct SuiteConfig {
  std::filesystem::path file;
  std::filesystem::path output_root;  // absolute
  std::vector<SuiteModel> models;
  std::vector<std::string> dtypes = {"fp32"}, devices = {"local"};
  std::vector<std::string> variants;  // variants such as "threads=2" (ParseVariant)
  std::vector<SuiteRule> include, exclude;
  std::string backend;                // empty: the export's default
  std::optional<double> max_minutes;  // absent: no limit
  std::optional<double> max_seconds, margin, precision, max_temp, max_temp_wait, wait_minutes;
  std::optional<int> launches, rounds, runs, warmup, threads;
  std::optional<double> max_slowdown;  // 0.02 for +2%; absent: not checked
  std::filesystem::path runner;        // empty: etprof-runner
  std::vector<std::string> load;       // libraries, absolute
  std::string cpus, period, power_mode;
  std::map<std::string, std::string> environment;
  bool peaks = true;
  bool confirm = false;

  static constexpr bool kAllowsComments = true;
  static void Describe(auto& v) {
    using S = SuiteConfig;
    v("$schema", kDocumentedKey<std::string>, Key({.meaning = "this schema, for editors"}));
    v("output_root", &S::output_root,
      Key({.meaning = "the suite's folder; out_<name of the file> without it"}));
    v("models", kDocumentedKey<std::vector<std::variant<std::string, SuiteModel>>>,
      {.meaning = "what `etprof export --model` takes, a .pte, or an object", .non_empty = true});
    v("dtypes", &S::dtypes,
      Key({.meaning = "data types to export for, as `etprof export --dtype`",
           .non_empty = true,
           .unique = true,
           .or_single = true}));
    v("backend", &S::backend,
      Key({.meaning = "to export for, as `etprof export --backend`; XNNPACK without it"}));
    v("devices", &S::devices,
      Key({.meaning = "where the models are measured, as `--device` takes them (docs/reference/devices.md)",
           .pattern = kDevicePattern,
           .non_empty = true,
           .unique = true,
           .or_single = true}));
    v("variants", &S::variants,
      Key({.meaning = "each is compared with the model as it is, as `--vs` of `etprof profile`: `isa=-avx2`, "
                      "`threads=2`; without it each model is measured as it is",
           .unique = true,
           .or_single = true}));
    v("include", kDocumentedKey<std::vector<SuiteRule>>,
      Key({.meaning = "rules: only cells and variants that one of them matches; all without it"}));
    v("exclude", kDocumentedKey<std::vector<SuiteRule>>,
      Key({.meaning =
               "rules: no cells that one of them matches; a rule with `variant` removes that from them"}));
    v("confirm", &S::confirm,
      Key({.meaning = "measure the fastest settings of each frontier again, and name a winner by that"}));
    v("max_minutes", &S::max_minutes,
      Key({.meaning = "time to measure on each device; the devices measure side by side",
           .min = 0.01,
           .max = 1e5}));
    v("max_seconds", &S::max_seconds,
      Key({.meaning = "time limit for each pair in seconds, which `max_minutes` extends if time is left; 60 "
                      "without it",
           .min = 0.1,
           .max = 1e6}));
    DescribeSchedule<SuiteConfig>(v);
    v("runs", &S::runs,
      Key({.meaning = "traced runs, spread over the first 10 launches; later launches add as many each",
           .min = 1,
           .max = kMaxRuns}));
    v("warmup", &S::warmup, Key({.meaning = "minimum warmup runs per launch", .min = 0, .max = kMaxRuns}));
    v("threads", &S::threads, Key({.meaning = "of the runner's thread pool", .min = 1, .max = kMaxThreads}));
    v("cpus", &S::cpus, Key({.meaning = "CPUs to run on, as `cpu_affinity`: `0-3`, `big`"}));
    v("period", &S::period, Key({.meaning = "start one run per period: `33ms`"}));
    v("max_slowdown", kDocumentedKey<std::string>,
      Key({.meaning = "fail if a candidate is slower by more: `2%`; not checked without it"}));
    v("runner_path", kDocumentedKey<std::string>, Key({.meaning = "the runner, instead of etprof-runner"}));
    v("load", &S::load,
      Key({.meaning = "libraries of custom operators or of another backend, a path or a list",
           .or_single = true}));
    v("env", kDocumentedKey<std::map<std::string, std::variant<std::string, double>>>,
      Key({.meaning = "environment variables of the runner", .pattern = kVariablePattern}));
  }
};

// Throws Error (kBadInput) as ReadConfig; Error (kUsage) for an invalid device or variant.
SuiteConfig ReadSuite(const std::filesystem::path& path);
SuiteConfig ParseSuite(const std::string& text, const std::filesystem::path& path);

// One combination of model, data type, and device of a suite, with a results directory of its own.
struct SuiteCell {
  std::size_t model = 0;  // index into SuiteConfig::models
  std::string dtype;      // "": the model is one program
  std::string device;
  std::vector<std::string> variants;  // variants of the suite that no rule excludes
  std::filesystem::path folder;       // absolute
  bool is_confirmation = false;       // measures the settings on the Pareto frontier again
};

// The cells, ordered by model, data type, and device. A cell exists if `include` is empty or one of its rules
// matches, and no rule of `exclude` without variants matches; the same holds for its variants. Throws Error
// (kBadInput) for a rule that matches nothing, and if no cell is left.
std::vector<SuiteCell> ListCells(const SuiteConfig& suite);

}  // namespace etprof
