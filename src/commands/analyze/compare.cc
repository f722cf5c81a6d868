#include "commands/analyze/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "commands/analyze/analyze.h"
#include "commands/terminal/show.h"
#include "core/error.h"
#include "core/file/file.h"
#include "core/text/text.h"
#include "measure/store/run_directory.h"
#include "report/run/stored_runs.h"
#include "show/formats/json/json.h"
#include "show/formats/report.h"

namespace etprof {

namespace {

namespace fs = std::filesystem;

fs::path Canonical(const fs::path& path) {
  std::error_code ignored;
  fs::path canonical = fs::weakly_canonical(path, ignored);
  if (!canonical.has_filename()) canonical = canonical.parent_path();
  return canonical;
}

// Applies --name1 and --name2; call it only if there is one pair.
void SetLabels(const CompareRunsOptions& options, ExperimentData& baseline, ExperimentData& candidate) {
  if (!options.name1.empty()) baseline.label = options.name1;
  if (!options.name2.empty()) candidate.label = options.name2;
}

// Loads the run if both inputs are experiments of it (folders or ETDumps): these were measured interleaved,
// so their launches are compared pairwise. Absent if the inputs are of different runs.
std::optional<RunData> LoadSharedRun(const CompareRunsOptions& options) {
  const auto input_folder = [](const std::string& path) {
    const fs::path canonical = Canonical(path);
    return IsFolder(canonical) ? canonical : canonical.parent_path();
  };
  const fs::path a = input_folder(options.baseline);
  const fs::path b = input_folder(options.candidate);
  const fs::path run_folder = FindParentRun(a);
  if (a == b || run_folder.empty() || run_folder != FindParentRun(b)) return std::nullopt;
  RunData run = OpenRunDirectory(run_folder);
  const auto is_input = [&](const ExperimentData& data, const std::string& input, const fs::path& folder) {
    if (!IsFolder(input)) return Canonical(data.etdump) == Canonical(input);
    return data.name == folder.filename().string();
  };
  run.pairs.clear();
  for (std::size_t i = 0; i < run.experiments.size(); ++i) {
    if (!is_input(run.experiments[i], options.baseline, a)) continue;
    for (std::size_t j = 0; j < run.experiments.size(); ++j) {
      if (!is_input(run.experiments[j], options.candidate, b)) continue;
      if (run.experiments[i].threads != run.experiments[j].threads) continue;
      run.pairs.push_back({i, j, "", options.name1, options.name2, {}});
    }
  }
  if (run.pairs.empty()) return std::nullopt;
  // Drop experiments that are not compared.
  std::vector<ExperimentData> used_experiments;
  std::vector<std::size_t> new_index(run.experiments.size(), 0);
  for (std::size_t i = 0; i < run.experiments.size(); ++i) {
    const bool is_used = std::ranges::any_of(
        run.pairs, [&](const ComparePair& pair) { return pair.baseline == i || pair.candidate == i; });
    new_index[i] = used_experiments.size();
    if (is_used) used_experiments.push_back(std::move(run.experiments[i]));
  }
  run.experiments = std::move(used_experiments);
  for (ComparePair& pair : run.pairs) {
    pair.baseline = new_index[pair.baseline];
    pair.candidate = new_index[pair.candidate];
  }
  if (run.pairs.size() == 1) {
    const ComparePair& pair = run.pairs.front();
    SetLabels(options, run.experiments[pair.baseline], run.experiments[pair.candidate]);
  }
  return run;
}

// Opens one of the two inputs. The folder of an experiment is read with the manifest of its results
// directory, without the other experiments.
RunData OpenInput(const std::string& path) {
  const fs::path run_folder = FindParentRun(path);
  if (run_folder.empty()) return OpenRun({path});
  RunData run = OpenRunDirectory(run_folder);
  std::erase_if(run.experiments, [name = Canonical(path).filename()](const ExperimentData& data) {
    return data.name != name.string();
  });
  run.pairs.clear();
  return run;
}

// Differences of conditions that the labels of the two experiments do not show, unlike models and methods.
std::vector<std::string> DescribeDifferences(const RunData& a, const RunData& b,
                                             const std::vector<ExperimentMatch>& matches) {
  std::vector<std::string> differences;
  for (const auto& [baseline, candidate] : matches) {
    for (const Mismatch& mismatch : FindMismatches(a, *baseline, b, *candidate)) {
      if (mismatch.name == "model" || mismatch.name == "method") continue;
      if (mismatch.baseline == kUnknownCondition || mismatch.candidate == kUnknownCondition) continue;
      AppendUnique("the two " + DifferenceText(mismatch), differences);
    }
  }
  return differences;
}

RunData JoinRuns(const CompareRunsOptions& options) {
  RunData a = OpenInput(options.baseline);
  RunData b = OpenInput(options.candidate);
  for (const RunData* input_run : {&a, &b}) RequireRunnerClock(*input_run, options.etdump);
  RunData run;
  if (a.method == b.method) run.method = a.method;
  run.model_id = a.model_id == b.model_id ? a.model_id : "";
  run.model = a.model.filename() == b.model.filename() ? a.model : fs::path();
  if (a.platform == b.platform) run.platform = a.platform;
  if (a.schedule.margin > 0) run.schedule.margin = a.schedule.margin;
  for (const RunData* input_run : {&a, &b}) {
    const std::string& input = input_run == &a ? options.baseline : options.candidate;
    for (const std::string& problem : input_run->problems) run.problems.push_back(input + ": " + problem);
    for (const std::string& warning : input_run->warnings) run.warnings.push_back(input + ": " + warning);
  }
  const std::vector<ExperimentMatch> matches = MatchExperiments(a, b);
  if (matches.empty()) {
    throw Error(ExitCode::kBadInput, fmt::format("nothing to compare: {} has {}, {} has {}", options.baseline,
                                                 ExperimentNames(a), options.candidate, ExperimentNames(b)))
        .Remedy("give the folders of two experiments, or of two runs with experiments of the same names");
  }
  const std::vector<std::string> differences = DescribeDifferences(a, b, matches);
  run.warnings.insert(run.warnings.begin(), differences.begin(), differences.end());
  for (const auto& [baseline_data, candidate_data] : matches) {
    ExperimentData baseline = *baseline_data;
    ExperimentData candidate = *candidate_data;
    if (matches.size() == 1) SetLabels(options, baseline, candidate);
    if (baseline.label.empty()) baseline.label = baseline.name;
    if (candidate.label.empty()) candidate.label = candidate.name;
    if (baseline.label == baseline.name && candidate.label == candidate.name) {
      const DistinctNames distinct_names = DropCommonWords({baseline.name, candidate.name});
      baseline.label = distinct_names.names[0];
      candidate.label = distinct_names.names[1];
      if (run.model_id.empty()) run.model_id = CommonModelName(distinct_names);
    }
    const bool have_different_models = !a.model_id.empty() && !b.model_id.empty() && a.model_id != b.model_id;
    if (baseline.label == candidate.label && have_different_models && options.name1.empty() &&
        options.name2.empty()) {
      baseline.label += ", " + a.model_id;
      candidate.label += ", " + b.model_id;
    }
    if (baseline.label == candidate.label) {
      baseline.label += options.name1.empty() ? " (A)" : ", " + options.name1;
      candidate.label += options.name2.empty() ? " (B)" : ", " + options.name2;
    }
    if (a.method != b.method) {
      baseline.label += ", method " + a.method;
      candidate.label += ", method " + b.method;
    }
    baseline.sustained_seconds = a.schedule.sustained_seconds;
    candidate.sustained_seconds = b.schedule.sustained_seconds;
    RemoveRounds(baseline);
    RemoveRounds(candidate);
    ComparePair pair;
    pair.baseline = run.experiments.size();
    pair.candidate = pair.baseline + 1;
    run.experiments.push_back(std::move(baseline));
    run.experiments.push_back(std::move(candidate));
    run.pairs.push_back(std::move(pair));
  }
  return run;
}

}  // namespace

Report CompareRuns(const CompareRunsOptions& options) {
  std::optional<RunData> run = LoadSharedRun(options);
  if (!run && !IsFolder(options.baseline) && !IsFolder(options.candidate))
    run = MakeEtdumpRun({options.baseline, options.candidate}, {options.name1, options.name2});
  if (!run) run = JoinRuns(options);
  Report report = MakeReport(std::move(*run), {.tolerant = false, .etdump = options.etdump});
  if (options.output.empty()) return report;
  const OutputFolders folders = {.report = options.output};
  WriteFileAtomically(options.output / "comparison.json",
                      [&](std::ostream& out) { RenderAnalysisJson(report, out); });
  WriteFileAtomically(options.output / "comparison.md",
                      [&](std::ostream& out) { RenderMarkdown(report, out); });
  AnalysisFiles(folders).WriteComparisons(report);
  return report;
}

std::function<int()> CompareCommand(CLI::App& app) {
  const auto parsed = std::make_shared<ParsedArguments<CompareRunsOptions>>();
  auto& [options, view] = *parsed;
  // The aliases of the two paths and of --all (below) are options of the SME2 profiling kit.
  AddAlias(app, "--timeline-csv",
           app.add_option("baseline", options.baseline,
                          "ETDump, timeline CSV, experiment's folder, or results directory")
               ->required());
  AddAlias(
      app, "--compare",
      app.add_option(
             "candidate", options.candidate,
             "ETDump, timeline CSV, experiment's folder, or results directory to compare with the baseline")
          ->required());
  app.add_option("--name1", options.name1, "Name of the baseline");
  app.add_option("--name2", options.name2, "Name of the candidate");
  AddOption(app, "-o,--output-dir DIR", options.output,
            "Write comparison.json, comparison.md, and tables of the two variants here");
  AddViewOptions(app, view, "Show the comparison as JSON", "comparison", ByOption::kYes);
  app.add_flag("--verbose", view.all)->group("");
  AddTimeScaleOption(app, options.etdump);
  return [parsed] {
    const auto& [run_options, run_view] = *parsed;
    ShowReport(CompareRuns(run_options), run_view,
               run_options.output.empty() ? "-o DIR writes the whole comparison, operator by operator"
                                          : (run_options.output / "comparison.md").string());
    return 0;
  };
}

}  // namespace etprof
