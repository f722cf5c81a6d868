#include "cli/model_explorer_files.h"

#include <fmt/format.h>

#include <iostream>
#include <optional>
#include <set>

#include "cli/analyze_files.h"
#include "cli/interruption.h"
#include "cli/say.h"
#include "core/error.h"
#include "core/file.h"
#include "core/sha256.h"
#include "core/text.h"
#include "program/source_fit.h"
#include "render/model_explorer.h"

namespace etprof {
namespace {

namespace fs = std::filesystem;

void StopWhenInterrupted() {
  if (Interrupted()) throw Error(ExitCode::kInterrupted, "interrupted");
}

// Absent: there is none beside the model, or that one cannot be read, which is said.
std::optional<SourceMap> SourcesOf(const Program& program, const ModelExplorerOptions& options) {
  if (!options.etrecord.empty()) return ReadEtrecordOf(program, options.etrecord);
  const fs::path beside = options.model.string() + ".etrecord";
  std::string problem = fmt::format("there is no {}", beside.filename().string());
  if (Exists(beside)) {
    try {
      return ReadEtrecordOf(program, beside);
    } catch (const Error& error) {
      problem = error.Message();
    }
  }
  if (options.by == "layer") {
    throw Error(ExitCode::kBadInput, problem + ": the model's modules are not known")
        .InFile(options.model.string())
        .Remedy("name the .etrecord with --etrecord, or group by delegate (--by delegate)");
  }
  Say("warning: {}: nodes are grouped by delegate, not by the model's modules\n", problem);
  return std::nullopt;
}

Report ReportOf(const ModelExplorerOptions& options) {
  std::error_code ignored;
  const fs::path first = options.runs.front();
  const bool is_folder = fs::is_directory(first, ignored);
  for (const std::string& run : options.runs) {
    if (options.runs.size() > 1 && fs::is_directory(run, ignored))
      throw Error(ExitCode::kUsage, "--run takes one run directory, or ETDump files").InFile(run);
  }
  RunData run =
      is_folder ? OpenRunDirectory(first) : RunOfEtdumps({options.runs.begin(), options.runs.end()}, {});
  const std::string sha256 = Sha256HexOfFile(options.model);
  for (ExperimentData& data : run.experiments) {
    const bool another = !data.model_sha256.empty() && data.model_sha256 != sha256;
    data.model = another ? fs::path() : fs::absolute(options.model);
    if (another) data.warnings.push_back("it ran another file than this .pte: its times are left out");
  }
  RunPrograms programs(options.etrecord);
  std::vector<std::optional<Profile>> profiles = ProfileRun(run, is_folder, {}, {}, &programs);
  StopWhenInterrupted();
  return Assemble(std::move(run), std::move(profiles));
}

void AddTimesOfRuns(const ModelExplorerOptions& options, const Program& program, ExplorerModel& model) {
  const Report& report = *model.report;
  std::string problem = "no experiment has a traced run";
  bool any = false;
  for (std::size_t i = 0; i < report.experiments.size(); ++i) {
    const std::optional<Profile>& profile = report.experiments[i].profile;
    for (const std::string& warning : report.run.experiments[report.experiments[i].index].warnings) {
      Say("warning: {}: {}\n", report.experiments[i].label, warning);
      problem = warning;
    }
    if (profile && profile->program && !profile->program->problem.empty())
      problem = profile->program->problem;
    for (std::size_t method = 0; method < program.methods.size(); ++method) {
      AddTimes(report, i, program.methods[method], model.graphs[method]);
      any = any || !model.graphs[method].experiments.empty();
    }
  }
  if (!any) throw Error(ExitCode::kBadInput, problem).InFile(options.runs.front());
}

// "sme2 on" may stand in a file's name as "sme2_on".
std::string NameForFile(const std::string& label) {
  std::string name;
  for (const char c : label) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
                       c == '.' || c == '-' || c == '_';
    name += plain ? c : '_';
  }
  return name.empty() ? "run" : name;
}

class Files {
 public:
  explicit Files(const fs::path& output) : output_(output) { written_.insert(output.string()); }

  void WriteGraphs(const ExplorerModel& model) {
    Write(output_, [&](std::ostream& out) { RenderExplorerGraphs(model, out); });
  }

  // Beside the graphs, with a name of its own before the ending.
  void WriteNodeData(const std::string& name, const std::function<void(std::ostream&)>& render) {
    const std::string stem = (output_.parent_path() / output_.stem()).string() + "." + NameForFile(name);
    std::string file = stem + ".json";
    for (int i = 2; !written_.insert(file).second; ++i) file = fmt::format("{}_{}.json", stem, i);
    Write(file, render);
    node_data_.push_back(file);
  }

  const std::vector<std::string>& node_data() const { return node_data_; }

 private:
  static void Write(const fs::path& file, const std::function<void(std::ostream&)>& render) {
    StopWhenInterrupted();
    WriteOutput(file, render);
    if (!IsStdout(file)) std::cout << file.string() << '\n';
  }

  fs::path output_;
  std::set<std::string> written_;
  std::vector<std::string> node_data_;
};

}  // namespace

void WriteModelExplorer(const Program& program, const ModelExplorerOptions& options) {
  if (IsStdout(options.output) && !options.runs.empty()) {
    throw Error(ExitCode::kUsage, "--model-explorer -: with --run there are several files")
        .Remedy("name a file");
  }
  if (!IsStdout(options.output) && !Lower(options.output.filename().string()).ends_with(".json")) {
    throw Error(ExitCode::kUsage,
                fmt::format("--model-explorer {}: Model Explorer opens files that end with .json",
                            options.output.string()));
  }
  const InterruptionScope interruptible;  // so that no part of a file stays
  const std::optional<SourceMap> sources = SourcesOf(program, options);
  ExplorerModel model;
  model.file = options.model.filename().string();
  for (const Method& method : program.methods) {
    const auto of_method =
        sources ? sources->methods.find(method.name) : decltype(sources->methods.begin()){};
    const bool known = sources && of_method != sources->methods.end();
    model.graphs.push_back(
        GraphOf(method, program, known ? &of_method->second : nullptr, options.by == "delegate"));
  }
  std::optional<Report> report;
  if (!options.runs.empty()) {
    report = ReportOf(options);
    model.report = &*report;
    AddTimesOfRuns(options, program, model);
  }
  Files files(options.output);
  files.WriteGraphs(model);
  std::set<std::size_t> shown;
  for (const ModelGraph& graph : model.graphs)
    shown.insert(graph.experiments.begin(), graph.experiments.end());
  for (const std::size_t experiment : shown) {
    files.WriteNodeData(report->experiments[experiment].label,
                        [&](std::ostream& out) { RenderExplorerTimes(model, experiment, out); });
  }
  for (const std::size_t comparison : ExplorerComparisons(model)) {
    const ReportComparison& pair = report->comparisons[comparison];
    files.WriteNodeData(fmt::format("{}_against_{}", report->experiments[pair.candidate].label,
                                    report->experiments[pair.baseline].label),
                        [&](std::ostream& out) { RenderExplorerRatios(model, comparison, out); });
  }
  Say("open: model-explorer {}{}\n", options.output.string(),
      files.node_data().empty() ? ""
                                : fmt::format(" --node_data_paths {}", fmt::join(files.node_data(), ",")));
}

}  // namespace etprof
