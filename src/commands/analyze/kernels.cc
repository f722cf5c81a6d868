#include "commands/analyze/kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <set>

#include "commands/analyze/analyze.h"
#include "commands/terminal/show.h"
#include "core/error.h"
#include "core/file/file.h"
#include "core/file/file_kind.h"
#include "core/text/text.h"
#include "measure/store/run_files.h"
#include "show/formats.h"
#include "show/formats/csv/table_csv.h"
#include "show/subjects.h"

namespace etprof {

namespace {

namespace fs = std::filesystem;

// Logs below a folder that belong to no experiment in the report, such as those of a kernel-log run without
// an ETDump.
std::vector<fs::path> UnreportedLogs(const fs::path& folder, const KernelReport& report) {
  std::set<fs::path> reported_logs;
  for (const KernelView& view : report.views) reported_logs.insert(view.log.lexically_normal());
  std::vector<fs::path> logs;
  std::error_code error;
  auto entry = fs::recursive_directory_iterator(folder, fs::directory_options::skip_permission_denied, error);
  for (; !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    std::error_code ignored;
    const fs::path& path = entry->path();
    if (entry->is_directory(ignored)) {
      if (path.filename() == "previous" || entry.depth() > 6) entry.disable_recursion_pending();
    } else if (path.filename().string().ends_with(kKernelLogSuffix) &&
               !reported_logs.contains(path.lexically_normal())) {
      logs.push_back(path);
    }
  }
  std::ranges::sort(logs);
  return logs;
}

void Append(KernelReport&& source, KernelReport& report) {
  if (report.model_id.empty()) report.model_id = source.model_id;
  std::move(source.views.begin(), source.views.end(), std::back_inserter(report.views));
  std::move(source.watched.begin(), source.watched.end(), std::back_inserter(report.watched));
  std::move(source.evidence.begin(), source.evidence.end(), std::back_inserter(report.evidence));
  std::move(source.notes.begin(), source.notes.end(), std::back_inserter(report.notes));
}

void AddFolder(const fs::path& folder, KernelReport& report) {
  KernelReport folder_report;
  std::optional<RunData> run;
  std::optional<Error> problem;
  try {
    run = OpenRunDirectory(folder);
  } catch (const Error& error) {
    if (error.exit_code() != ExitCode::kBadInput) throw;
    problem = error;  // the folder may still contain logs
  }
  if (run) {
    const std::vector<std::optional<Profile>> profiles = ProfileRun(*run, {.join = false});
    folder_report = MakeKernelReport(*run, profiles);
    if (folder_report.watched.empty() && !folder_report.evidence.empty()) {
      folder_report.notes.emplace_back(
          "operator names show KleidiAI's kernels only. `etprof profile --watch` shows which functions "
          "computed each operator");
    }
  }
  for (const fs::path& log : UnreportedLogs(fs::absolute(folder), folder_report))
    folder_report.views.push_back(ReadKernelView(log));
  if (problem && folder_report.views.empty()) throw *problem;
  if (folder_report.views.empty() && folder_report.evidence.empty() && folder_report.watched.empty()) {
    throw Error(ExitCode::kBadInput,
                "holds no watched run, no log of a kernel-log run, and no two variants whose operators could "
                "be compared")
        .InFile(folder.string())
        .Remedy("measure with --watch, or two variants (docs/concepts/kernels.md)");
  }
  Append(std::move(folder_report), report);
}

void AddLog(const std::string& path, const KernelsOptions& options, KernelReport& report) {
  KernelView view = ReadKernelView(path, "", options.model_id);
  if (!options.etdump.empty()) {
    RunData run = MakeEtdumpRun({options.etdump}, {});
    const std::vector<std::optional<Profile>> profiles = ProfileRun(run, {.tolerant = false, .join = false});
    if (profiles.front()) CompareWithProfile(*profiles.front(), view);
  }
  if (view.xnnpack_lines == 0 && view.usage.kernels.empty()) {
    const MappedFile file = MappedFile::Open(path);
    const std::optional<FileKind> kind = RecognizeFile(file.bytes());
    if (kind && kind->name == "an ETDump") {
      throw Error(ExitCode::kBadInput, "is an ETDump, not a log of XNNPACK")
          .InFile(path)
          .Remedy("for kernels by the names of operators use `etprof compare OFF.etdump ON.etdump --all`");
    }
    if (const auto other = OtherFileKind(AsText(file.bytes()), path, "a log of XNNPACK")) throw *other;
    throw Error(ExitCode::kBadInput, "has no line of XNNPACK's log")
        .InFile(path)
        .Remedy("build a runner with XNNPACK's log: `etprof build --executorch DIR --trace`");
  }
  report.views.push_back(std::move(view));
}

// Converts a filter to a part of a file name: lower case, with '_' for special characters ("gemm" for
// "GEMM").
std::string FileNameWord(const std::string& text) {
  std::string word = Lower(text);
  std::ranges::replace_if(word, [](char c) { return !IsDigit(c) && (c < 'a' || c > 'z'); }, '_');
  return word;
}

void WriteTable(const fs::path& file, const KernelView& view, const FileWriter& write) {
  write(file, [&](std::ostream& out) { RenderKernelsCsv(view, out); });
}

// Writes the table of every log into a folder. The filter does not apply to these tables.
void WriteTables(const fs::path& folder, const KernelReport& report, const FileWriter& write) {
  std::set<std::string> stems;
  for (const KernelView& view : report.views) {
    const fs::path table = KernelTablePath(view.log).filename();
    std::string stem = table.stem().string();
    for (int i = 2; !stems.insert(stem).second; ++i) stem = fmt::format("{}_{}", table.stem().string(), i);
    WriteTable(folder / (stem + ".csv"), view, write);
  }
}

// Writes the files that `options.output` selects, applies the filter to the report, and returns the file to
// open.
fs::path WriteOutputs(const KernelsOptions& options, KernelReport& report) {
  const fs::path output = options.output;
  // The SME2 profiling kit's scripts give the name of a single file.
  const bool is_single_file = IsStdout(output) || !IsFolder(output);
  const bool is_single_table = is_single_file && output.extension() == ".csv";
  const bool is_view_only = IsStdout(output) || (is_single_file && output.extension() == ".md");
  if (is_single_table && report.views.size() != 1)
    throw Error(ExitCode::kUsage, "`--out FILE.csv` takes the microkernels of one log")
        .Remedy("give a folder");
  if (is_single_table) WriteTable(output, report.views.front(), options.write);
  if (!output.empty() && !is_single_table && !is_view_only) WriteTables(output, report, options.write);
  if (!options.filter.empty()) FilterKernels(options.filter, report);
  if (output.empty() || is_single_table) return output;
  const std::string name =
      options.filter.empty() ? kKernelViewFile : "kernel_view_" + FileNameWord(options.filter) + ".md";
  const fs::path view = is_view_only ? output : output / name;
  options.write(
      view, [&](std::ostream& out) { RenderDocumentMarkdown(show::MakeKernelsDocument(report), 1, out); });
  return view;
}

}  // namespace

KernelsResult ReadAndWriteKernels(const KernelsOptions& options) {
  KernelsResult result;
  KernelReport& report = result.report;
  report.title = options.title;
  report.model_id = options.model_id;
  for (const std::string& path : options.paths) {
    if (IsFolder(path)) {
      AddFolder(path, report);
    } else {
      AddLog(path, options, report);
    }
  }
  if (!options.compare.empty()) {
    for (const std::string& path : {options.compare.at(1), options.compare.at(0)})
      AddLog(path, options, report);
    MakeLabelsUnique(report);
    report.comparison = CompareKernels(report.views, 0, 1);
  } else if (report.views.size() == 2 && !report.comparison) {
    CompareSme2OffWithOn(report);
  }
  result.written_file = WriteOutputs(options, report);
  return result;
}

namespace {

struct KernelsArguments {
  KernelsOptions options;
  std::string on, off;
  View view;
};

int RunKernels(KernelsArguments& arguments) {
  auto& [options, on, off, view] = arguments;
  if (!on.empty() || !off.empty()) {
    if (!options.compare.empty() || on.empty() || off.empty())
      throw Error(ExitCode::kUsage, "`--sme2-on` and `--sme2-off` go together, and replace `--compare`")
          .Remedy("give `--compare LOG_ON LOG_OFF`");
    options.compare = {on, off};
  }
  if (options.paths.empty() && options.compare.empty())
    throw Error(ExitCode::kUsage, "no log is given")
        .Remedy("give a log, a results directory, or --compare LOG_ON LOG_OFF");
  if (!options.paths.empty() && !options.compare.empty())
    throw Error(ExitCode::kUsage, "`--compare` takes the two logs itself")
        .Remedy("leave out the other paths");
  const auto [report, written_file] = ReadAndWriteKernels(options);
  view.quiet = view.quiet || IsStdout(options.output);
  const std::string details = written_file.empty()
                                  ? "--out DIR writes a table of every microkernel and kernel_view.md"
                                  : written_file.string();
  ShowDocument(show::MakeKernelsDocument(report), view, details,
               [&report = report](std::ostream& out) { WriteJson(report, 1, out); });
  return 0;
}

}  // namespace

std::function<int()> KernelsCommand(CLI::App& app) {
  const auto arguments = std::make_shared<KernelsArguments>();
  auto& [options, on, off, view] = *arguments;
  options.write = WriteOutput;
  AddAlias(app, "--xnntrace,--run-dir",
           app.add_option("path", options.paths,
                          "Logs of kernel-log runs (executor_runner's output, or logcat's), or results "
                          "directories"));
  AddOption(app, "--compare LOG_ON LOG_OFF", options.compare, "Compare two logs, the one with SME2 first")
      ->expected(2);
  app.add_option("--sme2-on", on)->group("");  // the SME2 profiling kit's options instead of --compare
  app.add_option("--sme2-off", off)->group("");
  AddOption(app, "--etdump FILE", options.etdump,
            "Check the log's operators against this ETDump of the same run");
  AddOption(app, "--out DIR", options.output, "Write <log>_kernels.csv and kernel_view.md into this folder");
  app.add_option("--model-id", options.model_id, "Name of the model");
  app.add_option("--filter-op", options.filter, "Show only this operation, such as GEMM, igemm, or vadd");
  app.add_option("--title", options.title, "Title of kernel_view.md");
  AddDocumentOptions(app, view, "Show everything as JSON");
  AddQuietOption(app, view);
  return [arguments] { return RunKernels(*arguments); };
}

}  // namespace etprof
