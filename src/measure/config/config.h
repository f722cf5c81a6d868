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
#include "measure/store/run_data.h"
#include "protocol/messages.h"

namespace etprof {

// The configuration of a measurement, as users write it in JSON, including the keys of the SME2 profiling
// kit. The reader (json_fields.h), the keys in docs/reference/config.md, and docs/schema/config.schema.json
// are generated from these descriptions. config.cc checks and converts values beyond that.

// Settings of an experiment. At the top of the file, they apply to all experiments. Paths are absolute.
struct ExperimentSettings {
  std::vector<std::string> devices;  // as --device takes them; each device measures; empty: not given
  std::filesystem::path runner;      // empty only with ConfigContext::runner_of_device
  std::filesystem::path model;
  std::filesystem::path data;  // an external .ptd; empty: none
  std::string method = "forward";
  std::optional<protocol::InputSpec> inputs;
  int runs = 100;
  std::optional<int> warmup;
  std::vector<int> threads = {1};
  std::string isa;           // as `--isa` of etprof-runner takes it
  std::string executorch;    // release whose libraries the runner gets (release.h); empty: its own
  std::string cpu_affinity;  // CPUs or clusters: "0-3", "big"; empty: any CPU
  Nanoseconds period = 0;    // 0: back to back
  std::optional<protocol::TestStep> place;
  std::vector<std::string> load;  // libraries that the runner loads
  std::vector<std::string> extra_args;
  std::vector<std::string> exec_wrapper;
  std::map<std::string, std::string> environment;

  // The values as a configuration file has them: a single device or file is a string, not a list.
  std::variant<std::string, std::vector<std::string>> DevicesAsWritten() const;
  std::variant<std::string, std::vector<std::string>> InputsAsWritten() const;
  std::string PeriodText() const;  // "33ms"; "": back to back

  static void Describe(auto& v) {
    using E = ExperimentSettings;
    v("model", &E::model, Key({.meaning = "the program, a .pte: of the whole file, or of each experiment"}));
    v("runner_path", &E::runner,
      Key({.meaning = "etprof-runner, or any `executor_runner`; without it the etprof-runner next to etprof, "
                      "or of the device's bundle"}));
    v("device", DocumentedMember<std::vector<std::string>>(&E::DevicesAsWritten),
      Key({.meaning =
               "where it is measured, a device or a list, as `--device` takes them, which overrides it; "
               "local without it (docs/reference/devices.md)",
           .pattern = kDevicePattern,
           .non_empty = true,
           .unique = true,
           .or_single = true}));
    v("data", &E::data, Key({.meaning = "external data, a .ptd file"}));
    v("method", &E::method, Key({.meaning = "the method to run"}));
    v("inputs", DocumentedMember<std::vector<std::string>>(&E::InputsAsWritten),
      Key({.meaning = "`ones`, `random`, `random:SEED`, an .inputs file, or a list of raw files, one per "
                      "tensor; without it those saved next to the model, else random",
           .non_empty = true,
           .or_single = true}));
    v("runs", &E::runs,
      Key({.meaning = "traced runs, spread over the first 10 launches; later launches add as many each",
           .min = 1,
           .max = kMaxRuns}));
    v("num_runs", kDocumentedKey<int>, Key({.meaning = "as `runs`", .min = 1, .max = kMaxRuns}));
    v("warmup", &E::warmup,
      Key({.meaning = "minimum warmup runs per launch; 10 without it, fewer for slow models",
           .min = 0,
           .max = kMaxRuns}));
    v("threads", &E::threads,
      Key({.meaning = "a number, or a list: one set of results each",
           .min = 1,
           .max = kMaxThreads,
           .non_empty = true,
           .unique = true,
           .or_single = true}));
    v("num_threads", kDocumentedKey<std::vector<int>>,
      Key({.meaning = "as `threads`",
           .min = 1,
           .max = kMaxThreads,
           .non_empty = true,
           .unique = true,
           .or_single = true}));
    v("isa", DocumentedMember<std::vector<std::string>>(&E::isa),
      Key({.meaning = "CPU features to mask (etprof-runner only): `-avx2`, `-sme,-sme2`, `=avx2`, or a list; "
                      "none without it",
           .or_single = true}));
    v("executorch", &E::executorch,
      Key({.meaning = "release whose libraries the runner gets, `1.4.1`, or the wheel of another build, "
                      "`FILE.whl`; its own without it (docs/guides/versions.md)"}));
    v("cpu_affinity", DocumentedMember<std::variant<std::string, int, std::vector<int>>>(&E::cpu_affinity),
      Key({.meaning = "CPUs to run on: `\"0x80\"`, `\"0-3\"`, `[0, 1]`, or clusters by name, `\"big\"`, "
                      "`\"mid,big\"` (`etprof devices` lists them); any without it",
           .min = 0,
           .max = kMaxCpu,
           .non_empty = true}));
    v("period", DocumentedMember<std::string>(&E::PeriodText),
      Key({.meaning =
               "start one run per period: `33ms` (etprof-runner only); `0`, back to back, without it"}));
    v("place", DocumentedMember<protocol::TestStep>(&E::place),
      Key({.meaning = "of a language model: how many tokens a run takes, and at which position, in place of "
                      "`inputs` (etprof-runner only); `etprof generate` writes it"}));
    v("load", &E::load,
      Key({.meaning =
               "libraries of custom operators or of another backend, a path or a list (etprof-runner only); "
               "ExecuTorch's kernels for LLMs load by themselves",
           .or_single = true}));
    v("extra_args", &E::extra_args,
      Key({.meaning = "more arguments for the runner, a text or a list",
           .or_single = true,
           .split_words = true}));
    v("exec_wrapper", &E::exec_wrapper,
      Key({.meaning =
               "a command before the runner: `qemu-aarch64 -cpu max`; results of a `qemu-*`, or of a runner "
               "for another architecture, are emulated (docs/guides/boards.md#sme2-without-hardware)",
           .or_single = true,
           .split_words = true}));
    v("env", DocumentedMember<std::map<std::string, std::variant<std::string, double>>>(&E::environment),
      Key({.meaning = "environment variables of the runner", .pattern = kVariablePattern}));
  }
};

struct ExperimentConfig : ExperimentSettings {
  std::string name;   // also its folder in the results directory
  std::string label;  // name in reports; empty: `name`
  std::string mode = "timing";
  std::filesystem::path runtime;  // folder with the libraries of `executorch`; empty: not known yet
  std::string runtime_warning;    // why results with these libraries are less certain; empty: they are not

  static constexpr const char* kSchemaName = "experiment";
  static constexpr bool kAllowsComments = true;
  static void Describe(auto& v) {
    v("name", &ExperimentConfig::name,
      {.meaning = "its name and its folder: up to 100 bytes, not a name that etprof gives to its own files "
                  "(`previous`, `*.json`, ...)",
       .pattern = kFolderNamePattern});
    v("label", &ExperimentConfig::label, Key({.meaning = "its name in reports; `name` without it"}));
    v("mode", &ExperimentConfig::mode,
      Key({.meaning = "`xnntrace`: a kernel-log run, evidence of kernels, never of time "
                      "(docs/concepts/kernels.md#kernel-logs)",
           .choices = kModes}));
    ExperimentSettings::Describe(v);
  }
};

struct PairVariantConfig {
  std::string experiment;
  int threads = 0;  // 0: the experiment's first number of threads
  std::string label;

  static constexpr bool kAllowsComments = true;
  static void Describe(auto& v) {
    v("experiment", &PairVariantConfig::experiment, {.meaning = "its `name`"});
    v("threads", &PairVariantConfig::threads,
      Key({.meaning = "of the experiment's; the first of them without it", .min = 1, .max = kMaxThreads}));
    v("label", &PairVariantConfig::label,
      Key({.meaning = "its name in reports; the experiment's without it"}));
  }
};
struct PairConfig {
  PairVariantConfig baseline, candidate;
  std::string label;

  static constexpr const char* kSchemaName = "pair";
  static constexpr bool kAllowsComments = true;
  static void Describe(auto& v) {
    using NameOrVariant = std::variant<std::string, PairVariantConfig>;
    v("baseline", DocumentedMember<NameOrVariant>(&PairConfig::baseline),
      {.meaning = "an experiment's name, or more of it"});
    v("candidate", DocumentedMember<NameOrVariant>(&PairConfig::candidate),
      {.meaning = "an experiment's name, or more of it"});
    v("label", &PairConfig::label, Key({.meaning = "of the pair, in reports"}));
  }
};
// The key `analysis`.
struct AnalysisKeys {
  std::vector<PairConfig> compare_pairs;

  static constexpr bool kAllowsComments = true;
  static void Describe(auto& v) {
    v("compare_pairs", DocumentedMember<std::vector<PairConfig>>(&AnalysisKeys::compare_pairs),
      Key({.meaning = "what to compare; without it the first experiment of a device with each other one of "
                      "the same threads"}));
  }
};

struct Config {
  std::filesystem::path file;         // configuration file; empty: `etprof profile` made the configuration
  std::filesystem::path output_root;  // the results directory; empty: not given
  std::vector<ExperimentConfig> experiments;
  std::vector<PairConfig> pairs;  // without `pairs_given`: the first experiment with each other experiment
  bool pairs_given = false;

  std::optional<int> launches;  // absent: the stop rule decides
  std::optional<int> rounds;
  std::optional<double> max_seconds;
  Nanoseconds sustained = 0;  // 0: interleaved bursts
  double margin = 0.01;
  std::optional<double> precision;
  double timeout_seconds = 600;
  std::uint64_t seed = 1;
  bool peaks = true;
  std::string power_mode;  // name of a power mode; empty: none
  std::optional<double> max_temp;
  double max_temp_wait = 300;
  double wait_minutes = 0;

  double Precision() const { return precision.value_or(margin / 2); }
  std::string SustainedText() const;  // "10min"; "": not sustained
  std::optional<AnalysisKeys> Analysis() const {
    return pairs_given ? std::optional(AnalysisKeys{pairs}) : std::nullopt;
  }

  static void Describe(auto& v) {
    v("output_root", &Config::output_root,
      Key({.meaning = "the results directory; with several devices the folder that holds theirs; "
                      "`out_<model>/runs/<platform>` without it"}));
    DescribeSchedule<Config>(v);
    v("sustained", DocumentedMember<std::string>(&Config::SustainedText),
      Key({.meaning =
               "run each experiment continuously for this long, one after the other: `10min` "
               "(docs/concepts/measurement.md#runs-like-those-of-an-app); interleaved bursts without it"}));
    v("max_seconds", &Config::max_seconds,
      Key({.meaning = "time limit in seconds, machine peaks included; 60 per pair without it",
           .min = 0.1,
           .max = 1e6}));
    v("timeout_seconds", &Config::timeout_seconds,
      Key({.meaning = "seconds for one answer of a worker; for the silence of a third-party runner, and for "
                      "its first process if that exceeds the time limit, and for each run of a kernel log",
           .min = 0.1,
           .max = 1e6}));
    v("seed", &Config::seed, Key({.meaning = "of the order within the rounds", .min = 0, .max = 2e9}));
    v("experiments", DocumentedMember<std::vector<ExperimentConfig>>(&Config::experiments),
      {.meaning = "what to measure", .non_empty = true});
    v("analysis", DocumentedMember<AnalysisKeys>(&Config::Analysis),
      Key({.meaning = "what is compared with what"}));
  }
};

// The keys at the top of a configuration's file.
struct ConfigFile : ExperimentSettings, Config {
  static constexpr bool kAllowsComments = true;
  static void Describe(auto& v) {
    v("$schema", kDocumentedKey<std::string>, Key({.meaning = "this schema, for editors"}));
    ExperimentSettings::Describe(v);
    Config::Describe(v);
  }
};

// An experiment with one number of threads: the unit that has workers, launches, and files.
struct Unit {
  std::size_t experiment = 0;  // index into Config::experiments
  int threads = 1;
  std::string label;  // unique among the units
  std::string stem;   // beginning of the names of its files (UnitStem)
};
struct Plan {
  std::vector<Unit> units;
  std::vector<ComparePair> pairs;  // pairs of units in which both variants are timed
};

struct ConfigContext {
  std::filesystem::path default_runner = {};  // used without `runner_path`; empty: `runner_path` is required
  // A missing runner is no error, since it depends on a device that is not known yet.
  bool runner_of_device = false;
};

// Reads a configuration file. Paths are resolved by JsonFields::Source::Resolve. Throws Error (kBadInput)
// with file, line if known, JSON path, and remedy for: invalid JSON, unknown keys (with the nearest known
// key), wrong types, values out of range, names that repeat, that are no file names, or that etprof's own
// files have, and sizes above the limits in docs/reference/config.md.
Config ReadConfig(const std::filesystem::path& path, const ConfigContext& context);
Config ParseConfig(const std::string& text, const std::filesystem::path& path, const ConfigContext& context);

// The interval between starts of runs: "33ms"; "0" for back to back. Absent for an invalid text, or above a
// minute.
std::optional<Nanoseconds> ParsePeriod(const std::string& text);
// The length of a sustained run: "10min". Absent for an invalid text, 0, or above a day.
std::optional<Nanoseconds> ParseSustained(const std::string& text);
inline constexpr const char* kSustainedRemedy = "give a length of time up to 24 h, e.g. 10min";
inline constexpr const char* kPeriodRemedy = "give a length of time up to 1 min, e.g. 33ms, or 0 for none";

// Removes all experiments except for those in `names`, and the pairs of removed experiments. Throws Error
// (kUsage) for an unknown name.
void KeepExperiments(Config& config, const std::vector<std::string>& names);

// Lists the units and pairs of a configuration. Throws Error (kUsage) if two labels or file names collide, or
// if a pair names an unknown unit; Error (kBadInput) for too many units, a model name with a control
// character, and file names longer than 255 bytes.
Plan MakePlan(const Config& config);

// Throws Error (kBadInput) for a model that is missing, empty, truncated, or not a .pte, and for a missing
// runner, data, or inputs file.
void CheckFiles(const Config& config);

// The configuration with every default filled in, as JSON that ReadConfig reads.
nlohmann::ordered_json ToJson(const Config& config);

// The files from which inputs are read: the configured files, or `<model>.inputs` next to the model. Empty:
// the inputs are random or ones.
std::vector<std::filesystem::path> InputFiles(const ExperimentConfig& experiment);

// SHA-256 of all settings of an experiment except for its name and label: two experiments with the same
// digest are an A/A pair.
std::string ExperimentDigest(const ExperimentConfig& experiment);

// SHA-256 of everything that determines the results of a measurement: the normalized experiments, the
// contents of their files (models, data, inputs, libraries, runners), rounds, `sustained`, and the power
// mode. Excludes pairs, the time limit, the number of launches, and the output folder. `--resume` requires
// the same hash.
std::string ConfigHash(const Config& config);

// True if two experiments differ only in names, paths, and threads. Files are compared by contents. Throws as
// MappedFile::Open.
bool HaveEqualSettings(const ExperimentConfig& a, const ExperimentConfig& b);

// "mobilenet_v3_small_xnnpack_fp32" of ".../mobilenet_v3_small_xnnpack_fp32.pte".
std::string ModelId(const std::filesystem::path& model);

// The beginning of the names of a unit's files in the results directory:
// "<experiment>/<model>_<experiment>_t<threads>".
std::string UnitStem(const std::string& experiment, const std::filesystem::path& model, int threads);

// The model's name from the name of an exported file, <model>_<backend>_<dtype>: "mobilenet_v3_small". Other
// names are returned unchanged.
std::string RemoveBackendSuffix(const std::string& model_id);

// The default results directory of a model on a platform: out_<model>/runs/<platform>, next to the folder
// artifacts/ if the model is in such a folder, else in the current folder.
std::filesystem::path DefaultRunDirectory(const std::filesystem::path& model, const std::string& platform);

}  // namespace etprof
