#include "commands/gate/history.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <map>
#include <memory>
#include <utility>

#include "commands/analyze/analyze.h"
#include "commands/gate/gate_options.h"
#include "commands/measure/suite.h"
#include "commands/terminal/show.h"
#include "commands/terminal/terminal.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/file/file.h"
#include "core/text/text.h"
#include "core/units.h"
#include "core/views.h"
#include "device/tool.h"
#include "history/record.h"
#include "measure/config/config.h"
#include "show/formats/export/history_export.h"
#include "show/gates.h"

namespace etprof {

namespace {

namespace fs = std::filesystem;

// Runs git in the working directory and returns its output; "": git failed or is not installed.
std::string RunGit(const std::vector<std::string>& arguments) {
  std::vector<std::string> command = {"git"};
  command.insert(command.end(), arguments.begin(), arguments.end());
  try {
    const ToolResult result = RunTool(command, {.timeout_seconds = 10});
    return result.Success() ? std::string(Trimmed(result.output)) : "";
  } catch (const Error& error) {
    if (error.exit_code() == ExitCode::kInterrupted) throw;
    return "";
  }
}

UnixTime ParseTime(const std::string& text) {
  if (const auto seconds = AsNumber<UnixTime>(text); seconds && *seconds >= 0) return *seconds;
  if (const auto seconds = ParseUtc(text)) return *seconds;
  throw Error(ExitCode::kUsage, fmt::format("`--time {}` is not a time", text))
      .Remedy("give one such as `2026-01-31T12:00:00Z`, or seconds since 1970");
}

// Returns the model's name in the suite if the run is a suite's cell, since two models of a suite may have
// the same file name; "" for all other runs.
std::string NameInSuite(const std::string& run) {
  std::error_code error;
  const fs::path folder = fs::weakly_canonical(run, error);
  if (error) return "";
  const fs::path suite = folder.parent_path().parent_path().parent_path().parent_path();
  if (!IsSuiteFolder(suite.string())) return "";
  for (const SuiteState::Cell& cell : ReadSuiteState(suite).cells) {
    if (fs::weakly_canonical(cell.folder, error) != folder) continue;
    return SuiteProgramName(cell.model, cell.dtype);
  }
  return "";
}

// A commit: its full hash if git knows it in the working directory, else the name that was given.
struct ResolvedCommit {
  std::string name;
  std::optional<UnixTime> time;  // absent: git does not know the commit
  bool unknown = false;  // the working directory is in a checkout in which git does not know the commit
};
// Throws Error (kUsage) for an empty name, and for HEAD outside of a repository.
ResolvedCommit ResolveCommit(const std::string& name) {
  if (name.empty()) {
    throw Error(ExitCode::kUsage, "a measurement is kept with its commit, and none is given")
        .Remedy("name it: `--commit SHA`, or `--commit HEAD` in its checkout");
  }
  const bool is_revision = name.front() != '-';
  const std::string hash =
      is_revision ? RunGit({"rev-parse", "--verify", "--quiet", "--end-of-options", name + "^{commit}"}) : "";
  if (!hash.empty())
    return {.name = hash,
            .time = AsNumber<UnixTime>(RunGit({"show", "-s", "--no-show-signature", "--format=%ct", hash})),
            .unknown = false};
  if (name == "HEAD") {
    throw Error(ExitCode::kUsage, "a measurement is kept with its commit, and git knows no HEAD here")
        .Remedy("name the commit: `--commit SHA`, or run etprof in its checkout");
  }
  return {.name = name, .time = std::nullopt, .unknown = !RunGit({"rev-parse", "--git-dir"}).empty()};
}

}  // namespace

HistoryAdditions AddToHistory(const AddToHistoryOptions& options) {
  if (options.runs.empty())
    throw Error(ExitCode::kUsage, "no run to add")
        .Remedy("name results directories: `etprof history add RUN`");
  const ResolvedCommit commit = ResolveCommit(options.commit);
  HistoryAdditions result;
  result.commit = commit.name;
  result.unknown_commit = commit.unknown && options.time.empty();
  RecordOptions record_options{.commit = commit.name,
                               .time = commit.time,
                               .reference = options.reference,
                               .local = options.device_name,
                               .model = {}};
  if (!options.time.empty()) record_options.time = ParseTime(options.time);
  std::vector<HistoryRun> records;
  bool has_local = false;
  for (const std::string& path : options.runs) {
    record_options.model = NameInSuite(path);
    RunData run = OpenRunDirectory(path);
    has_local = has_local || (run.device && run.device->name == "local");
    RecordedRun new_record = MakeHistoryRun(MakeReport(std::move(run), {.join = false}), record_options);
    records.push_back(std::move(new_record.run));
    result.runs.push_back(
        {path, HistoryFile::AddOutcome::kNew, std::move(new_record.omitted_experiments), {}});
  }
  if (!options.device_name.empty() && !has_local &&
      options.on_conflict == HistoryFile::CommitConflict::kRefused)
    throw Error(ExitCode::kUsage, "`--device-name` names this machine, and another device was measured")
        .Remedy("leave it out: that device has a name");
  HistoryFile history = HistoryFile::OpenToAdd(options.file);
  for (std::size_t i = 0; i < records.size(); ++i) {
    result.runs[i].added = history.Add(records[i], options.on_conflict);
    result.runs[i].operator_conflicts = history.FindOperatorConflicts(records[i].identity);
  }
  result.run_count = history.CountRuns();
  return result;
}

void RequireReference(const HistoryRequest& request, const Config& config) {
  if (!request.IsRequested() || request.reference.empty()) return;
  const auto names = MapEach(config.experiments, &ExperimentConfig::name);
  if (std::ranges::find(names, request.reference) != names.end()) return;
  throw Error(ExitCode::kUsage,
              fmt::format("`--reference {}`: the measurement has no such experiment", request.reference))
      .Remedy(fmt::format("name one of: {}", fmt::join(names, ", ")));
}

HistoryRecorder::HistoryRecorder(const HistoryRequest& request) : request_(request) {
  if (!request.IsRequested()) return;
  request_.commit = ResolveCommit(request.commit).name;
  HistoryFile::RequireAddable(request_.file);
}

HistoryUpdate HistoryRecorder::Record(const fs::path& run, HistoryFile::CommitConflict on_conflict) const {
  HistoryUpdate update;
  if (!request_.IsRequested()) return update;
  try {
    update.added = AddToHistory({request_, {run.string()}, "", on_conflict});
  } catch (const std::exception& error) {
    update.error = ToError(error);
  }
  return update;
}

HistoryReport ReadHistory(const HistoryOptions& options) {
  HistoryFile history = HistoryFile::OpenToRead(options.file);
  std::vector<TrendData> data = history.Trends(options.filter);
  if (data.empty()) {
    throw Error(ExitCode::kBadInput, "has no measurement that matches the filters")
        .InFile(options.file)
        .Remedy("leave out a filter. `etprof history` shows all series");
  }
  const std::string& operator_name = options.filter.operator_name;
  const auto has_operator = [](const TrendData& trend) {
    return std::ranges::any_of(trend.points,
                               [](const TrendPoint& point) { return point.self.mean.has_value(); });
  };
  if (!operator_name.empty() && std::ranges::none_of(data, has_operator)) {
    throw Error(ExitCode::kBadInput, fmt::format("has no operator `{}` in these measurements", operator_name))
        .InFile(options.file)
        .Remedy("name a part of an operator's name, such as `Convolution`, or its key");
  }
  return FindTrends(std::move(data), options.filter.operator_name, options.trends);
}

namespace {

// Returns the full hash if git knows the commit here, else the name as given.
std::string FullCommitName(const std::string& name) {
  if (name.empty())
    throw Error(ExitCode::kUsage, "no commit is given")
        .Remedy("name one that `etprof history` shows: `--commit SHA`");
  return ResolveCommit(name).name;
}

HistoryFile OpenToChange(const std::string& file) {
  (void)HistoryFile::OpenToRead(file);  // throws if it does not exist
  return HistoryFile::OpenToAdd(file);
}

std::vector<SeriesKey> AcceptChangesInHistory(const std::string& file, const HistoryFilter& filter,
                                              const std::string& commit, const std::string& reason) {
  if (reason.empty())
    throw Error(ExitCode::kUsage, "a change is accepted for a reason, and none is given")
        .Remedy("say it: `--reason \"batch norm is exact now\"`");
  const std::string name = FullCommitName(commit);
  return OpenToChange(file).Accept(filter, name, reason, static_cast<UnixTime>(std::time(nullptr)));
}

std::int64_t DeleteFromHistory(const std::string& file, const std::string& commit) {
  const std::string name = FullCommitName(commit);
  return OpenToChange(file).Delete(name);
}

struct HistoryMergeResult {
  std::int64_t added_runs = 0, total_runs = 0;
};
// Merges the other histories one by one, after all of them could be opened. If one is damaged inside, those
// before it stay merged. Creates `file` if it does not exist.
HistoryMergeResult MergeHistories(const std::string& file, const std::vector<std::string>& others) {
  if (others.empty())
    throw Error(ExitCode::kUsage, "no history to merge")
        .Remedy("name one: `etprof history merge OTHER.sqlite`");
  for (const std::string& other : others) {
    (void)HistoryFile::OpenToRead(other);
    std::error_code error;
    if (fs::equivalent(other, file, error))
      throw Error(ExitCode::kUsage, "is the history itself").InFile(other).Remedy("name another one");
  }
  HistoryFile history = HistoryFile::OpenToAdd(file);
  HistoryMergeResult result;
  for (const std::string& other : others) {
    HistoryFile other_history = HistoryFile::OpenToRead(other);
    result.added_runs += history.Merge(other_history);
  }
  result.total_runs = history.CountRuns();
  return result;
}

struct HistoryArguments {
  std::string action = "show";
  AddToHistoryOptions add = {{.file = kHistoryFile, .commit = ""}};
  HistoryOptions read;
  View view;
  CheckOutputs files;
  bool require_conclusive = false;
  std::string reason;
  std::string format = "bmf", out = "-";
};

// The options of each action, besides --history. "show" and "check" also have those of ViewOptionNames().
const std::map<std::string, std::vector<std::string>> kActionOptions = {
    {"add", {"run", "--commit", "--time", "--reference", "--device-name"}},
    {"show", {"--model", "--device", "--experiment", "--operator", "--last", "--smallest"}},
    {"check",
     {"--model", "--device", "--experiment", "--operator", "--last", "--smallest", "--since",
      "--require-conclusive", "--junit", "--github-summary"}},
    {"accept", {"--commit", "--reason", "--model", "--device", "--experiment"}},
    {"delete", {"--commit"}},
    {"merge", {"run"}},
    {"export", {"--model", "--device", "--experiment", "--last", "--format", "--out"}}};

void RefuseOptionsOfOtherActions(const CLI::App& app, const std::string& action) {
  std::vector<std::string> allowed_names = {"action", "--history"};
  const auto allow_options = [&](const std::vector<std::string>& names) {
    allowed_names.insert(allowed_names.end(), names.begin(), names.end());
  };
  allow_options(kActionOptions.at(action));
  if (action == "show" || action == "check") allow_options(ViewOptionNames());
  for (const CLI::Option* option : app.get_options()) {
    const bool is_allowed =
        std::ranges::any_of(allowed_names, [&](const std::string& name) { return option->check_name(name); });
    if (is_allowed || option->count() == 0) continue;
    throw Error(
        ExitCode::kUsage,
        fmt::format("`{}` does not go with `etprof history {}`",
                    option->get_positional() ? option->results().front() : option->get_name(), action))
        .Remedy(option->get_positional() ? "name the history's file with `--history FILE`"
                                         : "see `etprof history --help`");
  }
}

int RunAdd(const HistoryArguments& arguments) {
  const HistoryAdditions additions = AddToHistory(arguments.add);
  ReportHistoryAdditions(additions, [](const std::string& line) { Print("{}\n", line); });
  Print("{}: {}\n", arguments.add.file, CountedText(additions.run_count, "measurement"));
  return 0;
}

int RunHistory(const CLI::App& app, HistoryArguments& arguments) {
  RefuseOptionsOfOtherActions(app, arguments.action);
  arguments.read.file = arguments.add.file;
  if (arguments.action == "add") return RunAdd(arguments);
  const std::string& file = arguments.read.file;
  if (arguments.action == "accept") {
    for (const SeriesKey& key :
         AcceptChangesInHistory(file, arguments.read.filter, arguments.add.commit, arguments.reason))
      Print("{}: accepted\n", GetName(key));
    return 0;
  }
  if (arguments.action == "delete") {
    Print("{}: deleted {}\n", file,
          CountedText(DeleteFromHistory(file, arguments.add.commit), "measurement"));
    return 0;
  }
  if (arguments.action == "merge") {
    const HistoryMergeResult merged = MergeHistories(file, arguments.add.runs);
    Print("{}: {}, {} of them new\n", file, CountedText(merged.total_runs, "measurement"), merged.added_runs);
    return 0;
  }
  if (arguments.action == "export") {
    const HistoryReport history = ReadHistory(arguments.read);
    const auto format = std::ranges::find(HistoryFormats(), arguments.format, &HistoryFormat::name);
    WriteOutput(arguments.out, [&](std::ostream& out) { format->render(history, out); });
    return 0;
  }
  if (arguments.action == "show") {
    ShowDocument(show::MakeHistoryDocument(ReadHistory(arguments.read), file), arguments.view, "");
    return 0;
  }
  arguments.read.filter.with_operators = arguments.read.filter.operator_name.empty();
  const CheckOutputs outputs = arguments.files.WithSummaryFile();
  const HistoryReport history = ReadHistory(arguments.read);
  const show::Document document = show::MakeHistoryCheckDocument(history, file, arguments.require_conclusive);
  outputs.Write(show::MakeTestSuite(history, file, arguments.require_conclusive), document);
  ShowDocument(document, arguments.view, history);
  return static_cast<int>(GateExitCode(history.decision, arguments.require_conclusive));
}

}  // namespace

std::function<int()> HistoryCommand(CLI::App& app) {
  const auto arguments = std::make_shared<HistoryArguments>();
  AddToHistoryOptions& add = arguments->add;
  HistoryFilter& filter = arguments->read.filter;
  app.add_option(
         "action", arguments->action,
         "What to do. add: Keep measurements. show (default): Show trends with their noise. check: "
         "Fail if something became slower. accept: Let check pass the changes up to a commit. merge: Add "
         "other histories. delete: Delete the measurements of a commit. export: Write a file for another "
         "tracker")
      ->check(CLI::IsMember({"add", "show", "check", "accept", "merge", "delete", "export"}));
  app.add_option("run", add.runs, "Results directories to add, or histories to merge")->expected(-1);
  AddOption(app, "--history FILE", add.file, fmt::format("File of the history (default: {})", kHistoryFile));
  AddOption(app, "--commit SHA", add.commit,
            "Commit that was measured, or that is accepted or deleted: HEAD, a hash, or any name");
  AddOption(app, "--reason TEXT", arguments->reason, "Why changes are accepted");
  AddOption(app, "--time TIME", add.time,
            "Time of that commit: 2026-01-31T12:00:00Z, or seconds since 1970 (default: its time in git "
            "here, else that of the measurement)");
  AddOption(app, "--reference NAME", add.reference,
            "Experiment that does not change with the commit, to compare the others with");
  AddOption(app, "--device-name NAME", add.device_name,
            "Name of the machine that was measured, where that was local (default: local)");
  AddOption(app, "--model NAME", filter.model, "Only models with this in their names");
  AddOption(app, "--device NAME", filter.device, "Only devices with this in their names");
  AddOption(app, "--experiment NAME", filter.experiment, "Only experiments with this in their names");
  AddOption(app, "--operator NAME", filter.operator_name,
            "Show the self time of operators with this in their names instead of the latency");
  AddOption(app, "--last N", filter.last, "Newest measurements of each series, or 0 for all (default: 200)",
            CLI::Range(0, 1'000'000));
  const auto smallest = [arguments](const std::string& text) {
    arguments->read.trends.min_change = ParsePositivePercentage("--smallest", text);
  };
  app.add_option_function<std::string>(
         "--smallest", smallest,
         "Smallest change that fails, and that a series must be able to detect (default: 1%)")
      ->type_name(kPercent);
  AddOption(app, "--since SHA", arguments->read.trends.since, "Accept changes up to this commit");
  app.add_flag("--require-conclusive", arguments->require_conclusive,
               "Fail if a series cannot detect such a change (exit code 1 instead of 5)");
  app.add_option("--format", arguments->format,
                 "Format to export: bmf (Bencher's, of the newest measurements) or hud (PyTorch HUD's) "
                 "(default: bmf)")
      ->check(CLI::IsMember(
          MapEach(HistoryFormats(), [](const HistoryFormat& format) { return std::string(format.name); })));
  AddOption(app, "--out FILE", arguments->out, "File to write (default: stdout)");
  AddGateFileOptions(app, arguments->files);
  AddDocumentOptions(app, arguments->view, "Show the result as JSON",
                     {show::MakeHistoryDocument({}, ""), show::MakeHistoryCheckDocument({}, "", false)});
  return [&app, arguments] { return RunHistory(app, *arguments); };
}

}  // namespace etprof
