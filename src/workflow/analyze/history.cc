#include "workflow/analyze/history.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <utility>

#include "core/error.h"
#include "core/file/file.h"
#include "core/text/text.h"
#include "core/utc.h"
#include "core/views.h"
#include "device/tool.h"
#include "history/record.h"
#include "show/formats/export/history_export.h"
#include "workflow/analyze/analyze.h"
#include "workflow/measure/suite.h"

namespace etprof {
namespace {

namespace fs = std::filesystem;

// Runs git in the working directory and returns its output; "": git failed or is not installed.
std::string RunGit(const std::vector<std::string>& words) {
  std::vector<std::string> command = {"git"};
  command.insert(command.end(), words.begin(), words.end());
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

// The model's name in the suite if the run is a suite's cell, since two models of a suite may have the same
// file name; "": it is not.
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

}  // namespace

NamedCommit ResolveCommit(const std::string& name) {
  if (name.empty()) {
    throw Error(ExitCode::kUsage, "a measurement is kept with its commit, and none is given")
        .Remedy("name it: `--commit SHA`, or `--commit HEAD` in its checkout");
  }
  const bool is_revision = name.front() != '-';
  const std::string known =
      is_revision ? RunGit({"rev-parse", "--verify", "--quiet", "--end-of-options", name + "^{commit}"}) : "";
  if (!known.empty())
    return {known, AsNumber<UnixTime>(RunGit({"show", "-s", "--format=%ct", known})), false};
  if (name == "HEAD") {
    throw Error(ExitCode::kUsage, "a measurement is kept with its commit, and git knows no HEAD here")
        .Remedy("name the commit: `--commit SHA`, or run etprof in its checkout");
  }
  return {name, std::nullopt, !RunGit({"rev-parse", "--git-dir"}).empty()};
}

AddedToHistory AddToHistory(const AddToHistoryOptions& options) {
  if (options.runs.empty())
    throw Error(ExitCode::kUsage, "no run to add")
        .Remedy("name results directories: `etprof history add RUN`");
  const NamedCommit commit = ResolveCommit(options.commit);
  AddedToHistory result;
  result.commit = commit.name;
  result.unknown_commit = commit.unknown && options.time.empty();
  RecordOptions record{.commit = commit.name,
                       .time = commit.time,
                       .reference = options.reference,
                       .local = options.device_name,
                       .model = {}};
  if (!options.time.empty()) record.time = ParseTime(options.time);
  std::vector<HistoryRun> recorded;
  bool any_local = false;
  for (const std::string& path : options.runs) {
    record.model = NameInSuite(path);
    RunData run = OpenRunDirectory(path);
    any_local = any_local || (run.device && run.device->name == "local");
    RecordedRun new_record = MakeHistoryRun(MakeReport(std::move(run), {.join = false}), record);
    recorded.push_back(std::move(new_record.run));
    result.runs.push_back({path, HistoryFile::Added::kNew, std::move(new_record.left_out), {}});
  }
  if (!options.device_name.empty() && !any_local &&
      options.on_conflict == HistoryFile::CommitConflict::kRefused)
    throw Error(ExitCode::kUsage, "`--device-name` names this machine, and another device was measured")
        .Remedy("leave it out: that device has a name");
  HistoryFile history = HistoryFile::OpenToAdd(options.file);
  for (std::size_t i = 0; i < recorded.size(); ++i) {
    result.runs[i].added = history.Add(recorded[i], options.on_conflict);
    result.runs[i].of_other_operators = history.FindOperatorConflicts(recorded[i].identity);
  }
  result.all = history.CountRuns();
  return result;
}

namespace {

// The full hash if git knows the commit here, else the name as given.
std::string FullCommitName(const std::string& given) {
  if (given.empty())
    throw Error(ExitCode::kUsage, "no commit is given")
        .Remedy("name one that `etprof history` shows: `--commit SHA`");
  return ResolveCommit(given).name;
}

HistoryFile OpenToChange(const std::string& file) {
  (void)HistoryFile::OpenToRead(file);  // throws if it does not exist
  return HistoryFile::OpenToAdd(file);
}

}  // namespace

std::vector<SeriesKey> AcceptInHistory(const std::string& file, const HistoryFilter& filter,
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

MergedHistory MergeHistories(const std::string& file, const std::vector<std::string>& others) {
  if (others.empty())
    throw Error(ExitCode::kUsage, "no history to merge")
        .Remedy("name one: `etprof history merge OTHER.sqlite`");
  for (const std::string& other : others) {
    (void)HistoryFile::OpenToRead(other);
    std::error_code error;
    if (std::filesystem::equivalent(other, file, error))
      throw Error(ExitCode::kUsage, "is the history itself").InFile(other).Remedy("name another one");
  }
  HistoryFile history = HistoryFile::OpenToAdd(file);
  MergedHistory merged;
  for (const std::string& other : others) {
    HistoryFile from = HistoryFile::OpenToRead(other);
    merged.added += history.Merge(from);
  }
  merged.all = history.CountRuns();
  return merged;
}

HistoryKeeper::HistoryKeeper(const HistoryRequest& request) {
  options_.file = request.file;
  if (!request.IsRequested()) return;
  options_.commit = ResolveCommit(request.commit).name;
  options_.reference = request.reference;
  options_.device_name = request.device_name;
  HistoryFile::RequireAddable(options_.file);
}

HistoryUpdate HistoryKeeper::Keep(const std::vector<std::string>& runs,
                                  HistoryFile::CommitConflict on_conflict) const {
  HistoryUpdate kept;
  if (options_.file.empty() || runs.empty()) return kept;
  AddToHistoryOptions options = options_;
  options.runs = runs;
  options.on_conflict = on_conflict;
  try {
    kept.added = AddToHistory(options);
  } catch (const std::exception& error) {
    kept.error = ToError(error);
  }
  return kept;
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

void ExportHistory(const HistoryOptions& options, const std::string& format, const std::string& out,
                   const Output& write) {
  const HistoryReport history = ReadHistory(options);
  const auto found = std::ranges::find(HistoryFormats(), format, &HistoryFormat::name);
  write(out, [&](std::ostream& stream) { found->render(history, stream); });
}

std::vector<std::string> HistoryFormatNames() {
  return MapEach(HistoryFormats(), [](const HistoryFormat& format) { return std::string(format.name); });
}

}  // namespace etprof
