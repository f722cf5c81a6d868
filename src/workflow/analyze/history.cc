#include "workflow/analyze/history.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "core/error.h"
#include "core/file/file.h"
#include "core/text/text.h"
#include "core/utc.h"
#include "core/views.h"
#include "device/tool.h"
#include "history/record.h"
#include "render/export/history_export.h"
#include "workflow/analyze/analyze.h"
#include "workflow/measure/suite.h"

namespace etprof {
namespace {

namespace fs = std::filesystem;

// What git says here; "": it does not know, or there is none.
std::string AskGit(const std::vector<std::string>& words) {
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
  if (const auto seconds = UnixOfUtc(text)) return *seconds;
  throw Error(ExitCode::kUsage, fmt::format("`--time {}` is not a time", text))
      .Remedy("give one such as `2026-01-31T12:00:00Z`, or seconds since 1970");
}

// What its suite calls the model of a cell: the files of two of its models may have the same name. "": the
// run is no cell of a suite.
std::string NameInSuite(const std::string& run) {
  std::error_code error;
  const fs::path folder = fs::weakly_canonical(run, error);
  if (error) return "";
  const fs::path suite = folder.parent_path().parent_path().parent_path().parent_path();
  if (!IsSuiteFolder(suite.string())) return "";
  for (const SuiteState::Cell& cell : ReadSuiteState(suite).cells) {
    if (fs::weakly_canonical(cell.folder, error) != folder) continue;
    return NameOfProgram(cell.model, cell.dtype);
  }
  return "";
}

}  // namespace

NamedCommit CommitOf(const std::string& name) {
  if (name.empty()) {
    throw Error(ExitCode::kUsage, "a measurement is kept with its commit, and none is given")
        .Remedy("name it: `--commit SHA`, or `--commit HEAD` in its checkout");
  }
  const bool is_revision = name.front() != '-';
  const std::string known =
      is_revision ? AskGit({"rev-parse", "--verify", "--quiet", "--end-of-options", name + "^{commit}"}) : "";
  if (!known.empty())
    return {known, AsNumber<UnixTime>(AskGit({"show", "-s", "--format=%ct", known})), false};
  if (name == "HEAD") {
    throw Error(ExitCode::kUsage, "a measurement is kept with its commit, and git knows no HEAD here")
        .Remedy("name the commit: `--commit SHA`, or run etprof in its checkout");
  }
  return {name, std::nullopt, !AskGit({"rev-parse", "--git-dir"}).empty()};
}

AddedToHistory AddToHistory(const AddToHistoryOptions& options) {
  if (options.runs.empty())
    throw Error(ExitCode::kUsage, "no run to add")
        .Remedy("name results directories: `etprof history add RUN`");
  const NamedCommit commit = CommitOf(options.commit);
  AddedToHistory result;
  result.commit = commit.name;
  result.unknown_commit = commit.unknown && options.time.empty();
  RecordOptions record{
      .commit = commit.name, .time = commit.time, .reference = options.reference, .model = {}};
  if (!options.time.empty()) record.time = ParseTime(options.time);
  std::vector<HistoryRun> recorded;
  for (const std::string& path : options.runs) {
    record.model = NameInSuite(path);
    Recorded one = RecordOf(ReportOf(OpenRunDirectory(path), {.join = false}), record);
    recorded.push_back(std::move(one.run));
    result.runs.push_back({path, HistoryFile::Added::kNew, std::move(one.left_out), {}});
  }
  HistoryFile history = HistoryFile::OpenToAdd(options.file);
  for (std::size_t i = 0; i < recorded.size(); ++i) {
    result.runs[i].added = history.Add(recorded[i], options.of_other);
    result.runs[i].of_other_operators = history.OfOtherOperators(recorded[i].identity);
  }
  result.all = history.CountRuns();
  return result;
}

HistoryKeeper::HistoryKeeper(const HistoryRequest& request) {
  options_.file = request.file;
  if (!request.Asked()) return;
  options_.commit = CommitOf(request.commit).name;
  options_.reference = request.reference;
  HistoryFile::RequireAddable(options_.file);
}

KeptInHistory HistoryKeeper::Keep(const std::vector<std::string>& runs, HistoryFile::OfOther of_other) const {
  KeptInHistory kept;
  if (options_.file.empty() || runs.empty()) return kept;
  AddToHistoryOptions options = options_;
  options.runs = runs;
  options.of_other = of_other;
  try {
    kept.added = AddToHistory(options);
  } catch (const std::exception& error) {
    kept.error = AsError(error);
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
  return Each(HistoryFormats(), [](const HistoryFormat& format) { return std::string(format.name); });
}

}  // namespace etprof
