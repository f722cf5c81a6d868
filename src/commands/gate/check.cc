#include "commands/gate/check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <set>

#include "commands/analyze/analyze.h"
#include "commands/gate/gate_options.h"
#include "commands/measurement/measure.h"
#include "commands/terminal/show.h"
#include "commands/terminal/terminal.h"
#include "commands/terminal/terminal_progress.h"
#include "core/error.h"
#include "core/file/file.h"
#include "core/text/text.h"
#include "core/views.h"
#include "format/program/read/program_reader.h"
#include "measure/conditions/check_device.h"
#include "measure/measure.h"
#include "measure/schedule/forecast.h"
#include "measure/store/run_files.h"
#include "report/generate/generate.h"
#include "report/run/stored_runs.h"
#include "show/gates.h"
#include "stats/ratio/stop_rule.h"

namespace etprof {

namespace {

constexpr double kSecondsPerLanguageModelPair = 120;
constexpr const char* kTokensOption = "--tokens";

// --- measured now ----------------------------------------------------------------------------------------

// Makes the checks of a measurement for experiments that are not measured. Throws Error (kBadInput)
// for programs that cannot be read or lack the method, and as MakeGenerateConfig, CheckForDevice, and
// CheckMasks.
void RequireMeasurable(const Config& config, const CheckOptions& options, Device& device) {
  if (options.generate) {
    MakeGenerateConfig(config, options.tests, kTokensOption);
  } else {
    for (const ExperimentConfig& experiment : config.experiments) {
      const Program program = ReadProgramFile(experiment.model);
      if (FindMethod(program, experiment.method) != nullptr) continue;
      throw Error(ExitCode::kBadInput, fmt::format("has no method `{}`", experiment.method))
          .InFile(experiment.model.string())
          .Remedy(fmt::format("name one of: {}", fmt::join(MapEach(program.methods, &Method::name), ", ")));
    }
  }
  const DeviceProperties properties = device.Properties();
  CheckForDevice(config, device.Name(), properties);
  CheckMasks(config, properties);
}

// Removes from the configuration the pairs whose variants are identical, and the experiments that are only in
// such pairs. Returns the removed pairs, which need no measurement. Throws as RequireMeasurable.
std::vector<CheckPair> RemoveEqualPairs(Config& config, const CheckOptions& options, Device& device) {
  const Plan plan = MakePlan(config);
  std::vector<CheckPair> equal_pairs;
  std::vector<PairConfig> remaining_pairs;
  std::set<std::string> equal_names, unequal_names;
  for (const ComparePair& pair : plan.pairs) {
    const Unit &baseline_unit = plan.units[pair.baseline], &candidate_unit = plan.units[pair.candidate];
    const ExperimentConfig &baseline = config.experiments[baseline_unit.experiment],
                           &candidate = config.experiments[candidate_unit.experiment];
    const bool is_equal =
        baseline_unit.threads == candidate_unit.threads && HaveEqualSettings(baseline, candidate);
    for (const std::string& name : {baseline.name, candidate.name})
      (is_equal ? equal_names : unequal_names).insert(name);
    if (is_equal) {
      equal_pairs.push_back(MakeEqualPair(pair, candidate_unit.threads, options.limits, options.generate));
    } else {
      remaining_pairs.push_back({{baseline.name, baseline_unit.threads, pair.baseline_label},
                                 {candidate.name, candidate_unit.threads, pair.candidate_label},
                                 pair.label});
    }
  }
  if (equal_pairs.empty()) return equal_pairs;
  Config unmeasured = config;
  std::erase_if(unmeasured.experiments,
                [&](const ExperimentConfig& experiment) { return !equal_names.contains(experiment.name); });
  RequireMeasurable(unmeasured, options, device);
  config.pairs = std::move(remaining_pairs);
  config.pairs_given = true;
  std::erase_if(config.experiments, [&](const ExperimentConfig& experiment) {
    return equal_names.contains(experiment.name) && !unequal_names.contains(experiment.name);
  });
  return equal_pairs;
}

// True if any limit needs timed launches. The comparison of operator names does not need them.
bool NeedsTiming(const CheckLimits& limits) {
  return limits.slowdown || limits.operator_slowdown || limits.memory_growth || limits.load_slowdown ||
         limits.first_token_slowdown;
}

// Reduces the measurement to one launch with one traced run, which suffices to match the operators.
void LimitToOneTrace(Config& config) {
  config.launches = 1;
  config.rounds = 1;
  for (ExperimentConfig& experiment : config.experiments) {
    experiment.runs = 1;
    experiment.warmup = 1;
  }
}

// True if an undecided item may be decided with this total number of launches. False if an experiment failed,
// since every step would try it again.
bool MoreLaunchesMayDecide(const CheckReport& check, double launches) {
  if (check.has_error) return false;
  return std::ranges::any_of(check.pairs, [&](const CheckPair& pair) {
    return std::ranges::any_of(pair.items,
                               [&](const CheckItem& item) { return item.MayBeDecidedByLaunches(launches); });
  });
}

// The maximum number of launches within the time limit and the stop rule.
double MaxLaunches(const Config& config, const ScheduleData& schedule) {
  const double last_analysis = stats::MakeStopRule().interim_launches.back();
  if (!config.max_seconds || !(schedule.seconds > 0)) return last_analysis;
  return std::min(last_analysis, schedule.launches * *config.max_seconds / schedule.seconds);
}

// Sets the time limit if the command line gives one, or if neither it nor the configuration limits the time
// or the launches.
void LimitTime(const CheckOptions& options, Config& config) {
  if (!options.budget && !options.max_seconds && config.max_seconds) return;
  const double pairs_seconds =
      options.max_seconds.value_or(options.generate ? kSecondsPerLanguageModelPair : kSecondsPerPair) *
      double(MakePlan(config).pairs.size());
  if (options.budget) {
    config.max_seconds = options.max_seconds ? std::min(*options.budget, pairs_seconds) : *options.budget;
  } else if (!config.launches || options.max_seconds) {
    config.max_seconds = pairs_seconds;
  }
}

// Adds a reason to undecided items that this number of launches would not decide.
void AddInconclusiveReasons(double launches, CheckReport& check) {
  for (CheckPair& pair : check.pairs) {
    for (CheckItem& item : pair.items) {
      const bool is_undecided = item.verdict.decision == GateDecision::kInconclusive && item.estimate;
      if (is_undecided && item.inconclusive_reason.empty() && !item.MayBeDecidedByLaunches(launches))
        item.inconclusive_reason =
            fmt::format("the change is too close to the limit for about {:.0f} launches", launches);
    }
  }
}

void AddUnpairedNotes(const std::vector<std::string>& unpaired, CheckReport& check) {
  for (const std::string& model : unpaired) check.notes.push_back("not compared: " + model);
}

// Makes the result of a check that needs no measurement.
CheckOutcome MakeUnmeasuredOutcome(std::vector<CheckPair> pairs, const std::string& model_id,
                                   const CheckOptions& options, const std::vector<std::string>& unpaired) {
  CheckOutcome outcome;
  CheckReport& report = outcome.report.emplace();
  report.model_id = model_id;
  report.false_discovery_rate = options.limits.false_discovery_rate;
  report.require_conclusive = options.limits.require_conclusive;
  AddEqualPairs(std::move(pairs), report);
  AddUnpairedNotes(unpaired, report);
  if (options.history.IsRequested())
    report.notes.push_back("nothing was added to the history, since nothing was measured");
  return outcome;
}

// Measures until the next interim analysis and evaluates the limits, until all are decided or the time is
// over.
CheckOutcome MeasureAndCheck(const CheckInputs& inputs, const CheckOptions& options,
                             WorkflowProgress& progress) {
  const HistoryRecorder history(options.history);
  const std::unique_ptr<Device> device = Open(options.FirstDevice(), options, progress);
  std::vector<std::string> unpaired;
  Config config = MakeCheckConfig(inputs, options, *device, unpaired);
  CheckExternalData(config);
  const std::string model_id =
      inputs.kind == InputKind::kFolders ? "" : ModelId(config.experiments.back().model);
  std::vector<CheckPair> equal_pairs;
  if (!config.launches) equal_pairs = RemoveEqualPairs(config, options, *device);
  if (config.pairs.empty() && !equal_pairs.empty())
    return MakeUnmeasuredOutcome(std::move(equal_pairs), model_id, options, unpaired);
  RequireReference(options.history, config);
  if (!NeedsTiming(options.limits)) LimitToOneTrace(config);
  LimitTime(options, config);
  if (options.generate) config = MakeGenerateConfig(config, options.tests, kTokensOption);
  const std::optional<int> launches = config.launches;
  MeasureOptions measure;
  if (!launches) measure.interim_confidence = 1 - (1 - ScheduleData().confidence) * kInterimShare;
  // Extra runs (counters, instructions, watch) follow the last interim analysis, once.
  MeasureRequest request = options;
  request.counters = request.instructions = request.watch = false;
  CheckOutcome outcome;
  RunData& run = outcome.run.emplace();
  // Hold one lock during all launches, so that no other process measures between two interim analyses.
  DeviceLock lock(*device, "check " + std::filesystem::path(inputs.baseline).stem().string(), progress);
  for (const int target_launches :
       launches ? std::vector<int>{*launches} : stats::MakeStopRule().interim_launches) {
    config.launches = target_launches;
    run = MeasureConfig(config, lock, request, progress, measure);
    if (run.status == RunData::Status::kInterrupted) return outcome;
    measure.resume = true;
    measure.check_load = false;  // the load was checked before the first launches
    const ScheduleData& schedule = run.schedule;
    const bool time_is_over =
        schedule.launches < target_launches ||
        (config.max_seconds &&
         schedule.seconds * (1 + 1.0 / std::max(1, schedule.launches)) > *config.max_seconds);
    if (run.status == RunData::Status::kFailed || time_is_over) break;
    const Report interim = MakeReport(OpenRunDirectory(run.folder), {.join = false});
    if (!MoreLaunchesMayDecide(AssembleCheck(interim, options.limits), MaxLaunches(config, schedule))) break;
  }
  if (run.status != RunData::Status::kFailed && (options.counters || options.instructions || options.watch)) {
    measure.run_launches = false;
    run = MeasureConfig(config, lock, options, progress, measure);
    if (run.status == RunData::Status::kInterrupted) return outcome;
  }
  lock.Release();
  outcome.report = AssembleCheck(AnalyzeRunDirectory(run.folder), options.limits);
  AddInconclusiveReasons(MaxLaunches(config, run.schedule), *outcome.report);
  AddEqualPairs(std::move(equal_pairs), *outcome.report);
  AddUnpairedNotes(unpaired, *outcome.report);
  if (run.status == RunData::Status::kComplete) outcome.history_update = history.Record(run.folder);
  return outcome;
}

// --- stored runs -----------------------------------------------------------------------------------------

void RefuseMismatches(const RunData& baseline, const RunData& candidate, RunData& joined,
                      const std::vector<std::string>& allowed) {
  // Texts and names of the refused mismatches, without repetition, such as "they differ in runner (baseline:
  // 1.5; candidate: 1.6)" and "neither says its device".
  std::vector<std::string> refused_texts, refused_names;
  for (const ComparePair& pair : joined.pairs) {
    for (const Mismatch& mismatch : FindMismatches(baseline, joined.experiments[pair.baseline], candidate,
                                                   joined.experiments[pair.candidate])) {
      const auto& [name, baseline_value, candidate_value] = mismatch;
      const bool is_unknown = baseline_value == candidate_value;
      const std::string text = is_unknown ? "says its " + name : DifferenceText(mismatch);
      if (std::ranges::find(allowed, name) != allowed.end()) {
        AppendUnique(fmt::format("accepted: {} {}", is_unknown ? "neither run" : "the two runs", text),
                     joined.warnings);
      } else {
        AppendUnique(fmt::format("{} {}", is_unknown ? "neither" : "they", text), refused_texts);
        AppendUnique(name, refused_names);
      }
    }
  }
  if (refused_texts.empty()) return;
  throw Error(ExitCode::kBadInput,
              fmt::format("the two runs cannot be compared: {}", fmt::join(refused_texts, ", ")))
      .Remedy(fmt::format("let check measure both variants now, or accept that: `--allow-mismatch {}`",
                          fmt::join(refused_names, ",")));
}

// Throws Error (kBadInput) for a sustained run, too.
RunData OpenComparedRun(const std::string& path) {
  RunData run = OpenRunDirectory(path);
  if (run.schedule.sustained_seconds > 0)
    throw Error(ExitCode::kBadInput, "is a sustained run: it has one launch, and is not compared")
        .InFile(path)
        .Remedy("give runs that were measured without `--sustained`");
  return run;
}

CheckOutcome CheckStored(const CheckInputs& inputs, const CheckOptions& options) {
  if (options.max_seconds || options.budget || options.launches || options.resume ||
      !options.threads.empty() || options.runs || !options.FirstModelOption().empty() ||
      !options.output_root.empty() || options.FirstDevice() != "local" || options.max_temp ||
      options.wait_minutes || !options.power_mode.empty() || options.watch || options.history.IsRequested() ||
      options.tests != TokenTests()) {
    throw Error(ExitCode::kUsage, "a stored run is not measured again, so options of measuring do not apply")
        .Remedy("leave them out, or give models or configurations");
  }
  RunData run = OpenComparedRun(inputs.baseline);
  if (!inputs.candidate.empty()) {
    const RunData candidate = OpenComparedRun(inputs.candidate);
    RunData joined = JoinStoredRuns(run, candidate);
    RefuseMismatches(run, candidate, joined, options.allowed_mismatches);
    run = std::move(joined);
    run.schedule.drift = options.drift;
  }
  const Report report = MakeReport(std::move(run), {});
  if (report.run.pairs.empty()) {
    throw Error(ExitCode::kBadInput, "has no pair of experiments to check")
        .InFile(inputs.baseline)
        .Remedy("give a second results directory");
  }
  if (options.generate && !MakeGenerationReport(report)) {
    throw Error(ExitCode::kBadInput, "is not a run of `etprof generate`")
        .InFile(inputs.baseline)
        .Remedy("leave out `--generate`, or measure language models");
  }
  return {AssembleCheck(report, options.limits), std::nullopt, {}};
}

}  // namespace

std::pair<std::string, std::string> GetInputPaths(const CheckOptions& options) {
  std::pair<std::string, std::string> inputs(options.baseline, options.candidate);
  for (const std::string& path : options.paths) {
    std::string& input = inputs.first.empty() ? inputs.first : inputs.second;
    if (!input.empty())
      throw Error(ExitCode::kUsage, fmt::format("`{}` is a third input, but a check has two", path))
          .Remedy("give one baseline and one candidate");
    input = path;
  }
  return inputs;
}

CheckOutcome CheckVariants(const CheckOptions& requested, WorkflowProgress& progress) {
  CheckOptions options = requested;
  options.instructions = options.instructions || options.max_instruction_growth;
  if (options.instructions)
    options.limits.instruction_growth = options.max_instruction_growth.value_or(kInstructionGrowth);
  if (options.instructions || options.max_slowdown) options.limits.slowdown = options.max_slowdown;
  for (const std::string& name : options.allowed_mismatches) {
    const std::vector<std::string>& conditions = MismatchNames();
    if (std::ranges::find(conditions, name) != conditions.end()) continue;
    throw Error(ExitCode::kUsage, fmt::format("--allow-mismatch `{}` is not a condition", name))
        .Remedy(fmt::format("give one of {}", fmt::join(conditions, ", ")));
  }
  const CheckInputs inputs = ParseInputs(options);
  if (options.generate) {
    RequireDefaultMethodAndInputs(options, "--generate");
    if (inputs.kind == InputKind::kConfigs) {
      throw Error(ExitCode::kUsage, "`--generate` is for models, and this is a configuration")
          .InFile(inputs.baseline)
          .Remedy("give two models; a configuration that has places needs no `--generate`");
    }
  } else if (options.tests != TokenTests()) {
    throw Error(ExitCode::kUsage, "`--prompt`, `--tokens`, `--depth`, and `--chunk` need `--generate`")
        .Remedy("add it, or leave them out");
  } else if ((inputs.kind == InputKind::kModels || inputs.kind == InputKind::kFolders) &&
             (options.limits.first_token_slowdown ||
              options.limits.cache_growth != CheckLimits().cache_growth)) {
    throw Error(ExitCode::kUsage, "`--max-first-token-slowdown` and `--max-cache-growth` need `--generate`")
        .Remedy("add it, or leave them out");
  }
  const bool is_stored = inputs.kind == InputKind::kRuns;
  const bool joins_runs = is_stored && !inputs.candidate.empty();
  if (!joins_runs && (!options.allowed_mismatches.empty() || options.drift)) {
    throw Error(ExitCode::kUsage,
                fmt::format("`{}` is for two stored runs", options.drift ? "--drift" : "--allow-mismatch"))
        .Remedy("leave it out: variants that are measured together always match, and are interleaved");
  }
  return is_stored ? CheckStored(inputs, options) : MeasureAndCheck(inputs, options, progress);
}

namespace {

struct CheckArguments {
  CheckOptions options;
  View view;
  CheckOutputs files;
  bool is_static = false;
  StaticCheckOptions static_check;
};

int RunCheck(const CheckArguments& arguments) {
  if (arguments.is_static)
    return RunStaticCheck(arguments.options, arguments.static_check, arguments.files, arguments.view);
  const CheckOutputs files = arguments.files.WithSummaryFile();
  RequireDocumentTable(show::MakeCheckDocument({}), arguments.view);
  const CheckOutcome outcome = WithProgress(CheckVariants, arguments.options);
  if (!outcome.report) return ReportInterruption(*outcome.run);
  const CheckReport& check = *outcome.report;
  std::string details;
  if (outcome.run) {
    for (const Error& error : FindFailedExperiments(*outcome.run)) PrintError(error);
    details = (outcome.run->folder / kReportPage).string();
  }
  const show::Document document = show::MakeCheckDocument(check);
  files.Write(show::MakeTestSuite(check), document);
  ShowDocument(document, arguments.view, check, details);
  return ReportHistoryUpdates(
      {outcome.history_update}, arguments.options.history.file,
      static_cast<int>(GateExitCode(check.decision, check.require_conclusive, check.has_error)));
}

}  // namespace

std::function<int()> CheckCommand(CLI::App& app) {
  const auto arguments = std::make_shared<CheckArguments>();
  CheckOptions& options = arguments->options;
  app.add_option("path", options.paths,
                 "Baseline and candidate: two models, two folders of models, or two configurations (measured "
                 "now), or two results directories; or one configuration or results directory with its pairs")
      ->expected(1, 2)
      ->option_text("BASELINE [CANDIDATE]");
  AddOption(app, "--baseline PATH", options.baseline, "Baseline, as above");
  AddOption(app, "--candidate PATH|SPEC", options.candidate,
            "Candidate, as above, or how it differs from the baseline: isa=-avx2, threads=2, runner=PATH");
  AddOption(app, "--allow-mismatch NAME", options.allowed_mismatches,
            "Condition in which two stored runs may differ. May be repeated", CLI::IsMember(MismatchNames()))
      ->delimiter(',')
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  AddDescribedOptions(app, options);
  SetMeasureTexts({.max_seconds = "60 for each pair, 120 with --generate",
                   .launches = "10 to 160, until every check is decided",
                   .threads = "1, or the configuration's",
                   .output_root = "out_<model>/runs/<platform>",
                   .several_threads = false},
                  app);
  AddGateFileOptions(app, arguments->files);
  AddDocumentOptions(app, arguments->view, "Show the result as JSON",
                     {show::MakeCheckDocument({}), show::MakeStaticCheckDocument({})});
  CLI::Option* is_static = app.add_flag("--static", arguments->is_static,
                                        "Compare two programs without running them: delegation, SME2, "
                                        "memory, and size. No option of a measurement goes with it");
  AddThresholdsOption(app, arguments->static_check);
  app.get_option("--thresholds")->needs(is_static);
  std::vector<std::string> allowed_options = ViewOptionNames();
  allowed_options.insert(allowed_options.end(), {"path", "--baseline", "--candidate", "--require-conclusive",
                                                 "--thresholds", "--junit", "--github-summary", "--help"});
  ExcludeOtherOptions(app, is_static, allowed_options);
  return [arguments] { return RunCheck(*arguments); };
}

}  // namespace etprof
