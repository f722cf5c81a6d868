#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/describe.h"
#include "device/power_mode.h"

// The keys of a configuration, as they stand in the file (docs/reference/config.md): what reads them
// (json_fields.h) and docs/schema/config.schema.json are made of these descriptions. What the values mean is
// config.cc's.
namespace etprof {

// A value, or a list of such.
template <typename T>
struct OneOrMany {
  std::vector<T> values;

  using Form = std::variant<T, std::vector<T>>;
};
// The same of texts, one of which is taken apart at blanks.
struct WordsOfCommand : OneOrMany<std::string> {};

// A value that config.cc reads: of one of several forms.
template <typename T>
struct Raw {
  const nlohmann::json* found = nullptr;  // null: the key is not there

  using Form = T;
};

// A key that may be left out, or null.
constexpr About Key(About about) {
  about.if_any = true;
  about.or_null = true;
  return about;
}

constexpr std::string_view kModes = "timing|xnntrace";
constexpr double kMostRuns = 1e6;
constexpr double kMostThreads = 1024;
constexpr double kMostCpu = 1023;
// What IsSafeFileName takes, with ASCII's other characters named: of a folder, by its first character and the
// rest.
constexpr const char* kFolderNamePattern =
    "^[^\\u0000-*,-/:-<>-@\\[-^`{-\\u007f][^\\u0000-*,/:-<>-@\\[-^`{-\\u007f]{0,99}$";
constexpr const char* kVariablePattern = "^[A-Za-z_][A-Za-z0-9_]*$";  // IsVariableName
constexpr const char* kDevicePattern = "^(local|adb|(ssh|adb):[^-].*)$";

// Of an experiment, and at the top of the file for all of them.
struct SharedKeys {
  std::optional<std::string> model, runner_path, data, method, period;
  std::optional<OneOrMany<std::string>> device, inputs, isa;
  std::optional<int> warmup, runs, num_runs;
  std::optional<OneOrMany<int>> threads, num_threads;
  std::optional<WordsOfCommand> extra_args, exec_wrapper;
  Raw<std::variant<std::string, int, std::vector<int>>> cpu_affinity;
  Raw<std::map<std::string, std::variant<std::string, double>>> env;

  static void Describe(auto& v) {
    using K = SharedKeys;
    v("model", &K::model, Key({.meaning = "the program, a .pte"}));
    v("runner_path", &K::runner_path,
      Key({.meaning = "etprof-runner, or any executor_runner; the etprof-runner beside etprof without it"}));
    v("device", &K::device,
      Key({.meaning =
               "where it is measured: local, ssh:HOST, adb, adb:SERIAL, adb:HOST:PORT, or a list of them",
           .pattern = kDevicePattern,
           .some = true,
           .unique = true}));
    v("data", &K::data, Key({.meaning = "external data, a .ptd file"}));
    v("method", &K::method, Key({.meaning = "the method to run, `forward` without it"}));
    v("inputs", &K::inputs,
      Key({.meaning = "\"ones\", \"random\", \"random:SEED\", an .inputs file, or a list of raw files, one a "
                      "tensor",
           .some = true}));
    v("warmup", &K::warmup,
      Key({.meaning = "least number of unrecorded runs of a launch", .least = 0, .most = kMostRuns}));
    v("runs", &K::runs, Key({.meaning = "traced runs", .least = 1, .most = kMostRuns}));
    v("num_runs", &K::num_runs, Key({.meaning = "as `runs`", .least = 1, .most = kMostRuns}));
    v("threads", &K::threads,
      Key({.meaning = "a number, or a list: one set of results for each",
           .least = 1,
           .most = kMostThreads,
           .some = true,
           .unique = true}));
    v("num_threads", &K::num_threads,
      Key({.meaning = "as `threads`", .least = 1, .most = kMostThreads, .some = true, .unique = true}));
    v("isa", &K::isa, Key({.meaning = "CPU features to mask: \"-avx2\", [\"-sme\", \"-sme2\"], \"=avx2\""}));
    v("cpu_affinity", &K::cpu_affinity,
      Key({.meaning = "CPUs to run on: \"0x80\", \"0-3\", [0, 1], or clusters: \"big\", \"mid,big\"",
           .least = 0,
           .most = kMostCpu,
           .some = true}));
    v("period", &K::period, Key({.meaning = "start a run so often: \"33ms\"; \"0\" for back to back"}));
    v("extra_args", &K::extra_args, Key({.meaning = "more arguments for the runner"}));
    v("exec_wrapper", &K::exec_wrapper,
      Key({.meaning = "a command put before the runner: \"qemu-aarch64 -cpu max\""}));
    v("env", &K::env, Key({.meaning = "environment variables", .pattern = kVariablePattern}));
  }
};

struct ExperimentKeys {
  SharedKeys shared;
  std::string name;
  std::optional<std::string> label, mode;

  static constexpr const char* kSchemaName = "experiment";
  static constexpr bool kFreeKeys = true;
  static void Describe(auto& v) {
    v("name", &ExperimentKeys::name,
      {.meaning = "its name, and its folder in the results directory", .pattern = kFolderNamePattern});
    v("label", &ExperimentKeys::label, Key({.meaning = "its name for people"}));
    v("mode", &ExperimentKeys::mode,
      Key({.meaning = "xnntrace: a kernel-log run, evidence of kernels, never of time", .choices = kModes}));
    v.Flat(&ExperimentKeys::shared);
  }
};

struct SideKeys {
  std::string experiment;
  std::optional<std::string> label;
  std::optional<int> threads;

  static constexpr bool kFreeKeys = true;
  static void Describe(auto& v) {
    v("experiment", &SideKeys::experiment);
    v("threads", &SideKeys::threads, Key({.least = 1, .most = kMostThreads}));
    v("label", &SideKeys::label, Key({}));
  }
};

struct PairKeys {
  Raw<std::variant<std::string, SideKeys>> baseline, candidate;
  std::optional<std::string> label;

  static constexpr const char* kSchemaName = "pair";
  static constexpr bool kFreeKeys = true;
  static void Describe(auto& v) {
    v("baseline", &PairKeys::baseline, {.meaning = "an experiment's name, or more of it"});
    v("candidate", &PairKeys::candidate, {.meaning = "an experiment's name, or more of it"});
    v("label", &PairKeys::label, Key({}));
  }
};

struct AnalysisKeys {
  Raw<std::vector<PairKeys>> compare_pairs;

  static constexpr bool kFreeKeys = true;
  static void Describe(auto& v) {
    v("compare_pairs", &AnalysisKeys::compare_pairs,
      Key({.meaning = "what to compare; the first experiment against each other one without it"}));
  }
};

// How to measure, and under which conditions: of a configuration, and of each cell of a suite.
struct ScheduleKeys {
  std::optional<int> launches, rounds;
  std::optional<double> margin, precision, max_temp, max_temp_wait, wait_minutes;
  std::optional<bool> peaks;
  std::optional<std::string> power_mode;

  static void Describe(auto& v) {
    using K = ScheduleKeys;
    v("launches", &K::launches,
      Key({.meaning = "exactly so many processes of each experiment", .least = 2, .most = 1e4}));
    v("rounds", &K::rounds,
      Key({.meaning = "bursts of every experiment in a launch", .least = 1, .most = 1000}));
    v("margin", &K::margin,
      Key({.meaning = "a change within +- this is called the same", .least = 1e-6, .most = 1}));
    v("precision", &K::precision,  // half of the least margin
      Key({.meaning = "relative half-width of the interval asked for, half of margin without it",
           .least = 5e-7,
           .most = 1}));
    v("peaks", &K::peaks,
      Key({.meaning = "measure the machine's roofs, too (docs/guides/bottlenecks.md); true without it"}));
    v("power_mode", &K::power_mode,
      Key({.meaning = "Android: settings for the time of the measurement (docs/concepts/power.md)",
           .choices = kPowerModeNames}));
    v("max_temp", &K::max_temp,
      Key({.meaning = "degrees Celsius: before a round, wait while the hottest CPU or skin sensor is above",
           .least = 0,
           .most = 150}));
    v("max_temp_wait", &K::max_temp_wait,
      Key({.meaning = "seconds: for so long at most, before one round", .least = 0, .most = 1e6}));
    v("wait_minutes", &K::wait_minutes,
      Key({.meaning = "before it begins, wait for a quiet and cool device, for so long at most; 0 without it",
           .least = 0,
           .most = 1e4}));
  }
};

struct ConfigKeys {
  SharedKeys shared;
  ScheduleKeys schedule;
  std::optional<std::string> schema, output_root, sustained;
  std::optional<int> seed;
  std::optional<double> max_seconds, timeout_seconds;
  Raw<std::vector<ExperimentKeys>> experiments;
  Raw<AnalysisKeys> analysis;

  static constexpr bool kFreeKeys = true;
  static void Describe(auto& v) {
    using K = ConfigKeys;
    v("$schema", &K::schema, Key({.meaning = "this schema, for editors"}));
    v.Flat(&K::shared);
    v("output_root", &K::output_root, Key({.meaning = "the results directory"}));
    v.Flat(&K::schedule);
    v("sustained", &K::sustained,
      Key({.meaning = "run each experiment so long without a rest, one after the other: \"10min\""}));
    v("max_seconds", &K::max_seconds,
      Key({.meaning = "time for the measurement, 60 for each pair without it", .least = 0.1, .most = 1e6}));
    v("timeout_seconds", &K::timeout_seconds,
      Key({.meaning = "for one answer of a worker", .least = 0.1, .most = 1e6}));
    v("seed", &K::seed, Key({.meaning = "of the order within the rounds", .least = 0, .most = 2e9}));
    v("experiments", &K::experiments, {.meaning = "what to measure", .some = true});
    v("analysis", &K::analysis, Key({.meaning = "what is held against what"}));
  }
};

}  // namespace etprof
