#include "workflow/analyze/inspect.h"

#include <fmt/format.h>

#include <optional>
#include <set>

#include "core/error.h"
#include "core/file/file.h"
#include "core/file/sha256.h"
#include "core/text/text.h"
#include "format/program/read/program_reader.h"
#include "show/formats/export/model_explorer.h"
#include "workflow/analyze/analyze.h"

namespace etprof {
namespace {

namespace fs = std::filesystem;

// Absent: there is no .etrecord next to the model, or it cannot be read, which is reported as a message.
std::optional<SourceMap> FindSources(const Program& program, const ModelExplorerOptions& options,
                                     WorkflowProgress& progress) {
  RecordedSources sources = ReadSources(program, options.model, options.etrecord);
  if (sources.map) return std::move(sources.map);
  if (options.by == "layer") {
    throw Error(ExitCode::kBadInput, sources.problem + ": the model's modules are not known")
        .InFile(options.model.string())
        .Remedy("name the .etrecord with --etrecord, or group by delegate (--by delegate)");
  }
  progress.Message("warning: " + sources.problem +
                   ": nodes are grouped by delegate, not by the model's modules");
  return std::nullopt;
}

Report ReadTimes(const ModelExplorerOptions& options, const WorkflowProgress& progress) {
  RunData run = OpenRun(options.runs, "--run takes one results directory, or ETDump files");
  const bool is_folder = !run.folder.empty();
  const std::string sha256 = Sha256HexOfFile(options.model);
  for (ExperimentData& data : run.experiments) {
    const bool is_other_model = !data.model_sha256.empty() && data.model_sha256 != sha256;
    data.model = is_other_model ? fs::path() : fs::absolute(options.model);
    if (is_other_model)
      data.warnings.push_back("it ran another file than this .pte, so its times are excluded");
  }
  Report report = MakeReport(std::move(run), {.tolerant = is_folder, .etrecord = options.etrecord});
  progress.StopWhenInterrupted();
  return report;
}

void AddTimesOfRuns(const ModelExplorerOptions& options, const Program& program, WorkflowProgress& progress,
                    ExplorerModel& model) {
  const Report& report = *model.report;
  std::string problem = "no experiment has a traced run";
  bool any = false;
  for (std::size_t i = 0; i < report.experiments.size(); ++i) {
    const std::optional<Profile>& profile = report.experiments[i].profile;
    for (const std::string& warning : report.run.experiments[report.experiments[i].index].warnings) {
      progress.Message("warning: " + report.experiments[i].label + ": " + warning);
      problem = warning;
    }
    if (profile && profile->program && !profile->program->problem.empty())
      problem = profile->program->problem;
    for (std::size_t method = 0; method < program.methods.size(); ++method) {
      AddTimes(report, i, program.methods[method], model.graphs[method]);
      any = any || !model.graphs[method].experiments.empty();
    }
  }
  if (!any)
    throw Error(ExitCode::kBadInput, problem)
        .InFile(options.runs.front())
        .Remedy("give a run of this .pte with traced runs");
}

// A label as part of a file name: "sme2 on" becomes "sme2_on".
std::string FileNamePart(const std::string& label) {
  std::string name;
  for (const char c : label) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
                       c == '.' || c == '-' || c == '_';
    name += plain ? c : '_';
  }
  return name.empty() ? "run" : name;
}

}  // namespace

std::vector<fs::path> WriteModelExplorer(const ModelExplorerOptions& options, WorkflowProgress& progress) {
  if (IsStdout(options.output) && !options.runs.empty()) {
    throw Error(ExitCode::kUsage, "`--model-explorer -` writes one file, and with `--run` there are several")
        .Remedy("name a file");
  }
  if (!IsStdout(options.output) && !Lower(options.output.filename().string()).ends_with(".json")) {
    throw Error(ExitCode::kUsage,
                fmt::format("`--model-explorer {}`: Model Explorer opens only files that end with .json",
                            options.output.string()))
        .Remedy(fmt::format("give `--model-explorer {}.json`", options.output.string()));
  }
  const Program program = ReadProgramFile(options.model);
  const std::optional<SourceMap> sources = FindSources(program, options, progress);
  ExplorerModel model;
  model.file = options.model.filename().string();
  for (const Method& method : program.methods) {
    const auto of_method =
        sources ? sources->methods.find(method.name) : decltype(sources->methods.begin()){};
    const bool known = sources && of_method != sources->methods.end();
    model.graphs.push_back(
        BuildModelGraph(method, program, known ? &of_method->second : nullptr, options.by == "delegate"));
  }
  std::optional<Report> report;
  if (!options.runs.empty()) {
    report = ReadTimes(options, progress);
    model.report = &*report;
    AddTimesOfRuns(options, program, progress, model);
  }
  std::vector<fs::path> files;
  const auto write = [&](const fs::path& file, const std::function<void(std::ostream&)>& render) {
    progress.StopWhenInterrupted();
    options.write(file, render);
    files.push_back(file);
  };
  // Node data go next to the graphs; their own name precedes the extension.
  std::set<std::string> used_names = {options.output.string()};
  const auto write_node_data = [&](const std::string& name,
                                   const std::function<void(std::ostream&)>& render) {
    const fs::path& graphs = options.output;
    const std::string stem = (graphs.parent_path() / graphs.stem()).string() + "." + FileNamePart(name);
    std::string file = stem + ".json";
    for (int i = 2; !used_names.insert(file).second; ++i) file = fmt::format("{}_{}.json", stem, i);
    write(file, render);
  };
  write(options.output, [&](std::ostream& out) { RenderExplorerGraphs(model, out); });
  std::set<std::size_t> shown;
  for (const ModelGraph& graph : model.graphs)
    shown.insert(graph.experiments.begin(), graph.experiments.end());
  for (const std::size_t experiment : shown) {
    write_node_data(report->experiments[experiment].label,
                    [&](std::ostream& out) { RenderExplorerTimes(model, experiment, out); });
  }
  for (const std::size_t comparison : ExplorerComparisons(model)) {
    const ReportComparison& pair = report->comparisons[comparison];
    write_node_data(fmt::format("{}_against_{}", report->experiments[pair.candidate].label,
                                report->experiments[pair.baseline].label),
                    [&](std::ostream& out) { RenderExplorerRatios(model, comparison, out); });
  }
  return files;
}

}  // namespace etprof
