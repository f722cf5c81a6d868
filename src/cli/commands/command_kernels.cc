#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <set>

#include "cli/analyze_files.h"
#include "cli/commands.h"
#include "cli/csv_option.h"
#include "cli/show_document.h"
#include "cli/stdout_terminal.h"
#include "core/error.h"
#include "core/file.h"
#include "render/document.h"
#include "render/kernels.h"
#include "say/kernels.h"

namespace etprof {
namespace {

struct KernelsArguments {
  std::vector<std::string> paths;
  std::vector<std::string> compare;
  std::string on, off;
  std::string etdump;
  std::string output;
  std::string model_id, filter, title;
  std::string table;
  DocumentFiles files;
  bool json = false, quiet = false, all = false;
};

// Logs below a folder that no experiment of it knows: of a trace-enabled run without an ETDump.
std::vector<std::filesystem::path> OtherLogs(const std::filesystem::path& folder,
                                             const KernelReport& report) {
  std::set<std::filesystem::path> known;
  for (const KernelView& view : report.views) known.insert(view.log.lexically_normal());
  std::vector<std::filesystem::path> found;
  std::error_code error;
  auto entry = std::filesystem::recursive_directory_iterator(
      folder, std::filesystem::directory_options::skip_permission_denied, error);
  for (; !error && entry != std::filesystem::recursive_directory_iterator(); entry.increment(error)) {
    std::error_code ignored;
    const std::filesystem::path& path = entry->path();
    if (entry->is_directory(ignored)) {
      if (path.filename() == "previous" || entry.depth() > 6) entry.disable_recursion_pending();
    } else if (path.filename().string().ends_with("_xnntrace.log") &&
               !known.contains(path.lexically_normal())) {
      found.push_back(path);
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

void Add(KernelReport&& more, KernelReport& report) {
  if (report.model_id.empty()) report.model_id = more.model_id;
  std::move(more.views.begin(), more.views.end(), std::back_inserter(report.views));
  std::move(more.evidence.begin(), more.evidence.end(), std::back_inserter(report.evidence));
  std::move(more.notes.begin(), more.notes.end(), std::back_inserter(report.notes));
}

void AddFolder(const std::filesystem::path& folder, KernelReport& report) {
  KernelReport own;
  std::optional<RunData> run;
  std::optional<Error> problem;
  try {
    run = OpenRunDirectory(folder);
  } catch (const Error& error) {
    if (error.exit_code() != ExitCode::kBadInput) throw;
    problem = error;  // it may still hold logs
  }
  if (run) {
    const std::vector<std::optional<Profile>> profiles = ProfileRun(*run, true);
    own = KernelsOfRun(*run, profiles);
  }
  for (const std::filesystem::path& log : OtherLogs(std::filesystem::absolute(folder), own))
    own.views.push_back(ReadKernelView(log));
  if (problem && own.views.empty()) throw *problem;
  if (own.views.empty() && own.evidence.empty()) {
    throw Error(ExitCode::kBadInput,
                "holds no log of a trace-enabled run, and no two variants whose operators could be "
                "compared")
        .InFile(folder.string())
        .Remedy(
            "run a configuration with \"mode\": \"xnntrace\", or measure two variants "
            "(docs/concepts/kernels.md)");
  }
  Add(std::move(own), report);
}

void AddLog(const std::string& path, const KernelsArguments& arguments, KernelReport& report) {
  KernelView view = ReadKernelView(path, "", arguments.model_id);
  if (!arguments.etdump.empty()) {
    RunData run = RunOfEtdumps({arguments.etdump}, {});
    const std::vector<std::optional<Profile>> profiles = ProfileRun(run, false);
    if (profiles.front()) HoldAgainst(*profiles.front(), view);
  }
  if (view.xnnpack_lines == 0 && view.use.kernels.empty()) {
    throw Error(ExitCode::kBadInput,
                "has no line of XNNPACK's log: the runner that wrote it is not trace-enabled")
        .InFile(path)
        .Remedy("build the runner with EXECUTORCH_XNNPACK_LOG_LEVEL=5 (`etprof build --executorch`)");
  }
  report.views.push_back(std::move(view));
}

// "gemm" of "GEMM"; what has no place in a file's name becomes '_'.
std::string FileWord(const std::string& text) {
  std::string word;
  for (const char c : text) {
    const bool upper = c >= 'A' && c <= 'Z';
    const bool plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    word += upper ? static_cast<char>(c - 'A' + 'a') : plain ? c : '_';
  }
  return word;
}

// Returns what was written, for a person.
std::string Write(KernelReport& report, const KernelsArguments& arguments) {
  const std::filesystem::path output = arguments.output;
  const auto filter = [&] {
    if (!arguments.filter.empty()) FilterKernels(arguments.filter, report);
  };
  if (output.empty()) {
    filter();
    return "--out DIR writes a table of every microkernel and kernel_view.md";
  }
  const auto write_csv = [](const std::filesystem::path& file, const KernelView& view) {
    WriteOutput(file, [&](std::ostream& out) { RenderKernelsCsv(view, out); });
  };
  // The profiling kit's scripts take the file itself.
  const bool view_alone = IsStdout(output) || (output.extension() == ".md" && !IsFolder(output));
  if (output.extension() == ".csv" && !IsFolder(output)) {
    if (report.views.size() != 1)
      throw Error(ExitCode::kUsage, "--out FILE.csv takes the microkernels of one log: give a folder");
    write_csv(output, report.views.front());
    filter();
    return output.string();
  }
  if (!view_alone) {
    std::set<std::string> stems;
    for (const KernelView& view : report.views) {
      const std::filesystem::path table = KernelTableOf(view.log).filename();
      std::string stem = table.stem().string();
      for (int i = 2; !stems.insert(stem).second; ++i) stem = fmt::format("{}_{}", table.stem().string(), i);
      write_csv(output / (stem + ".csv"), view);
    }
  }
  filter();
  const std::string name =
      arguments.filter.empty() ? "kernel_view.md" : "kernel_view_" + FileWord(arguments.filter) + ".md";
  const std::filesystem::path view = view_alone ? output : output / name;
  WriteOutput(view, [&](std::ostream& out) { RenderDocumentMarkdown(say::SayKernels(report), 1, out); });
  return IsStdout(view) ? "" : view.string();
}

int RunKernels(KernelsArguments arguments) {
  if (!arguments.on.empty() || !arguments.off.empty()) {
    if (!arguments.compare.empty() || arguments.on.empty() || arguments.off.empty())
      throw Error(ExitCode::kUsage, "--sme2-on and --sme2-off are given together, instead of --compare");
    arguments.compare = {arguments.on, arguments.off};
  }
  if (arguments.paths.empty() && arguments.compare.empty())
    throw Error(ExitCode::kUsage, "nothing to read")
        .Remedy("give a log, a run directory, or --compare LOG_ON LOG_OFF");
  if (!arguments.paths.empty() && !arguments.compare.empty())
    throw Error(ExitCode::kUsage, "--compare takes the two logs itself: leave out the other paths");
  KernelReport report;
  report.title = arguments.title;
  report.model_id = arguments.model_id;
  for (const std::string& path : arguments.paths) {
    if (IsFolder(path)) {
      AddFolder(path, report);
    } else {
      AddLog(path, arguments, report);
    }
  }
  if (!arguments.compare.empty()) {
    for (const std::string& path : {arguments.compare[1], arguments.compare[0]})
      AddLog(path, arguments, report);
    TellApart(report);
    report.comparison = CompareKernels(report.views, 0, 1);
  } else if (report.views.size() == 2 && !report.comparison) {
    CompareOffWithOn(report);
  }
  const std::string more = Write(report, arguments);
  const say::Document document = say::SayKernels(report);
  if (WriteDocumentFiles(document, arguments.files) || arguments.quiet || IsStdout(arguments.output)) {
    FlushStdout();
    return static_cast<int>(ExitCode::kDone);
  }
  if (arguments.json) {
    RenderKernelsJson(report, std::cout);
  } else {
    ShowDocument(document, arguments.table, more, arguments.all);
  }
  FlushStdout();
  return static_cast<int>(ExitCode::kDone);
}

}  // namespace

CommandSpec KernelsCommand() {
  return {"kernels", "which microkernels ran: of trace-enabled logs, or by what changes between two sides",
          "etprof kernels out_toy_cnn/runs/mac --out kernels", [](CLI::App& app) -> std::function<int()> {
            auto arguments = std::make_shared<KernelsArguments>();
            app.add_option(
                "path,--xnntrace,--run-dir", arguments->paths,
                "logs of trace-enabled runs (executor_runner's output, or logcat's), or run directories");
            app.add_option("--compare", arguments->compare,
                           "hold two logs against each other, the one with SME2 first")
                ->expected(2)
                ->type_name("LOG_ON LOG_OFF");
            app.add_option("--sme2-on", arguments->on, "the same: the log with SME2")->type_name("LOG");
            app.add_option("--sme2-off", arguments->off, "and the one without")->type_name("LOG");
            app.add_option("--etdump", arguments->etdump,
                           "the ETDump of the same run: whether it has the log's operators")
                ->type_name("FILE");
            app.add_option("--out", arguments->output,
                           "write <log>_kernels.csv and kernel_view.md into this folder")
                ->type_name("DIR");
            app.add_option("--model-id", arguments->model_id, "what to call the model");
            app.add_option("--filter-op", arguments->filter, "only this operation: GEMM, igemm, vadd, ...");
            app.add_option("--title", arguments->title, "of kernel_view.md");
            app.add_flag("--json", arguments->json, "show all of it as JSON");
            AddTableOption(app, arguments->table);
            AddDocumentFiles(app, arguments->files);
            AddAllOption(app, arguments->all);
            app.add_flag("-q,--quiet", arguments->quiet, "write the files, show nothing");
            return [arguments] { return RunKernels(*arguments); };
          }};
}

}  // namespace etprof
