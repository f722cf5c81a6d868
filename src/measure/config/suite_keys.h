#pragma once

#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "measure/config/config_keys.h"

// The keys of a suite, as they stand in the file (docs/guides/suites.md): as config_keys.h.
namespace etprof {

struct SuiteModelKeys {
  std::optional<std::string> name, model, method;
  Raw<std::map<std::string, std::string>> programs;

  static constexpr const char* kSchemaName = "model";
  static constexpr bool kFreeKeys = true;
  static void Describe(auto& v) {
    v("name", &SuiteModelKeys::name,
      Key({.meaning = "its name in the suite, and its folder's", .pattern = kFolderNamePattern}));
    v("model", &SuiteModelKeys::model,
      Key({.meaning = "what `etprof export --model` takes, where it is to be exported"}));
    v("method", &SuiteModelKeys::method, Key({.meaning = "the method to run, `forward` without it"}));
    v("programs", &SuiteModelKeys::programs,
      Key({.meaning = "its programs (.pte) by data type, where they are there already"}));
  }
};

struct SuiteRuleKeys {
  std::optional<OneOrMany<std::string>> model, dtype, device, variant;

  static constexpr const char* kSchemaName = "rule";
  static constexpr bool kFreeKeys = true;
  static void Describe(auto& v) {
    using K = SuiteRuleKeys;
    v("model", &K::model, Key({.meaning = "names, or patterns with * and ?", .some = true}));
    v("dtype", &K::dtype, Key({.meaning = "likewise", .some = true}));
    v("device", &K::device, Key({.meaning = "likewise", .some = true}));
    v("variant", &K::variant, Key({.meaning = "likewise; without it the whole cell is meant", .some = true}));
  }
};

struct SuiteKeys {
  std::optional<std::string> schema, output_root, backend, runner_path, cpus, period;
  Raw<std::vector<std::variant<std::string, SuiteModelKeys>>> models;
  std::optional<OneOrMany<std::string>> dtypes, devices, variants;
  Raw<std::vector<SuiteRuleKeys>> include, exclude;
  ScheduleKeys schedule;
  std::optional<double> max_minutes, max_seconds;
  std::optional<int> runs, warmup, threads;
  std::optional<std::string> max_slowdown;
  Raw<std::map<std::string, std::string>> env;

  static constexpr bool kFreeKeys = true;
  static void Describe(auto& v) {
    using K = SuiteKeys;
    v("$schema", &K::schema, Key({.meaning = "this schema, for editors"}));
    v("output_root", &K::output_root,
      Key({.meaning = "the suite's folder; out_<name of the file> without it"}));
    v("models", &K::models,
      {.meaning = "what `etprof export --model` takes, a .pte, or more of a model", .some = true});
    v("dtypes", &K::dtypes,
      Key({.meaning = "data types to export for, as `etprof export --dtype`: fp32 without it",
           .some = true,
           .unique = true}));
    v("backend", &K::backend, Key({.meaning = "to export for, as `etprof export --backend`"}));
    v("devices", &K::devices,
      Key({.meaning = "local (without it), ssh:HOST, adb, adb:SERIAL, adb:HOST:PORT",
           .pattern = kDevicePattern,
           .some = true,
           .unique = true}));
    v("variants", &K::variants,
      Key({.meaning = "each against the model as it is, as `etprof profile --vs` takes them: \"isa=-avx2\", "
                      "\"threads=2\"",
           .unique = true}));
    v("include", &K::include, Key({.meaning = "only cells that one of these matches; all without it"}));
    v("exclude", &K::exclude, Key({.meaning = "no cells, or variants of them, that one of these matches"}));
    v("max_minutes", &K::max_minutes,
      Key({.meaning = "of measuring on each device; the devices measure side by side",
           .least = 0.01,
           .most = 1e5}));
    v("max_seconds", &K::max_seconds,
      Key({.meaning = "for each pair at first, 60 without it", .least = 0.1, .most = 1e6}));
    v.Flat(&K::schedule);
    v("runs", &K::runs, Key({.meaning = "traced runs", .least = 1, .most = kMostRuns}));
    v("warmup", &K::warmup,
      Key({.meaning = "least number of unrecorded runs of a launch", .least = 0, .most = kMostRuns}));
    v("threads", &K::threads, Key({.least = 1, .most = kMostThreads}));
    v("cpus", &K::cpus, Key({.meaning = "CPUs to run on: \"0-3\", \"big\""}));
    v("period", &K::period, Key({.meaning = "start a run so often: \"33ms\""}));
    v("max_slowdown", &K::max_slowdown,
      Key({.meaning = "fail where a candidate is slower by more: \"2%\"; not checked without it"}));
    v("runner_path", &K::runner_path, Key({.meaning = "the runner, in place of etprof-runner"}));
    v("env", &K::env, Key({.meaning = "environment variables", .pattern = kVariablePattern}));
  }
};

}  // namespace etprof
