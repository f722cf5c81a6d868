#include "workflow/check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <tuple>

#include "core/error.h"
#include "core/file/file.h"
#include "core/text/text.h"
#include "measure/config/device_groups.h"
#include "measure/config/variant.h"
#include "measure/measure.h"
#include "measure/store/run_files.h"
#include "report/run/stored_runs.h"
#include "stats/ratio/stop_rule.h"
#include "workflow/analyze/analyze.h"
#include "workflow/measure/measure.h"

namespace etprof {
namespace {

constexpr double kSecondsPerPair = 60;

// --- the two sides ---------------------------------------------------------------------------------------

enum class Kind {
  kModels,   // a model, and another one or what differs: measured now
  kFolders,  // two folders of models, which are paired by name: measured now
  kConfigs,  // a configuration with its pairs, or two whose experiments are paired by name: measured now
  kRuns,     // a results directory with its pairs, or two: nothing is measured
};
constexpr NamedValue<Kind> kKinds[] = {{Kind::kModels, "a model"},
                                       {Kind::kFolders, "a folder of models"},
                                       {Kind::kConfigs, "a configuration"},
                                       {Kind::kRuns, "a results directory"}};

// As the command line names them.
struct CheckSides {
  Kind kind = Kind::kModels;
  std::string baseline;
  std::string candidate;  // empty: `baseline` holds both sides
};

// "isa=-avx2": what differs from the other side. A file of such a name wins.
bool IsVariant(const std::string& text) { return text.find('=') != std::string::npos && !Exists(text); }

// The files in a folder and its subfolders, by their path in it.
std::map<std::string, std::filesystem::path> FilesIn(const std::filesystem::path& folder) {
  std::map<std::string, std::filesystem::path> files;
  std::error_code error;
  std::filesystem::recursive_directory_iterator entry(
      folder, std::filesystem::directory_options::skip_permission_denied, error);
  for (; !error && entry != std::filesystem::recursive_directory_iterator(); entry.increment(error)) {
    if (entry->is_regular_file(error))
      files.emplace(entry->path().lexically_relative(folder).generic_string(), entry->path());
  }
  if (error)
    throw Error(ExitCode::kBadInput, "cannot be listed: " + error.message())
        .InFile(folder)
        .Remedy("check its permissions");
  return files;
}

bool IsModel(const std::pair<const std::string, std::filesystem::path>& file) {
  return file.second.extension() == ".pte" || file.second.extension() == ".bpte";
}

std::map<std::string, std::filesystem::path> ModelsIn(const std::filesystem::path& folder) {
  auto files = FilesIn(folder);
  std::erase_if(files, [](const auto& file) { return !IsModel(file); });
  return files;
}

// A folder with models and nothing of a measurement, of etprof or of the kit.
bool IsFolderOfModels(const std::filesystem::path& folder) {
  if (Exists(folder / kManifestFile)) return false;
  const auto files = FilesIn(folder);
  return std::ranges::any_of(files, IsModel) && std::ranges::none_of(files, [](const auto& file) {
           return file.second.extension() == ".etdump" || file.second.extension() == ".csv";
         });
}

Kind KindOf(const std::string& text) {
  if (IsFolder(text)) return IsFolderOfModels(text) ? Kind::kFolders : Kind::kRuns;
  if (IsVariant(text)) return Kind::kModels;
  if (!Exists(text))
    throw Error(ExitCode::kBadInput, "no such file or folder").InFile(text).Remedy("check the path");
  return text.ends_with(".json") ? Kind::kConfigs : Kind::kModels;
}

CheckSides SidesOf(const CheckOptions& options) {
  CheckSides sides;
  std::tie(sides.baseline, sides.candidate) = SidesGiven(options);
  if (sides.baseline.empty())
    throw Error(ExitCode::kUsage, "nothing to check").Remedy("run `etprof check BASE.pte CANDIDATE.pte`");
  if (IsVariant(sides.baseline)) {
    throw Error(ExitCode::kUsage, "the baseline must be a model, a configuration, or a results directory")
        .Remedy("give what differs as the candidate: `--candidate isa=-avx2`");
  }
  sides.kind = KindOf(sides.baseline);
  if (sides.candidate.empty()) {
    if (sides.kind == Kind::kModels) {
      throw Error(ExitCode::kUsage, "one model has nothing to be compared with")
          .Remedy("pass a second model, or what differs: `--candidate isa=-avx2`");
    }
    if (sides.kind == Kind::kFolders) {
      throw Error(ExitCode::kUsage, "one folder of models has nothing to be compared with")
          .Remedy("pass a second folder, with models of the same names");
    }
    return sides;
  }
  const Kind other = KindOf(sides.candidate);
  if (other != sides.kind) {
    throw Error(ExitCode::kUsage, fmt::format("{} cannot be compared with {}", NameIn(kKinds, sides.kind),
                                              NameIn(kKinds, other)))
        .Remedy("give two models, two folders of models, two configurations, or two results directories");
  }
  if (sides.kind == Kind::kFolders) {
    for (std::string* side : {&sides.baseline, &sides.candidate})
      *side = std::filesystem::absolute(*side / std::filesystem::path()).lexically_normal().parent_path();
  }
  return sides;
}

Config ConfigOfModels(const CheckSides& sides, const MeasureRequest& measurement, Device& device,
                      const DeviceProperties& properties) {
  ExperimentConfig baseline = ExperimentOf(measurement, sides.baseline, device, properties);
  baseline.name = "baseline";
  Variant variant;
  if (IsVariant(sides.candidate)) {
    variant = ParseVariant(sides.candidate);
  } else {
    variant.model = std::filesystem::absolute(sides.candidate).lexically_normal();
  }
  ExperimentConfig candidate = Changed(baseline, variant);
  candidate.name = "candidate";
  const VariantLabels labels = LabelsOf(variant, baseline);
  const bool same_names =
      !variant.label && variant.model && ModelId(*variant.model) == ModelId(baseline.model);
  baseline.label = same_names ? "baseline" : labels.as_given;
  candidate.label = same_names ? "candidate" : labels.variant;

  Config config;
  config.pairs_given = true;
  config.pairs.push_back(
      {{baseline.name, baseline.threads[0], ""}, {candidate.name, candidate.threads[0], ""}, ""});
  config.experiments = {std::move(baseline), std::move(candidate)};
  return config;
}

// The models that both folders have; `lone` gets the names of those that only one has.
Config ConfigOfFolders(const CheckSides& sides, const MeasureRequest& measurement, Device& device,
                       const DeviceProperties& properties, std::vector<std::string>& lone) {
  const auto of_baseline = ModelsIn(sides.baseline), of_candidate = ModelsIn(sides.candidate);
  Config config;
  config.pairs_given = true;
  for (const auto& [name, model] : of_baseline) {
    const auto other = of_candidate.find(name);
    if (other == of_candidate.end()) {
      lone.push_back(fmt::format("{} is only in {}", name, FromHere(sides.baseline)));
      continue;
    }
    const std::string label = name.substr(0, name.size() - model.extension().string().size());
    const std::string number = std::to_string(config.pairs.size() + 1);
    ExperimentConfig baseline = ExperimentOf(measurement, model, device, properties);
    Variant variant;
    variant.model = other->second;
    ExperimentConfig candidate = Changed(baseline, variant);
    baseline.name = "baseline_" + number;
    candidate.name = "candidate_" + number;
    baseline.label = label + " (baseline)";
    candidate.label = label + " (candidate)";
    config.pairs.push_back(
        {{baseline.name, baseline.threads[0], ""}, {candidate.name, candidate.threads[0], ""}, label});
    config.experiments.push_back(std::move(baseline));
    config.experiments.push_back(std::move(candidate));
  }
  for (const auto& [name, model] : of_candidate) {
    if (!of_baseline.contains(name))
      lone.push_back(fmt::format("{} is only in {}", name, FromHere(sides.candidate)));
  }
  if (config.pairs.empty()) {
    throw Error(ExitCode::kBadInput, fmt::format("`{}` and `{}` have no model of the same name",
                                                 FromHere(sides.baseline), FromHere(sides.candidate)))
        .Remedy("give the models to compare the same names");
  }
  config.output_root = DefaultRunDirectory(sides.candidate, properties.platform);
  return config;
}

Config ReadSide(const std::string& path, const MeasureRequest& measurement, Device& device,
                const DeviceProperties& properties) {
  Config config = ReadConfig(path, ContextFor(device, properties));
  if (const std::string option = measurement.GivenOfModel(); !option.empty())
    throw Error(ExitCode::kUsage, fmt::format("`{}` is for models, and this is a configuration", option))
        .InFile(path)
        .Remedy("set it in the configuration");
  ApplyToExperiments(measurement, config);
  return config;
}

// The experiments that both have, the baseline's against the candidate's.
Config ConfigOfTwo(const Config& baseline, const Config& candidate) {
  Config config = candidate;
  config.file.clear();
  config.experiments.clear();
  config.pairs.clear();
  config.pairs_given = true;
  for (const ExperimentConfig& a : baseline.experiments) {
    for (const ExperimentConfig& b : candidate.experiments) {
      if (a.name != b.name || a.mode != "timing" || b.mode != "timing") continue;
      const std::string label = b.label.empty() ? b.name : b.label;
      ExperimentConfig first = a;
      ExperimentConfig second = b;
      first.name = "baseline_" + a.name;
      second.name = "candidate_" + b.name;
      first.label = label + " (baseline)";
      second.label = label + " (candidate)";
      for (const int threads : a.threads) {
        if (std::ranges::find(b.threads, threads) == b.threads.end()) continue;
        const bool several = a.threads.size() > 1;
        config.pairs.push_back({{first.name, threads, ""},
                                {second.name, threads, ""},
                                several ? fmt::format("{}, {} threads", label, threads) : label});
      }
      config.experiments.push_back(std::move(first));
      config.experiments.push_back(std::move(second));
    }
  }
  if (config.pairs.empty()) {
    throw Error(ExitCode::kBadInput, fmt::format("{} and {} have no experiment of the same name and threads",
                                                 baseline.file.string(), candidate.file.string()))
        .Remedy("give the experiments to compare the same names");
  }
  return config;
}

// What to measure. Every pair of its plan is a check. `lone`: as of ConfigOfFolders.
Config ConfigOf(const CheckSides& sides, const MeasureRequest& measurement, Device& device,
                std::vector<std::string>& lone) {
  const DeviceProperties properties = device.Properties();
  Config config;
  if (sides.kind == Kind::kModels) {
    config = ConfigOfModels(sides, measurement, device, properties);
  } else if (sides.kind == Kind::kFolders) {
    config = ConfigOfFolders(sides, measurement, device, properties, lone);
  } else {
    config = ReadSide(sides.baseline, measurement, device, properties);
    if (!sides.candidate.empty())
      config = ConfigOfTwo(config, ReadSide(sides.candidate, measurement, device, properties));
    RequireDevice(config, device.Name());
  }
  Apply(measurement, config);
  config.peaks = false;  // a verdict needs none
  if (config.output_root.empty()) {
    config.output_root = DefaultRunDirectory(config.experiments.back().model, properties.platform);
  }
  if (MakePlan(config).pairs.empty()) {
    throw Error(ExitCode::kBadInput, "has no pair of experiments to check")
        .InFile(sides.baseline)
        .Remedy("give it a second experiment, or compare_pairs (docs/reference/config.md)");
  }
  return config;
}

// --- measured now ----------------------------------------------------------------------------------------

// Takes the pairs of which nothing has to be measured out of the configuration, and the experiments that are
// in no other one.
std::vector<CheckPair> TakeEqualPairs(Config& config, const CheckLimits& limits) {
  const Plan plan = MakePlan(config);
  std::vector<CheckPair> equal;
  std::vector<PairConfig> left;
  std::set<std::string> taken, needed;
  for (const UnitPair& pair : plan.pairs) {
    const Unit &a = plan.units[pair.baseline], &b = plan.units[pair.candidate];
    const ExperimentConfig &of_a = config.experiments[a.experiment], &of_b = config.experiments[b.experiment];
    const bool is_equal = a.threads == b.threads && MeasureTheSame(of_a, of_b);
    for (const std::string& name : {of_a.name, of_b.name}) (is_equal ? taken : needed).insert(name);
    if (is_equal) {
      equal.push_back(EqualPair(pair, b.threads, limits));
    } else {
      left.push_back({{of_a.name, a.threads, pair.baseline_label},
                      {of_b.name, b.threads, pair.candidate_label},
                      pair.label});
    }
  }
  if (equal.empty()) return equal;
  config.pairs = std::move(left);
  config.pairs_given = true;
  std::erase_if(config.experiments, [&](const ExperimentConfig& experiment) {
    return taken.contains(experiment.name) && !needed.contains(experiment.name);
  });
  return equal;
}

// Whether something is checked that takes launches, which one for the operators' names does not.
bool NeedsTime(const CheckLimits& limits) {
  return limits.slowdown || limits.operator_slowdown || limits.memory_growth || limits.load_slowdown;
}

// One launch with one traced run, so that it is known which operators are the same.
void OnlyTrace(Config& config) {
  config.launches = 1;
  config.rounds = 1;
  for (ExperimentConfig& experiment : config.experiments) {
    experiment.runs = 1;
    experiment.warmup = 1;
  }
}

// Whether something is open that so many launches in all may decide. An experiment that was given up would be
// tried again each time, so it ends the whole.
bool MoreLaunchesMayDecide(const CheckReport& check, double launches) {
  if (check.error) return false;
  return std::ranges::any_of(check.pairs, [&](const CheckPair& pair) {
    return std::ranges::any_of(pair.items,
                               [&](const CheckItem& item) { return item.MayBeDecidedWith(launches); });
  });
}

// The launches that the time limit and the stop rule leave room for.
double MostLaunches(const Config& config, const ScheduleData& schedule) {
  const double last_look = stats::MakeStopRule().looks.back();
  if (!config.max_seconds || !(schedule.seconds > 0)) return last_look;
  return std::min(last_look, schedule.launches * *config.max_seconds / schedule.seconds);
}

// Where the command line says more of the time than the configuration.
void LimitTime(const CheckOptions& options, Config& config) {
  if (!options.budget && !options.measure.max_seconds && config.max_seconds) return;
  const double of_pairs =
      options.measure.max_seconds.value_or(kSecondsPerPair) * double(MakePlan(config).pairs.size());
  if (options.budget) {
    config.max_seconds = options.measure.max_seconds ? std::min(*options.budget, of_pairs) : *options.budget;
  } else if (!config.launches || options.measure.max_seconds) {
    config.max_seconds = of_pairs;
  }
}

// Of what so many launches would not decide.
void SayWhyNot(double launches, CheckReport& check) {
  for (CheckPair& pair : check.pairs) {
    for (CheckItem& item : pair.items) {
      const bool is_open = item.verdict.decision == GateDecision::kInconclusive && item.estimate;
      if (is_open && item.why_not.empty() && !item.MayBeDecidedWith(launches))
        item.why_not =
            fmt::format("the change is too close to the limit for about {:.0f} launches", launches);
    }
  }
}

void AddLone(const std::vector<std::string>& lone, CheckReport& check) {
  for (const std::string& model : lone) check.notes.push_back("not compared: " + model);
}

// Where there is nothing to measure.
Checked CheckEqual(std::vector<CheckPair> pairs, const std::string& model_id, const CheckOptions& options,
                   const std::vector<std::string>& lone) {
  Checked checked;
  CheckReport& report = checked.report.emplace();
  report.model_id = model_id;
  report.false_discovery = options.limits.false_discovery;
  report.require_conclusive = options.limits.require_conclusive;
  AddEqualPairs(std::move(pairs), report);
  AddLone(lone, report);
  return checked;
}

// Launches for one look after the other, until all is decided or the time is over.
Checked CheckNow(const CheckSides& sides, const CheckOptions& options, WorkflowProgress& progress) {
  const HistoryKeeper history(options.measure.history);
  const std::unique_ptr<Device> device = Open(options.measure.FirstDevice(), options.measure.use, progress);
  std::vector<std::string> lone;
  Config config = ConfigOf(sides, options.measure, *device, lone);
  CheckExternalData(config);
  const std::string model_id = sides.kind == Kind::kFolders ? "" : ModelId(config.experiments.back().model);
  std::vector<CheckPair> equal;
  if (!config.launches) equal = TakeEqualPairs(config, options.limits);
  if (config.pairs.empty() && !equal.empty()) return CheckEqual(std::move(equal), model_id, options, lone);
  if (!NeedsTime(options.limits)) OnlyTrace(config);
  LimitTime(options, config);
  const std::optional<int> launches = config.launches;
  MeasureOptions measure;
  if (!launches) measure.look_confidence = 1 - (1 - ScheduleData().confidence) * kLookShare;
  // Extra runs follow the last look, once.
  MeasureRequest request = options.measure;
  request.counters = request.instructions = request.watch = false;
  Checked checked;
  RunData& run = checked.measured.emplace();
  // One for all of it: between two looks nobody else is to be measured.
  DeviceTurn turn(*device, "check " + std::filesystem::path(sides.baseline).stem().string(), progress);
  for (const int look : launches ? std::vector<int>{*launches} : stats::MakeStopRule().looks) {
    config.launches = look;
    run = MeasureConfig(config, turn, request, progress, measure);
    if (run.status == RunData::Status::kInterrupted) return checked;
    measure.resume = true;
    measure.look_at_load = false;  // it was looked at before the first launches
    const ScheduleData& schedule = run.schedule;
    const bool time_is_over =
        schedule.launches < look ||
        (config.max_seconds &&
         schedule.seconds * (1 + 1.0 / std::max(1, schedule.launches)) > *config.max_seconds);
    if (run.status == RunData::Status::kFailed || time_is_over) break;
    const Report so_far = ReportOf(OpenRunDirectory(run.folder), {.join = false});
    if (!MoreLaunchesMayDecide(AssembleCheck(so_far, options.limits), MostLaunches(config, schedule))) break;
  }
  if (run.status != RunData::Status::kFailed &&
      (options.measure.counters || options.measure.instructions || options.measure.watch)) {
    measure.launches = false;
    run = MeasureConfig(config, turn, options.measure, progress, measure);
    if (run.status == RunData::Status::kInterrupted) return checked;
  }
  turn.End();
  checked.report = AssembleCheck(AnalyzeRunDirectory(run.folder), options.limits);
  SayWhyNot(MostLaunches(config, run.schedule), *checked.report);
  AddEqualPairs(std::move(equal), *checked.report);
  AddLone(lone, *checked.report);
  if (run.status == RunData::Status::kComplete) checked.kept = history.Keep({run.folder.string()});
  return checked;
}

// --- stored ----------------------------------------------------------------------------------------------

void RefuseMismatches(const RunData& baseline, const RunData& candidate, RunData& joined,
                      const std::vector<std::string>& allowed) {
  // "they differ in runner (baseline: 1.5; candidate: 1.6)", "neither says its device", each once.
  std::vector<std::string> refused, names;
  for (const ComparePair& pair : joined.pairs) {
    for (const Mismatch& mismatch : FindMismatches(baseline, joined.experiments[pair.baseline], candidate,
                                                   joined.experiments[pair.candidate])) {
      const auto& [name, a, b] = mismatch;
      const bool unknown = a == b;
      const std::string text = unknown
                                   ? "says its " + name
                                   : fmt::format("differ in {} (baseline: {}; candidate: {})", name, a, b);
      if (std::ranges::find(allowed, name) != allowed.end()) {
        AddOnce(fmt::format("accepted: {} {}", unknown ? "neither run" : "the two runs", text),
                joined.warnings);
      } else {
        AddOnce(fmt::format("{} {}", unknown ? "neither" : "they", text), refused);
        AddOnce(name, names);
      }
    }
  }
  if (refused.empty()) return;
  throw Error(ExitCode::kBadInput,
              fmt::format("the two runs cannot be compared: {}", fmt::join(refused, ", ")))
      .Remedy(fmt::format("let check measure both variants now, or accept that: `--allow-mismatch {}`",
                          fmt::join(names, ",")));
}

Checked CheckStored(const CheckSides& sides, const CheckOptions& options) {
  const MeasureRequest& m = options.measure;
  if (m.max_seconds || options.budget || m.launches || m.resume || !m.threads.empty() || m.runs ||
      !m.GivenOfModel().empty() || !m.output_root.empty() || m.FirstDevice() != "local" || m.use.max_temp ||
      m.use.wait_minutes || !m.use.power_mode.empty() || m.history.Asked()) {
    throw Error(ExitCode::kUsage, "a stored run is not measured again, so options of measuring do not apply")
        .Remedy("leave them out, or give models or configurations");
  }
  RunData run = OpenRunDirectory(sides.baseline);
  if (!sides.candidate.empty()) {
    const RunData candidate = OpenRunDirectory(sides.candidate);
    RunData joined = JoinStoredRuns(run, candidate);
    RefuseMismatches(run, candidate, joined, options.allowed);
    run = std::move(joined);
    run.schedule.drift = options.drift;
  }
  const Report report = ReportOf(std::move(run), {});
  if (report.run.pairs.empty()) {
    throw Error(ExitCode::kBadInput, "has no pair of experiments to check")
        .InFile(sides.baseline)
        .Remedy("give a second results directory");
  }
  return {AssembleCheck(report, options.limits), std::nullopt, {}};
}

}  // namespace

std::pair<std::string, std::string> SidesGiven(const CheckOptions& options) {
  std::pair<std::string, std::string> sides(options.baseline, options.candidate);
  for (const std::string& path : options.paths) {
    std::string& side = sides.first.empty() ? sides.first : sides.second;
    if (!side.empty())
      throw Error(ExitCode::kUsage, fmt::format("`{}` is a third input, but a check has two", path))
          .Remedy("give one baseline and one candidate");
    side = path;
  }
  return sides;
}

Checked CheckVariants(const CheckOptions& given, WorkflowProgress& progress) {
  CheckOptions options = given;
  MeasureRequest& measure = options.measure;
  measure.instructions = measure.instructions || options.max_instruction_growth;
  if (measure.instructions)
    options.limits.instruction_growth = options.max_instruction_growth.value_or(kInstructionGrowth);
  if (measure.instructions || options.max_slowdown) options.limits.slowdown = options.max_slowdown;
  for (const std::string& name : options.allowed) {
    const std::vector<std::string>& known = MismatchNames();
    if (std::ranges::find(known, name) != known.end()) continue;
    throw Error(ExitCode::kUsage, fmt::format("--allow-mismatch `{}` is not a condition", name))
        .Remedy(fmt::format("give one of {}", fmt::join(known, ", ")));
  }
  const CheckSides sides = SidesOf(options);
  if (sides.kind == Kind::kRuns) return CheckStored(sides, options);
  if (!options.allowed.empty() || options.drift) {
    throw Error(ExitCode::kUsage,
                fmt::format("`{}` is for two stored runs", options.drift ? "--drift" : "--allow-mismatch"))
        .Remedy("leave it out: variants that are measured now always match, and are interleaved");
  }
  return CheckNow(sides, options, progress);
}

}  // namespace etprof
