#include "measure/config/config.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>

#include "core/error.h"
#include "core/file/file.h"
#include "core/file/sha256.h"
#include "core/json/json_members.h"
#include "core/process/cpus.h"
#include "core/text/suggest.h"
#include "core/text/text.h"
#include "core/units.h"
#include "device/conditions/clusters.h"
#include "device/conditions/power_mode.h"
#include "device/open_device.h"
#include "format/program/read/program_reader.h"
#include "measure/config/json_fields.h"
#include "measure/config/release.h"
#include "measure/store/run_files.h"

namespace etprof {
namespace {

using Json = nlohmann::json;

constexpr Nanoseconds kMaxSustained = 24 * 3'600'000'000'000;
constexpr Nanoseconds kMaxPeriod = 60'000'000'000;  // the runner's limit

// True if etprof itself writes files or folders with such a name into a results directory. Compares in lower
// case, since some file systems treat "Report.MD" as the same name.
bool IsReservedName(const std::string& name) {
  const std::string lower_name = Lower(name);
  if (lower_name == "previous" || lower_name == "launches") return true;
  return std::ranges::any_of(
      std::array{".json", ".md", ".html", ".csv", ".pftrace", ".etdump", ".log", ".svg", ".gz", ".tmp"},
      [&](const char* ending) { return lower_name.ends_with(ending); });
}

// The maximum length of a file name in file systems, minus what etprof appends to a stem: the longest suffix
// (kTimelineSuffix), a number, and the suffix of a file that is being written.
constexpr std::size_t kMaxStemBytes = 255 - 28 - 32;

// Throws Error (kBadInput) if file names with this stem (without folder) would be too long.
void CheckStem(const Config& config, const ExperimentConfig& experiment, const std::string& stem) {
  if (stem.size() <= kMaxStemBytes) return;
  throw Error(
      ExitCode::kBadInput,
      fmt::format("experiment \"{}\" of model \"{}\": their files' names would be too long, by {} bytes",
                  experiment.name, ModelId(experiment.model), stem.size() - kMaxStemBytes))
      .InFile(config.file.string())
      .Remedy("shorten the name of the model's file or of the experiment");
}

// Throws Error (kBadInput) for a model whose name cannot be in file names and tables.
void CheckModelName(const ExperimentConfig& experiment) {
  const std::string name = experiment.model.filename().string();
  if (std::ranges::none_of(name, [](unsigned char c) { return c < 0x20 || c == 0x7f; })) return;
  throw Error(ExitCode::kBadInput, "its name has a control character")
      .InFile(experiment.model.string())
      .Remedy("rename the file: its name becomes part of every result's");
}

// Throws Error (kBadInput) for text that is not UTF-8, since workers get their requests in JSON.
void CheckText(const Config& config) {
  try {
    ToJson(config).dump();
  } catch (const nlohmann::json::type_error&) {
    throw Error(ExitCode::kBadInput, "a path or name of the measurement is not UTF-8")
        .Remedy("rename what it names");
  }
}

// Limits on the size of a configuration, above any real measurement.
constexpr std::size_t kMaxExperiments = 1000;
constexpr std::size_t kMaxUnits = 2000;
constexpr std::size_t kMaxPairs = 10'000;

constexpr const char* kRemedy = "see docs/reference/config.md, or start from configs/templates";

class Reader {
 public:
  Reader(const std::string& text, const std::filesystem::path& file, const ConfigContext& context)
      : source_{text, file}, context_(context) {}

  Config Read() {
    const Json root = ParseConfigText(source_, kRemedy);
    ConfigFile config;
    config.file = source_.file;
    JsonFields fields(root, source_, "");
    ReadKeys(fields, config);
    ConvertSettings(fields, config);
    defaults_ = config;
    ReadDuration(fields, "sustained", ParseSustained, kSustainedRemedy, config.sustained);
    if (!config.power_mode.empty())
      fields.CheckValue("power_mode", [&] { FindPowerMode(config.power_mode); });

    const Json* experiments = fields.Find("experiments");
    if (experiments == nullptr || !experiments->is_array() || experiments->empty()) {
      throw fields.KeyError("experiments", "must be a list with at least one experiment").Remedy(kRemedy);
    }
    if (experiments->size() > kMaxExperiments) {
      throw fields
          .KeyError("experiments", fmt::format("there are {}, and {} at most are taken", experiments->size(),
                                               kMaxExperiments))
          .Remedy("split the configuration");
    }
    for (std::size_t i = 0; i < experiments->size(); ++i) {
      config.experiments.push_back(
          ReadExperiment((*experiments)[i], fmt::format("experiments[{}]", i), config));
    }
    if (const Json* analysis = fields.Find("analysis")) ReadAnalysis(*analysis, config);
    fields.Finish();
    return config;
  }

 private:
  static void ReadDuration(JsonFields& fields, const char* key, decltype(&ParsePeriod) parse,
                           const char* remedy, Nanoseconds& value) {
    const auto text = fields.Text(key);
    if (!text) return;
    const auto duration = parse(*text);
    if (!duration) throw fields.KeyError(key, fmt::format("\"{}\" is not a duration", *text)).Remedy(remedy);
    value = *duration;
  }

  // Checks and converts settings beyond the types and ranges of their keys.
  void ConvertSettings(JsonFields& fields, ExperimentSettings& settings) const {
    for (std::filesystem::path* path : {&settings.model, &settings.runner, &settings.data})
      *path = source_.Resolve(*path);
    for (std::string& library : settings.load) library = source_.Resolve(library).string();
    if (IsWheel(settings.executorch)) settings.executorch = source_.Resolve(settings.executorch).string();
    if (auto devices = fields.Texts("device", false)) settings.devices = *std::move(devices);
    if (const auto inputs = fields.Texts("inputs", false)) settings.inputs = ReadInputs(fields, *inputs);
    if (const Json* place = fields.Find("place")) ReadPlace(fields, *place, settings);
    // The keys of the SME2 profiling kit; etprof's own keys take precedence.
    const auto runs = fields.Integer("num_runs", 1, static_cast<int>(kMaxRuns));
    if (runs && fields.Find("runs") == nullptr) settings.runs = static_cast<int>(*runs);
    const auto threads = fields.Integers("num_threads", 1, static_cast<int>(kMaxThreads));
    if (threads && fields.Find("threads") == nullptr) settings.threads = *threads;
    if (const auto isa = fields.Texts("isa", false)) {
      settings.isa.clear();
      for (const std::string& item : *isa) settings.isa += (settings.isa.empty() ? "" : ",") + item;
    }
    if (const Json* affinity = fields.Find("cpu_affinity")) {
      settings.cpu_affinity =
          affinity->is_string()
              ? affinity->get<std::string>()
              : CpusText(fields.Integers("cpu_affinity", 0, static_cast<int>(kMaxCpu)).value());
      if (!settings.cpu_affinity.empty())
        fields.CheckValue("cpu_affinity", [&] { CheckCpus(settings.cpu_affinity); });
    }
    ReadDuration(fields, "period", ParsePeriod, kPeriodRemedy, settings.period);
    for (const std::string& device : settings.devices)
      fields.CheckValue("device", [&] { CheckDeviceName(device); });
    fields.AddVariables("env", settings.environment);
  }

  void ReadPlace(const JsonFields& fields, const Json& object, ExperimentSettings& settings) const {
    JsonFields place_fields(object, source_, fields.Path("place"));
    settings.place.emplace();
    ReadKeys(place_fields, *settings.place);
    if (const Json* walk = place_fields.Find("walk")) {
      JsonFields walk_fields(*walk, source_, place_fields.Path("walk"));
      settings.place->generate_text.emplace();
      ReadKeys(walk_fields, *settings.place->generate_text);
      walk_fields.Finish();
    }
    place_fields.Finish();
    settings.inputs.reset();  // the step of a language model determines its inputs
  }

  protocol::InputSpec ReadInputs(const JsonFields& fields, const std::vector<std::string>& texts) const {
    protocol::InputSpec inputs;
    if (texts.size() == 1 && texts[0] == "ones") {
      inputs.kind = "ones";
    } else if (texts.size() == 1 && (texts[0] == "random" || texts[0].starts_with("random:"))) {
      inputs.kind = "random";
      inputs.seed = 1;
      if (texts[0].size() > 7) {
        const auto seed = AsNumber<std::uint64_t>(texts[0].substr(7));
        if (!seed) throw fields.KeyError("inputs", "the seed after \"random:\" must be a whole number");
        inputs.seed = *seed;
      }
    } else {
      inputs.kind =
          texts.size() == 1 && std::filesystem::path(texts[0]).extension() == ".inputs" ? "saved" : "files";
      for (const std::string& text : texts) inputs.paths.push_back(source_.Resolve(text).string());
    }
    return inputs;
  }

  ExperimentConfig ReadExperiment(const Json& object, const std::string& path, const Config& config) const {
    JsonFields fields(object, source_, path);
    ExperimentConfig experiment;
    static_cast<ExperimentSettings&>(experiment) = defaults_;
    ReadKeys(fields, experiment);
    ConvertSettings(fields, experiment);
    fields.Finish();
    if (!IsFolderName(experiment.name)) {
      throw fields.KeyError("name", fmt::format("\"{}\" cannot be the name of a folder", experiment.name))
          .Remedy("use letters, digits, \"_\", \"-\" and \".\"");
    }
    if (IsReservedName(experiment.name)) {
      throw fields
          .KeyError("name", fmt::format("\"{}\" is the name of what etprof writes there", experiment.name))
          .Remedy("choose another, without a file's ending");
    }
    for (const ExperimentConfig& other : config.experiments) {
      if (other.name == experiment.name)
        throw fields.KeyError("name", fmt::format("\"{}\" is there twice", experiment.name));
    }
    if (experiment.mode != "timing" && experiment.mode != "xnntrace") {
      throw fields.KeyError("mode",
                            fmt::format("\"{}\" is neither \"timing\" nor \"xnntrace\"", experiment.mode));
    }
    if (experiment.model.empty())
      throw fields.KeyError("model", "no model is given, here or at the top")
          .Remedy("give the path of a .pte");
    if (experiment.runner.empty()) experiment.runner = context_.default_runner;
    if (experiment.runner.empty() && !context_.runner_of_device) {
      throw fields.KeyError("runner_path", "no runner is given, and etprof-runner is not next to etprof")
          .Remedy("build it (script/bootstrap), or give the path of an executor_runner");
    }
    return experiment;
  }

  void ReadAnalysis(const Json& object, Config& config) const {
    JsonFields fields(object, source_, "analysis");
    const Json* pairs = fields.Find("compare_pairs");
    fields.Finish();
    if (pairs == nullptr) return;
    if (!pairs->is_array()) throw fields.KeyError("compare_pairs", "must be a list");
    if (pairs->size() > kMaxPairs) {
      throw fields.KeyError("compare_pairs",
                            fmt::format("there are {}, and {} at most are taken", pairs->size(), kMaxPairs));
    }
    config.pairs_given = true;
    for (std::size_t i = 0; i < pairs->size(); ++i) {
      JsonFields pair((*pairs)[i], source_, fmt::format("analysis.compare_pairs[{}]", i));
      PairConfig result;
      ReadKeys(pair, result);
      result.baseline = ReadPairVariant(pair, "baseline", config);
      result.candidate = ReadPairVariant(pair, "candidate", config);
      if (result.candidate.experiment == result.baseline.experiment &&
          result.candidate.threads == result.baseline.threads)
        throw pair.KeyError("candidate", "is the baseline itself");
      pair.Finish();
      config.pairs.push_back(result);
    }
  }

  PairVariantConfig ReadPairVariant(JsonFields& pair, const std::string& key, const Config& config) const {
    const Json* object = pair.Find(key);
    if (object == nullptr) throw pair.KeyError(key, "is missing");
    PairVariantConfig variant;
    if (object->is_string()) {  // the experiment's name alone
      variant.experiment = object->get<std::string>();
    } else {
      JsonFields fields(*object, source_, pair.Path(key));
      ReadKeys(fields, variant);
      fields.Finish();
    }
    for (const ExperimentConfig& experiment : config.experiments) {
      if (experiment.name != variant.experiment) continue;
      if (variant.threads == 0) variant.threads = experiment.threads[0];
      if (std::ranges::find(experiment.threads, variant.threads) == experiment.threads.end()) {
        throw pair.KeyError(key, fmt::format("experiment \"{}\" has no run with {} threads",
                                             variant.experiment, variant.threads));
      }
      return variant;
    }
    std::set<std::string> names;
    for (const ExperimentConfig& experiment : config.experiments) names.insert(experiment.name);
    throw pair.KeyError(key, fmt::format("there is no experiment \"{}\"", variant.experiment))
        .Remedy(DidYouMean(variant.experiment, names));
  }

  JsonFields::Source source_;
  const ConfigContext& context_;
  ExperimentSettings defaults_;
};

}  // namespace

bool IsFolderName(const std::string& name) {
  if (name.empty() || name.size() > 100 || name[0] == '.' || name[0] == '-') return false;
  return std::ranges::all_of(name, [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '-' || c == '.' || c == '+' || c == '=' || c >= 0x80;
  });
}

Config ParseConfig(const std::string& text, const std::filesystem::path& path, const ConfigContext& context) {
  return Reader(text, path, context).Read();
}

Config ReadConfig(const std::filesystem::path& path, const ConfigContext& context) {
  return ParseConfig(ReadTextFile(path), path, context);
}

void KeepExperiments(Config& config, const std::vector<std::string>& names) {
  std::set<std::string> experiment_names;
  for (const ExperimentConfig& experiment : config.experiments) experiment_names.insert(experiment.name);
  for (const std::string& name : names) {
    if (experiment_names.contains(name)) continue;
    const std::string suggestion = DidYouMean(name, experiment_names);
    throw Error(ExitCode::kUsage, fmt::format("there is no experiment \"{}\"", name))
        .InFile(config.file.string())
        .Remedy(suggestion.empty() ? fmt::format("give one of {}", fmt::join(experiment_names, ", "))
                                   : suggestion);
  }
  const std::set<std::string> selected_names(names.begin(), names.end());
  std::erase_if(config.experiments,
                [&](const ExperimentConfig& e) { return !selected_names.contains(e.name); });
  std::erase_if(config.pairs, [&](const PairConfig& pair) {
    return !selected_names.contains(pair.baseline.experiment) ||
           !selected_names.contains(pair.candidate.experiment);
  });
}

Plan MakePlan(const Config& config) {
  CheckText(config);
  Plan plan;
  std::set<std::string> labels;
  for (std::size_t i = 0; i < config.experiments.size(); ++i) {
    const ExperimentConfig& experiment = config.experiments[i];
    CheckModelName(experiment);
    for (const int threads : experiment.threads) {
      if (plan.units.size() == kMaxUnits) {
        throw Error(ExitCode::kBadInput,
                    fmt::format("its experiments have more than {} numbers of threads in all, "
                                "and each is a measurement",
                                kMaxUnits))
            .InFile(config.file.string())
            .Remedy("split the configuration");
      }
      Unit unit;
      unit.experiment = i;
      unit.threads = threads;
      unit.label = experiment.label.empty() ? experiment.name : experiment.label;
      if (experiment.threads.size() > 1) unit.label += ", " + CountedText(threads, "thread");
      while (!labels.insert(unit.label).second) unit.label += fmt::format(" ({})", experiment.name);
      unit.stem = UnitStem(experiment.name, experiment.model, threads);
      CheckStem(config, experiment, unit.stem.substr(experiment.name.size() + 1));
      plan.units.push_back(unit);
    }
  }
  const auto is_timed = [&](std::size_t unit) {
    return config.experiments[plan.units[unit].experiment].mode == "timing";
  };
  const auto find_unit = [&](const PairVariantConfig& variant) -> std::size_t {
    for (std::size_t u = 0; u < plan.units.size(); ++u) {
      const Unit& unit = plan.units[u];
      if (config.experiments[unit.experiment].name == variant.experiment && unit.threads == variant.threads)
        return u;
    }
    throw Error(ExitCode::kUsage,
                fmt::format("a compare pair names experiment \"{}\" with {} threads, which is not measured",
                            variant.experiment, variant.threads))
        .Remedy("give it those threads, or leave the pair out");
  };
  const auto add_pair = [&](std::size_t baseline, std::size_t candidate, const PairConfig& pair_config) {
    if (!is_timed(baseline) || !is_timed(candidate) || baseline == candidate) return;
    ComparePair pair{baseline, candidate, pair_config.label, pair_config.baseline.label,
                     pair_config.candidate.label};
    if (pair.baseline_label.empty()) pair.baseline_label = plan.units[baseline].label;
    if (pair.candidate_label.empty()) pair.candidate_label = plan.units[candidate].label;
    plan.pairs.push_back(pair);
    // The stem of a comparison's files, as in commands/analyze/analysis_files.cc.
    const ExperimentConfig& b = config.experiments[plan.units[baseline].experiment];
    const ExperimentConfig& c = config.experiments[plan.units[candidate].experiment];
    CheckStem(config, c,
              fmt::format("{}_{}_t{}_vs_{}_t{}", ModelId(config.experiments[0].model), c.name,
                          plan.units[candidate].threads, b.name, plan.units[baseline].threads));
  };
  if (config.pairs_given) {
    for (const PairConfig& pair : config.pairs)
      add_pair(find_unit(pair.baseline), find_unit(pair.candidate), pair);
    return plan;
  }
  for (std::size_t candidate = 0; candidate < plan.units.size(); ++candidate) {
    if (plan.units[candidate].experiment == 0) continue;
    for (std::size_t baseline = 0; baseline < plan.units.size(); ++baseline) {
      if (plan.units[baseline].experiment == 0 &&
          plan.units[baseline].threads == plan.units[candidate].threads) {
        add_pair(baseline, candidate, {});
      }
    }
  }
  if (plan.pairs.empty()) {  // no two experiments share a number of threads: compare the units with the first
    for (std::size_t candidate = 1; candidate < plan.units.size(); ++candidate) add_pair(0, candidate, {});
  }
  return plan;
}

void CheckFiles(const Config& config) {
  for (const ExperimentConfig& experiment : config.experiments) {
    CheckIsProgram(MappedFile::Open(experiment.model).bytes(), experiment.model.string());
    if (!Exists(experiment.runner)) {
      throw Error(ExitCode::kBadInput, fmt::format("no such runner (experiment \"{}\")", experiment.name))
          .InFile(experiment.runner.string())
          .Remedy("build it, or correct runner_path");
    }
    if (!experiment.data.empty()) MappedFile::Open(experiment.data);
    for (const std::string& library : experiment.load) MappedFile::Open(library);
    if (experiment.inputs) {
      for (const std::string& path : experiment.inputs->paths) MappedFile::Open(path);
    }
  }
}

std::optional<Nanoseconds> ParseSustained(const std::string& text) {
  const std::optional<Nanoseconds> duration = ParseDuration(text);
  return duration && *duration > 0 && *duration <= kMaxSustained ? duration : std::nullopt;
}

std::optional<Nanoseconds> ParsePeriod(const std::string& text) {
  const std::optional<Nanoseconds> period = ParseDuration(text);
  return period && *period <= kMaxPeriod ? period : std::nullopt;
}

std::variant<std::string, std::vector<std::string>> ExperimentSettings::DevicesAsWritten() const {
  if (devices.size() == 1) return devices[0];
  return devices;
}

std::variant<std::string, std::vector<std::string>> ExperimentSettings::InputsAsWritten() const {
  if (!inputs) return "";
  if (!inputs->paths.empty()) return inputs->paths;
  return inputs->kind == "random" ? fmt::format("random:{}", inputs->seed) : inputs->kind;
}

std::string ExperimentSettings::PeriodText() const { return period > 0 ? FormatExactDuration(period) : ""; }

std::string Config::SustainedText() const { return sustained > 0 ? FormatExactDuration(sustained) : ""; }

nlohmann::ordered_json ToJson(const Config& config) {
  Config resolved = config;
  resolved.precision = config.Precision();
  nlohmann::ordered_json object;
  object["model"] = config.experiments.empty() ? "" : config.experiments[0].model.string();
  object.update(ToJson<nlohmann::ordered_json>(resolved));
  if (!config.max_temp) object.erase("max_temp_wait");
  return object;
}

std::vector<std::filesystem::path> InputFiles(const ExperimentConfig& experiment) {
  if (experiment.place && experiment.place->method.empty()) return {};
  if (experiment.inputs) return {experiment.inputs->paths.begin(), experiment.inputs->paths.end()};
  std::filesystem::path saved = experiment.model;
  saved += ".inputs";
  std::error_code error;
  if (!std::filesystem::is_regular_file(saved, error)) return {};
  return {saved};
}

std::string ExperimentDigest(const ExperimentConfig& experiment) {
  nlohmann::ordered_json item = ToJson(experiment);
  for (const char* key : {"label", "name", "device"}) item.erase(key);
  return Sha256HexOfText(item.dump());
}

namespace {

// SHA-256 of files; each file is read once.
class FileDigests {
 public:
  const std::string& Get(const std::filesystem::path& path) {
    std::string& digest = digests_[path];
    if (digest.empty()) digest = Sha256HexOfFile(path);
    return digest;
  }

 private:
  std::map<std::filesystem::path, std::string> digests_;
};

// The experiment's settings with digests of its files. The runner has no digest if it depends on the device.
nlohmann::ordered_json ToJsonWithDigests(const ExperimentConfig& experiment, FileDigests& digests) {
  nlohmann::ordered_json item = ToJson(experiment);
  item["model_sha256"] = digests.Get(experiment.model);
  if (!experiment.runner.empty()) item["runner_sha256"] = digests.Get(experiment.runner);
  if (!experiment.data.empty()) item["data_sha256"] = digests.Get(experiment.data);
  for (const std::string& library : experiment.load) item["load_sha256"].push_back(digests.Get(library));
  if (IsWheel(experiment.executorch)) item["executorch_sha256"] = WheelSha256(experiment.executorch);
  for (const std::filesystem::path& path : InputFiles(experiment))
    item["inputs_sha256"].push_back(digests.Get(path));
  item.erase("label");
  return item;
}

}  // namespace

std::string ConfigHash(const Config& config) {
  FileDigests digests;
  nlohmann::ordered_json object;
  for (const ExperimentConfig& experiment : config.experiments) {
    nlohmann::ordered_json item = ToJsonWithDigests(experiment, digests);
    item.erase("device");
    object["experiments"].push_back(item);
  }
  if (config.rounds) object["rounds"] = *config.rounds;
  if (config.sustained > 0) object["sustained"] = FormatExactDuration(config.sustained);
  if (!config.power_mode.empty()) object["power_mode"] = config.power_mode;
  return Sha256HexOfText(object.dump());
}

bool HaveEqualSettings(const ExperimentConfig& a, const ExperimentConfig& b) {
  FileDigests digests;
  const auto comparable = [&](const ExperimentConfig& experiment) {
    nlohmann::ordered_json item = ToJsonWithDigests(experiment, digests);
    for (const char* key : {"name", "threads", "model", "runner_path", "data", "load"}) item.erase(key);
    if (item.contains("inputs_sha256")) item.erase("inputs");
    if (item.contains("executorch_sha256")) item.erase("executorch");
    return item;
  };
  return comparable(a) == comparable(b);
}

std::string UnitStem(const std::string& experiment, const std::filesystem::path& model, int threads) {
  return fmt::format("{0}/{1}_{0}_t{2}", experiment, ModelId(model), threads);
}

std::string ModelId(const std::filesystem::path& model) { return model.stem().string(); }

std::string RemoveBackendSuffix(const std::string& model_id) {
  for (const char* backend : {"_xnnpack_", "_portable_"}) {
    const std::size_t at = model_id.rfind(backend);
    if (at != std::string::npos && at > 0) return model_id.substr(0, at);
  }
  return model_id;
}

std::filesystem::path DefaultRunDirectory(const std::filesystem::path& model, const std::string& platform) {
  const std::filesystem::path folder = std::filesystem::absolute(model).lexically_normal().parent_path();
  if (folder.filename() == "artifacts" && folder.parent_path().filename().string().starts_with("out_")) {
    return folder.parent_path() / "runs" / platform;
  }
  return std::filesystem::path("out_" + RemoveBackendSuffix(ModelId(model))) / "runs" / platform;
}

}  // namespace etprof
