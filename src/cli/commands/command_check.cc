#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <optional>

#include "cli/analyze_files.h"
#include "cli/check_config.h"
#include "cli/check_outputs.h"
#include "cli/commands.h"
#include "cli/measure_and_show.h"
#include "cli/show_document.h"
#include "core/error.h"
#include "core/text.h"
#include "report/check.h"
#include "report/stored_runs.h"
#include "stats/stop_rule.h"

namespace etprof {
namespace {

constexpr double kSecondsPerPair = 60;

struct CheckOptions {
  std::string table;
  DocumentFiles files;
  std::vector<std::string> paths;
  std::string baseline, candidate;
  std::string slowdown = "2%", operator_slowdown, operator_share = "1%", memory_growth, load_slowdown;
  std::optional<double> max_seconds, budget;
  std::optional<int> launches;
  CheckMeasurement measurement;
  std::vector<std::string> allowed;
  std::string junit, github_summary;
  bool require_conclusive = false, json = false, all = false, resume = false;
};

// "2%" is 0.02. Below 0, the candidate has to be better by so much.
std::optional<double> Percent(const char* option, const std::string& text) {
  if (text.empty()) return std::nullopt;
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  const std::string unit = end;
  if (end == text.c_str() || (unit != "%" && unit != " %") || !std::isfinite(value) || value <= -100) {
    throw Error(ExitCode::kUsage, fmt::format("{} `{}` is not a percentage", option, text))
        .Remedy(fmt::format("give one, such as `{} 2%`", option));
  }
  return value / 100;
}

CheckLimits LimitsOf(const CheckOptions& options) {
  CheckLimits limits;
  limits.slowdown = Percent("--max-slowdown", options.slowdown);
  limits.operator_slowdown = Percent("--max-operator-slowdown", options.operator_slowdown);
  limits.least_operator_share = *Percent("--min-operator-share", options.operator_share);
  limits.memory_growth = Percent("--max-memory-growth", options.memory_growth);
  limits.load_slowdown = Percent("--max-load-slowdown", options.load_slowdown);
  limits.require_conclusive = options.require_conclusive;
  return limits;
}

Report ReportOf(RunData run) {
  std::vector<std::optional<Profile>> profiles = ProfileRun(run, true);
  return Assemble(std::move(run), std::move(profiles));
}

int Finish(const CheckReport& check, const CheckOptions& options, const std::string& github_summary,
           const std::string& more) {
  WriteCheck(check,
             {options.junit, github_summary, options.all, options.json, options.table, options.files, more});
  return ExitCodeOf(check);
}

// --- measured now ----------------------------------------------------------------------------------------

// Whether something is open that a longer measurement could close. An experiment that was given up would be
// tried again each time, so it ends the whole.
bool MoreLaunchesMayDecide(const CheckReport& check) {
  if (check.error) return false;
  for (const CheckPair& pair : check.pairs) {
    for (const CheckItem& item : pair.items) {
      if (item.verdict.growth && item.verdict.decision == GateDecision::kInconclusive) return true;
    }
  }
  return false;
}

// Launches for one look after the other, until all is decided or the time is over.
int CheckNow(const CheckSides& sides, const CheckOptions& options, const CheckLimits& limits,
             const std::string& github_summary) {
  const std::unique_ptr<Device> device = Open(options.measurement.device);
  Config config = CheckConfig(sides, options.measurement, *device);
  const std::optional<int> launches = options.launches ? options.launches : config.launches;
  if (options.budget || options.max_seconds || !config.max_seconds) {
    const double of_pairs =
        options.max_seconds.value_or(kSecondsPerPair) * double(MakePlan(config).pairs.size());
    if (options.budget) {
      config.max_seconds = options.max_seconds ? std::min(*options.budget, of_pairs) : *options.budget;
    } else if (!launches || options.max_seconds) {
      config.max_seconds = of_pairs;
    }
  }
  MeasureWithProgressOptions measure;
  measure.resume = options.resume;
  measure.wait_for_device_seconds = options.measurement.device.wait_seconds;
  if (!launches) measure.look_confidence = 1 - (1 - ScheduleData().confidence) * kLookShare;
  const std::vector<int> looks = launches ? std::vector<int>{*launches} : stats::MakeStopRule().looks;
  RunData run;
  for (const int look : looks) {
    config.launches = look;
    run = MeasureWithProgress(config, *device, measure);
    if (run.status == RunData::Status::kInterrupted)
      return TellInterruption(run, "the same command with --resume");
    measure.resume = true;
    measure.look_at_load = false;  // it was looked at before the first launches
    const ScheduleData& schedule = run.schedule;
    const bool time_is_over =
        schedule.launches < look ||
        (config.max_seconds &&
         schedule.seconds * (1 + 1.0 / std::max(1, schedule.launches)) > *config.max_seconds);
    if (run.status == RunData::Status::kFailed || time_is_over) break;
    if (!MoreLaunchesMayDecide(AssembleCheck(ReportOf(OpenRunDirectory(run.folder)), limits))) break;
  }
  OutputFolders folders;
  folders.report = run.folder;
  RunPrograms programs;
  const Report report = AnalyzeInto(OpenRunDirectory(run.folder), folders, true, programs);
  TellFailures(run);
  return Finish(AssembleCheck(report, limits), options, github_summary,
                (run.folder / "report.html").string());
}

// --- stored ----------------------------------------------------------------------------------------------

void RefuseMismatches(const RunData& baseline, const RunData& candidate, RunData& joined,
                      const std::vector<std::string>& allowed) {
  std::vector<std::string> refused;  // "runner (baseline 1.5, candidate 1.6)", each once
  std::vector<std::string> names;
  for (const ComparePair& pair : joined.pairs) {
    for (const Mismatch& mismatch : FindMismatches(baseline, joined.experiments[pair.baseline], candidate,
                                                   joined.experiments[pair.candidate])) {
      const std::string text = fmt::format("{} (baseline: {}; candidate: {})", mismatch.name,
                                           mismatch.baseline, mismatch.candidate);
      const bool accepted = std::find(allowed.begin(), allowed.end(), mismatch.name) != allowed.end();
      std::vector<std::string>& list = accepted ? joined.warnings : refused;
      const std::string line = accepted ? "accepted as it is: the two runs differ in " + text : text;
      AddOnce(line, list);
      if (!accepted && std::find(names.begin(), names.end(), mismatch.name) == names.end())
        names.push_back(mismatch.name);
    }
  }
  if (refused.empty()) return;
  throw Error(ExitCode::kBadInput,
              fmt::format("the two runs cannot be compared: they differ in {}", fmt::join(refused, ", ")))
      .Remedy(
          fmt::format("let check measure both variants now, or accept the difference: `--allow-mismatch {}`",
                      fmt::join(names, ",")));
}

int CheckStored(const CheckSides& sides, const CheckOptions& options, const CheckLimits& limits,
                const std::string& github_summary) {
  const CheckMeasurement& m = options.measurement;
  if (options.max_seconds || options.budget || options.launches || options.resume || m.threads ||
      m.experiment.runs || !m.experiment.Given().empty() || !m.output_root.empty() ||
      m.device.name != "local" || m.device.max_temp || !m.device.power_mode.empty()) {
    throw Error(ExitCode::kUsage, "a stored run is not measured again, so options of measuring do not apply");
  }
  RunData run = OpenRunDirectory(sides.baseline);
  if (sides.candidate.empty()) {
    const Report report = ReportOf(std::move(run));
    if (report.run.pairs.empty()) {
      throw Error(ExitCode::kBadInput, "has no pair of experiments to check")
          .InFile(sides.baseline)
          .Remedy("give a second run directory");
    }
    return Finish(AssembleCheck(report, limits), options, github_summary, "");
  }
  const RunData candidate = OpenRunDirectory(sides.candidate);
  RunData joined = JoinStoredRuns(run, candidate);
  RefuseMismatches(run, candidate, joined, options.allowed);
  return Finish(AssembleCheck(ReportOf(std::move(joined)), limits), options, github_summary, "");
}

int RunCheck(const CheckOptions& options) {
  const CheckLimits limits = LimitsOf(options);
  const std::string github_summary = GithubSummaryFile(options.github_summary);
  const CheckSides sides = SidesOf(options.paths, options.baseline, options.candidate);
  if (sides.kind == CheckSides::Kind::kRuns) return CheckStored(sides, options, limits, github_summary);
  if (!options.allowed.empty()) {
    throw Error(ExitCode::kUsage,
                "--allow-mismatch is for two stored runs; variants that are measured now always match");
  }
  return CheckNow(sides, options, limits, github_summary);
}

void AddLimits(CLI::App& app, CheckOptions& options) {
  app.add_option("--max-slowdown", options.slowdown, "of the latency [2%]")->type_name("P%");
  app.add_option("--max-operator-slowdown", options.operator_slowdown, "of every operator [not checked]")
      ->type_name("P%");
  app.add_option("--min-operator-share", options.operator_share,
                 "operators that take less of the time on both sides are not checked [1%]")
      ->type_name("P%");
  app.add_option("--max-memory-growth", options.memory_growth, "of the peak memory [not checked]")
      ->type_name("P%");
  app.add_option("--max-load-slowdown", options.load_slowdown, "of loading the model [not checked]")
      ->type_name("P%");
  app.add_flag("--require-conclusive", options.require_conclusive,
               "what cannot be decided fails (exit code 1, not 5)");
  app.add_option("--allow-mismatch", options.allowed,
                 "of two stored runs, accept that they differ in this; may be repeated")
      ->delimiter(',')
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->check(CLI::IsMember(MismatchNames()))
      ->type_name("NAME");
}

void AddMeasurement(CLI::App& app, CheckOptions& options) {
  app.add_option("--max-seconds", options.max_seconds, "time for each pair, at most [60]")
      ->check(CLI::Range(0.1, 1e6))
      ->type_name("S");
  app.add_option("--budget", options.budget, "time for all pairs together, at most")
      ->check(CLI::Range(0.1, 1e7))
      ->type_name("S");
  app.add_option("--launches", options.launches, "processes of each side [10 to 160, until all is decided]")
      ->check(CLI::Range(2, 10'000))
      ->type_name("L");
  app.add_option("--threads", options.measurement.threads, "threads [1, or the configuration's]")
      ->check(CLI::Range(1, 1024))
      ->type_name("N");
  AddExperimentOptions(app, options.measurement.experiment);
  app.add_option("--output-root", options.measurement.output_root,
                 "the run directory [out_<model>/runs/<platform>]")
      ->type_name("DIR");
  AddDeviceOption(app, options.measurement.device);
  AddCoolingOptions(app, options.measurement.device);
  app.add_flag("--resume", options.resume, "go on with an interrupted check of the same command");
}

}  // namespace

CommandSpec CheckCommand() {
  return {"check", "fail where a candidate is slower than a baseline: a gate for CI",
          "etprof check main.pte change.pte --max-slowdown 2% --junit check.xml --github-summary",
          [](CLI::App& app) -> std::function<int()> {
            const auto options = std::make_shared<CheckOptions>();
            app.add_option(
                   "path", options->paths,
                   "baseline and candidate: two models or two configurations (measured now), or two run "
                   "directories; or one configuration or run directory with its pairs")
                ->expected(1, 2)
                ->option_text("BASELINE [CANDIDATE]");
            app.add_option("--baseline", options->baseline, "the baseline, as above")->type_name("PATH");
            app.add_option("--candidate", options->candidate,
                           "the candidate, as above; for a model also what differs: isa=-avx2, threads=2, "
                           "runner=PATH")
                ->type_name("PATH|SPEC");
            AddLimits(app, *options);
            AddMeasurement(app, *options);
            app.add_option("--junit", options->junit, "write a JUnit file")->type_name("FILE");
            app.add_flag("--github-summary", options->github_summary,
                         "append a Markdown table to $GITHUB_STEP_SUMMARY, or with =FILE to that");
            app.add_flag("--json", options->json, "the result as JSON on stdout");
            AddTableOption(app, options->table, {"checks"});
            AddDocumentFiles(app, options->files);
            app.add_flag("--all", options->all, "show every check and every operator, also those that pass");
            return [options] { return RunCheck(*options); };
          }};
}

}  // namespace etprof
