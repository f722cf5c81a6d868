#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/units.h"
#include "measure/config/config_keys.h"
#include "protocol/messages.h"

namespace etprof {

// What to measure and how, as a user writes it in JSON (docs/reference/config.md has every key; the kit's
// keys are among them). What reads it (json_fields.h) and docs/schema/config.schema.json are made of the
// descriptions here. What the values mean beyond them is config.cc's.

// What an experiment can say, and a file at its top for all of them. Paths are absolute.
struct ExperimentSettings {
  std::vector<std::string>
      devices;                   // as --device takes them, on each of which it is measured; empty: not said
  std::filesystem::path runner;  // empty only with ConfigContext::runner_of_device
  std::filesystem::path model;
  std::filesystem::path data;  // an external .ptd; empty: none
  std::string method = "forward";
  std::optional<protocol::InputSpec> inputs;  // absent: those saved next to the model, else random
  int runs = 100;                             // traced runs, over all launches
  std::optional<int>
      warmup;  // least number of unrecorded runs of a launch; absent: 10, fewer for slow models
  std::vector<int> threads = {1};
  std::string isa;           // the mask, as `--isa` of etprof-runner takes it
  std::string cpu_affinity;  // as CheckCpus; empty: any CPU
  Nanoseconds period = 0;    // from the start of one run to that of the next; 0: back to back
  std::vector<std::string> extra_args;
  std::vector<std::string> exec_wrapper;  // put before the runner: an emulator, numactl, ...
  std::map<std::string, std::string> environment;

  static void Describe(auto& v) {
    using E = ExperimentSettings;
    v("model", &E::model, Key({.meaning = "the program, a .pte"}));
    v("runner_path", &E::runner,
      Key({.meaning = "etprof-runner, or any executor_runner; the etprof-runner beside etprof without it"}));
    v("device", &E::devices,
      Key({.meaning =
               "where it is measured: local, ssh:HOST, adb, adb:SERIAL, adb:HOST:PORT, or a list of them",
           .pattern = kDevicePattern,
           .some = true,
           .unique = true,
           .one = true}));
    v("data", &E::data, Key({.meaning = "external data, a .ptd file"}));
    v("method", &E::method, Key({.meaning = "the method to run, `forward` without it"}));
    v("inputs", kRaw<std::vector<std::string>>,
      Key({.meaning = "\"ones\", \"random\", \"random:SEED\", an .inputs file, or a list of raw files, one a "
                      "tensor",
           .some = true,
           .one = true}));
    v("warmup", &E::warmup,
      Key({.meaning = "least number of unrecorded runs of a launch", .least = 0, .most = kMostRuns}));
    v("runs", &E::runs, Key({.meaning = "traced runs", .least = 1, .most = kMostRuns}));
    v("num_runs", kRaw<int>, Key({.meaning = "as `runs`", .least = 1, .most = kMostRuns}));
    v("threads", &E::threads,
      Key({.meaning = "a number, or a list: one set of results for each",
           .least = 1,
           .most = kMostThreads,
           .some = true,
           .unique = true,
           .one = true}));
    v("num_threads", kRaw<std::vector<int>>,
      Key({.meaning = "as `threads`",
           .least = 1,
           .most = kMostThreads,
           .some = true,
           .unique = true,
           .one = true}));
    v("isa", kRaw<std::vector<std::string>>,
      Key({.meaning = "CPU features to mask: \"-avx2\", [\"-sme\", \"-sme2\"], \"=avx2\"", .one = true}));
    v("cpu_affinity", kRaw<std::variant<std::string, int, std::vector<int>>>,
      Key({.meaning = "CPUs to run on: \"0x80\", \"0-3\", [0, 1], or clusters: \"big\", \"mid,big\"",
           .least = 0,
           .most = kMostCpu,
           .some = true}));
    v("period", kRaw<std::string>,
      Key({.meaning = "start a run so often: \"33ms\"; \"0\" for back to back"}));
    v("extra_args", &E::extra_args,
      Key({.meaning = "more arguments for the runner", .one = true, .words = true}));
    v("exec_wrapper", &E::exec_wrapper,
      Key({.meaning = "a command put before the runner: \"qemu-aarch64 -cpu max\"",
           .one = true,
           .words = true}));
    v("env", kRaw<std::map<std::string, std::variant<std::string, double>>>,
      Key({.meaning = "environment variables", .pattern = kVariablePattern}));
  }
};

// One experiment.
struct ExperimentConfig : ExperimentSettings {
  std::string name;             // also its folder in the results directory
  std::string label;            // for people; empty: the name
  std::string mode = "timing";  // "xnntrace": a kernel-log run, evidence of kernels, never of time

  static constexpr const char* kSchemaName = "experiment";
  static constexpr bool kFreeKeys = true;
  static void Describe(auto& v) {
    v("name", &ExperimentConfig::name,
      {.meaning = "its name, and its folder in the results directory", .pattern = kFolderNamePattern});
    v("label", &ExperimentConfig::label, Key({.meaning = "its name for people"}));
    v("mode", &ExperimentConfig::mode,
      Key({.meaning = "xnntrace: a kernel-log run, evidence of kernels, never of time", .choices = kModes}));
    ExperimentSettings::Describe(v);
  }
};

struct PairSideConfig {
  std::string experiment;
  int threads = 1;
  std::string label;  // empty: the experiment's

  static constexpr bool kFreeKeys = true;
  static void Describe(auto& v) {
    v("experiment", &PairSideConfig::experiment);
    v("threads", &PairSideConfig::threads, Key({.least = 1, .most = kMostThreads}));
    v("label", &PairSideConfig::label, Key({}));
  }
};
struct PairConfig {
  PairSideConfig baseline, candidate;
  std::string label;

  static constexpr const char* kSchemaName = "pair";
  static constexpr bool kFreeKeys = true;
  static void Describe(auto& v) {
    using NameOrMore = std::variant<std::string, PairSideConfig>;
    v("baseline", kRaw<NameOrMore>, {.meaning = "an experiment's name, or more of it"});
    v("candidate", kRaw<NameOrMore>, {.meaning = "an experiment's name, or more of it"});
    v("label", &PairConfig::label, Key({}));
  }
};
// The key `analysis`.
struct AnalysisKeys {
  static constexpr bool kFreeKeys = true;
  static void Describe(auto& v) {
    v("compare_pairs", kRaw<std::vector<PairConfig>>,
      Key({.meaning = "what to compare; the first experiment against each other one without it"}));
  }
};

struct Config {
  std::filesystem::path file;         // where it was read; empty: made by `etprof profile`
  std::filesystem::path output_root;  // the results directory; empty: not given
  std::vector<ExperimentConfig> experiments;
  std::vector<PairConfig> pairs;  // absent in the file: the first experiment against each other one
  bool pairs_given = false;

  std::optional<int> launches;        // exactly so many; absent: the stop rule decides
  std::optional<int> rounds;          // absent: 7, fewer for slow models
  std::optional<double> max_seconds;  // absent: 60 for each pair
  Nanoseconds sustained = 0;          // run each experiment so long without a rest; 0: bursts in turns
  double margin = 0.01;               // "same" lies within +-margin
  std::optional<double> precision;    // relative half-width asked for; absent: margin / 2
  double timeout_seconds = 600;       // for one answer of a worker, or one process of a foreign runner
  std::uint64_t seed = 1;             // of the order within the rounds
  bool peaks = true;                  // measure the machine's peaks, too
  std::string power_mode;             // as FindPowerMode; empty: none
  std::optional<double> max_temp;     // degrees Celsius of the hottest CPU or skin sensor before a round
  double max_temp_wait = 300;         // seconds to wait for that before one round, at most
  double wait_minutes = 0;            // to wait for a quiet and cool device before it begins, at most

  double Precision() const { return precision.value_or(margin / 2); }

  static void Describe(auto& v) {
    v("output_root", &Config::output_root, Key({.meaning = "the results directory"}));
    DescribeSchedule<Config>(v);
    v("sustained", kRaw<std::string>,
      Key({.meaning = "run each experiment so long without a rest, one after the other: \"10min\""}));
    v("max_seconds", &Config::max_seconds,
      Key({.meaning = "time for the measurement, 60 for each pair without it", .least = 0.1, .most = 1e6}));
    v("timeout_seconds", &Config::timeout_seconds,
      Key({.meaning = "for one answer of a worker", .least = 0.1, .most = 1e6}));
    v("seed", &Config::seed, Key({.meaning = "of the order within the rounds", .least = 0, .most = 2e9}));
    v("experiments", kRaw<std::vector<ExperimentConfig>>, {.meaning = "what to measure", .some = true});
    v("analysis", kRaw<AnalysisKeys>, Key({.meaning = "what is held against what"}));
  }
};

// The keys of a configuration's file.
struct ConfigFile : ExperimentSettings, Config {
  static constexpr bool kFreeKeys = true;
  static void Describe(auto& v) {
    v("$schema", kRaw<std::string>, Key({.meaning = "this schema, for editors"}));
    ExperimentSettings::Describe(v);
    Config::Describe(v);
  }
};

// An experiment with one number of threads: what has workers, launches and files.
struct Unit {
  std::size_t experiment = 0;  // index into Config::experiments
  int threads = 1;
  std::string label;  // unique among the units
  std::string stem;   // UnitStem
};
struct UnitPair {
  std::size_t baseline = 0, candidate = 0;  // indices of units
  std::string label, baseline_label, candidate_label;
};
struct Plan {
  std::vector<Unit> units;
  std::vector<UnitPair> pairs;  // those whose two sides are measured for time
};

struct ConfigContext {
  std::filesystem::path default_runner = {};  // where `runner_path` is absent; empty: its absence is an error
  bool runner_of_device = false;  // but not an error: which one it is depends on a device not yet known
};

// Reads a configuration file. Relative paths are relative to the current folder where such a file exists
// there, else to the configuration's folder. Throws Error (kBadInput) with file, line where it can be told,
// JSON path and remedy: JSON that does not parse, unknown keys (with the nearest known one), wrong types,
// values out of range, names that repeat, are no file names or are those of etprof's own files, and what is
// larger than the limits of docs/reference/config.md.
Config ReadConfig(const std::filesystem::path& path, const ConfigContext& context);
Config ParseConfig(const std::string& text, const std::filesystem::path& path, const ConfigContext& context);

// The pace of runs: "33ms"; "0" for back to back. Absent for what is none, or above a minute.
std::optional<Nanoseconds> ParsePeriod(const std::string& text);
// The length of a sustained run: "10min". Absent for what is none, is 0, or above a day.
std::optional<Nanoseconds> ParseSustained(const std::string& text);
inline constexpr const char* kSustainedRemedy = "give a length of time up to 24 h, e.g. 10min";
inline constexpr const char* kPeriodRemedy = "give a length of time up to 1 min, e.g. 33ms, or 0 for none";

// Keeps only the named experiments, and the pairs among them. Throws Error (kUsage) for a name that is not
// there.
void KeepOnly(Config& config, const std::vector<std::string>& names);

// Throws Error (kUsage) when two labels or file names would collide, or a pair names what is not there, and
// Error (kBadInput) for more measurements than are taken, a model's name with a control character, and names
// that would make those of files longer than 255 bytes.
Plan MakePlan(const Config& config);

// Throws Error (kBadInput): a model that is missing, empty, cut or no .pte; a missing runner, data or inputs
// file.
void CheckFiles(const Config& config);

// The configuration with every default filled in, as JSON that ReadConfig reads.
nlohmann::ordered_json ToJson(const Config& config);

// SHA-256 of all that is configured of an experiment but its name and label: two with the same one are an A/A
// pair.
std::string ExperimentDigest(const ExperimentConfig& experiment);

// SHA-256 over what a measurement depends on: the normalized experiments and pairs, and the contents of
// models, data, inputs and runners. Not over how long to measure or where to write. `--resume` goes on only
// where it is the same.
std::string ConfigHash(const Config& config);

// "mobilenet_v3_small_xnnpack_fp32" of ".../mobilenet_v3_small_xnnpack_fp32.pte".
std::string ModelId(const std::filesystem::path& model);

// How the names of a unit's files in the results directory begin:
// "<experiment>/<model>_<experiment>_t<threads>".
std::string UnitStem(const std::string& experiment, const std::filesystem::path& model, int threads);

// Exported files are named <model>_<backend>_<dtype>: the model alone, "mobilenet_v3_small". Other names
// stay.
std::string WithoutBackend(const std::string& model_id);

// Where a model's runs on a platform go unless told otherwise: out_<model>/runs/<platform>, beside its
// artifacts/ where it lies in such a folder, else below the current folder.
std::filesystem::path DefaultRunDirectory(const std::filesystem::path& model, const std::string& platform);

}  // namespace etprof
