#include "cli/analyze_run.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <set>

#include "cli/analyze_files.h"
#include "core/error.h"
#include "core/file.h"
#include "etdump/reader.h"
#include "render/csv.h"
#include "render/json.h"
#include "render/markdown.h"

namespace etprof {
namespace {

std::string StemOf(const std::filesystem::path& etdump) { return etdump.stem().string(); }

std::string RelativeName(const std::filesystem::path& file, const std::filesystem::path& folder) {
  std::error_code ignored;
  const std::filesystem::path relative = std::filesystem::relative(file, folder, ignored);
  // What lies elsewhere is told by its name alone.
  if (relative.empty() || *relative.begin() == "..") return file.filename().string();
  return relative.generic_string();
}

void WriteTables(const ExperimentData& data, const Trace& trace, const Profile& profile,
                 const OutputFolders& folders, std::set<std::string>& stems,
                 std::vector<std::filesystem::path>& written) {
  const std::filesystem::path folder = folders.tables.empty() ? data.etdump.parent_path() : folders.tables;
  // Files of one name from different folders come together in one.
  std::string stem = StemOf(data.etdump);
  for (int i = 2; !stems.insert((folder / stem).string()).second; ++i)
    stem = fmt::format("{}_{}", StemOf(data.etdump), i);
  const auto write = [&](const std::string& suffix, const std::function<void(std::ostream&)>& contents) {
    written.push_back(folder / (stem + suffix));
    WriteFileAtomically(written.back(), contents);
  };
  if (folders.timeline) {
    write("_exec_all_runs_timeline.csv",
          [&](std::ostream& out) { RenderTimelineCsv(trace, profile, std::nullopt, out); });
    write("_exec_run0_timeline.csv",
          [&](std::ostream& out) { RenderTimelineCsv(trace, profile, std::size_t{0}, out); });
  }
  write("_exec_ops_stats.csv", [&](std::ostream& out) { RenderOperatorStatisticsCsv(profile, out); });
}

// What lies beside the report, for its list of files: what is there, and what is about to be written.
void ListArtifacts(Report& report, const std::filesystem::path& folder,
                   const std::vector<std::filesystem::path>& written) {
  std::vector<std::filesystem::path> files;
  const auto add_existing = [&](const std::filesystem::path& file) {
    std::error_code ignored;
    if (!file.empty() && std::filesystem::is_regular_file(file, ignored)) files.push_back(file);
  };
  for (const char* name : {"manifest.json", "metrics.json"}) add_existing(folder / name);
  for (const char* name :
       {"analysis_summary.json", "pipeline_summary.json", "pipeline_summary.md", "report.md"}) {
    files.push_back(folder / name);
  }
  for (const char* name : {"report.html", "kernel_view.md"}) add_existing(folder / name);
  for (const ExperimentData& data : report.run.experiments) {
    for (const std::filesystem::path& file : {data.etdump, data.log, data.latency_csv, data.xnntrace_log})
      add_existing(file);
  }
  files.insert(files.end(), written.begin(), written.end());
  for (const std::filesystem::path& file : files) {
    const std::string name = RelativeName(file, folder);
    if (std::find(report.artifacts.begin(), report.artifacts.end(), name) == report.artifacts.end()) {
      report.artifacts.push_back(name);
    }
  }
}

}  // namespace

RunData OpenRunDirectory(const std::filesystem::path& folder) {
  RecoverRunDirectory(folder);
  return LoadRunDirectory(folder);
}

std::vector<std::optional<Profile>> ProfileRun(RunData& run, bool tolerant, const TraceVisitor& visit) {
  std::vector<std::optional<Profile>> profiles;
  for (ExperimentData& data : run.experiments) {
    profiles.emplace_back();
    if (data.etdump.empty()) continue;
    try {
      const Trace trace = ReadEtdumpFile(data.etdump);
      AttributeOptions options;
      options.experiment = data.name;
      options.model_id = data.model.empty() ? run.model_id : data.model.stem().string();
      options.method = run.method;
      options.labels = data.etdump_runs;
      profiles.back() = Attribute(trace, options);
      if (data.backends.size() == 1) {
        // The event names do not say whose they are; the method does, where it has one backend.
        for (Operator& op : profiles.back()->operators) {
          if (op.key.kind == SpanKind::kBackend && op.backend.empty()) op.backend = data.backends.front();
        }
      }
      if (visit) visit(data, trace, *profiles.back());
    } catch (const Error& error) {
      if (!tolerant || error.exit_code() != ExitCode::kBadInput) throw;
      data.warnings.push_back(error.Message());
    }
  }
  return profiles;
}

Report AnalyzeInto(RunData run, const OutputFolders& folders, bool tolerant) {
  std::vector<std::filesystem::path> written;
  std::set<std::string> stems;
  std::vector<std::optional<Profile>> profiles =
      ProfileRun(run, tolerant, [&](const ExperimentData& data, const Trace& trace, const Profile& profile) {
        WriteTables(data, trace, profile, folders, stems, written);
      });
  Report report = Assemble(std::move(run), std::move(profiles));
  ListArtifacts(report, folders.report, written);
  const auto write = [&](const char* name, void (*render)(const Report&, std::ostream&)) {
    WriteFileAtomically(folders.report / name, [&](std::ostream& out) { render(report, out); });
  };
  write("analysis_summary.json", RenderAnalysisJson);
  write("pipeline_summary.json", RenderPipelineSummaryJson);
  write("pipeline_summary.md", RenderPipelineSummaryMarkdown);
  write("report.md", RenderMarkdown);
  return report;
}

TerminalOptions OptionsOfStdout() {
  TerminalOptions options;
  const char* columns = std::getenv("COLUMNS");
  winsize size{};
  if (isatty(STDOUT_FILENO) != 0) {
    const char* no_color = std::getenv("NO_COLOR");
    const char* term = std::getenv("TERM");
    options.colors =
        (no_color == nullptr || *no_color == '\0') && term != nullptr && std::string(term) != "dumb";
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) options.width = size.ws_col;
  }
  if (columns != nullptr) {
    const int width = std::atoi(columns);
    if (width > 0) options.width = width;
  }
  options.width = std::min(options.width, 120);
  return options;
}

void ShowReport(const Report& report, bool json, const std::string& more) {
  if (json) {
    RenderAnalysisJson(report, std::cout);
  } else {
    TerminalOptions options = OptionsOfStdout();
    options.more = more;
    RenderTerminal(report, options, std::cout);
  }
  std::cout.flush();
  if (!std::cout) throw Error(ExitCode::kDeviceFailed, "could not write to the standard output");
}

int AnalyzeAndShow(const std::filesystem::path& run_directory, const ShowOptions& options) {
  RunData run = OpenRunDirectory(run_directory);
  OutputFolders folders;
  folders.report = run_directory;
  folders.timeline = options.timeline;
  const Report report = AnalyzeInto(std::move(run), folders, true);
  if (!options.quiet) ShowReport(report, options.json, (run_directory / "report.md").string());
  return static_cast<int>(ExitCode::kDone);
}

}  // namespace etprof
