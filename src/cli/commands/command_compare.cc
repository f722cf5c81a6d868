#include <fmt/format.h>

#include <iostream>
#include <memory>

#include "cli/analyze_files.h"
#include "cli/commands.h"
#include "cli/csv_option.h"
#include "cli/summary_files.h"
#include "cli/time_scale.h"
#include "core/error.h"
#include "core/file.h"
#include "render/json/json.h"
#include "render/page/markdown.h"

namespace etprof {
namespace {

struct CompareArguments {
  std::string baseline, candidate;
  std::string name1, name2;
  std::string output;
  std::string csv;
  std::string time_scale = "ns";
  std::string by;
  bool json = false, all = false;
};

std::filesystem::path Canonical(const std::filesystem::path& path) {
  std::error_code ignored;
  std::filesystem::path canonical = std::filesystem::weakly_canonical(path, ignored);
  if (!canonical.has_filename()) canonical = canonical.parent_path();
  return canonical;
}

RunData Load(const std::string& path) {
  return IsFolder(path) ? OpenRunDirectory(path) : RunOfEtdumps({path}, {});
}

// By --name1 and --name2, where there is one pair that they can mean.
void NameSides(const CompareArguments& arguments, ExperimentData& baseline, ExperimentData& candidate) {
  if (!arguments.name1.empty()) baseline.label = arguments.name1;
  if (!arguments.name2.empty()) candidate.label = arguments.name2;
}

// Two experiments of one run, given as their folders or ETDumps, were measured alternately: their run pairs
// them.
std::optional<RunData> LoadSharedRun(const CompareArguments& arguments) {
  const auto folder_of = [](const std::string& path) {
    const std::filesystem::path canonical = Canonical(path);
    return IsFolder(canonical) ? canonical : canonical.parent_path();
  };
  const std::filesystem::path a = folder_of(arguments.baseline);
  const std::filesystem::path b = folder_of(arguments.candidate);
  if (a == b || a.parent_path() != b.parent_path()) return std::nullopt;
  if (!Exists(a.parent_path() / "manifest.json")) return std::nullopt;
  RunData run = OpenRunDirectory(a.parent_path());
  const auto belongs = [&](const ExperimentData& data, const std::string& given,
                           const std::filesystem::path& folder) {
    if (!IsFolder(given)) return Canonical(data.etdump) == Canonical(given);
    return data.name == folder.filename().string();
  };
  run.pairs.clear();
  for (std::size_t i = 0; i < run.experiments.size(); ++i) {
    if (!belongs(run.experiments[i], arguments.baseline, a)) continue;
    for (std::size_t j = 0; j < run.experiments.size(); ++j) {
      if (!belongs(run.experiments[j], arguments.candidate, b)) continue;
      if (run.experiments[i].threads != run.experiments[j].threads) continue;
      ComparePair pair;
      pair.baseline = i;
      pair.candidate = j;
      pair.baseline_label = arguments.name1;
      pair.candidate_label = arguments.name2;
      run.pairs.push_back(std::move(pair));
    }
  }
  if (run.pairs.empty()) return std::nullopt;
  // Only what is compared is shown.
  std::vector<ExperimentData> kept;
  std::vector<std::size_t> place(run.experiments.size(), 0);
  for (std::size_t i = 0; i < run.experiments.size(); ++i) {
    const bool used = std::any_of(run.pairs.begin(), run.pairs.end(), [&](const ComparePair& pair) {
      return pair.baseline == i || pair.candidate == i;
    });
    place[i] = kept.size();
    if (used) kept.push_back(std::move(run.experiments[i]));
  }
  run.experiments = std::move(kept);
  for (ComparePair& pair : run.pairs) {
    pair.baseline = place[pair.baseline];
    pair.candidate = place[pair.candidate];
  }
  if (run.pairs.size() == 1) {
    const ComparePair& pair = run.pairs.front();
    NameSides(arguments, run.experiments[pair.baseline], run.experiments[pair.candidate]);
  }
  return run;
}

// Launches and rounds of different runs have nothing to do with each other.
void ForgetRounds(ExperimentData& data) {
  for (Launch& launch : data.launches) {
    for (Burst& burst : launch.bursts) burst.round = -1;
  }
  for (RunLabel& label : data.etdump_runs) label.round = -1;
}

std::string NamesOf(const RunData& run) {
  std::string names;
  for (const ExperimentData& data : run.experiments) names += (names.empty() ? "" : ", ") + data.name;
  return names;
}

RunData Join(const CompareArguments& arguments, const EtdumpOptions& etdump) {
  RunData a = Load(arguments.baseline);
  RunData b = Load(arguments.candidate);
  for (const RunData* side : {&a, &b}) RequireClockOf(*side, etdump);
  RunData run;
  if (a.method == b.method) run.method = a.method;
  run.model_id = a.model_id == b.model_id ? a.model_id : "";
  run.model = a.model.filename() == b.model.filename() ? a.model : std::filesystem::path();
  if (a.platform == b.platform) run.platform = a.platform;
  if (a.schedule.margin > 0) run.schedule.margin = a.schedule.margin;
  for (const RunData* side : {&a, &b}) {
    const std::string& given = side == &a ? arguments.baseline : arguments.candidate;
    for (const std::string& problem : side->problems) run.problems.push_back(given + ": " + problem);
    for (const std::string& warning : side->warnings) run.warnings.push_back(given + ": " + warning);
  }
  std::vector<std::pair<std::size_t, std::size_t>> found;
  for (std::size_t i = 0; i < a.experiments.size(); ++i) {
    for (std::size_t j = 0; j < b.experiments.size(); ++j) {
      const bool alone = a.experiments.size() == 1 && b.experiments.size() == 1;
      const bool alike = a.experiments[i].name == b.experiments[j].name &&
                         a.experiments[i].threads == b.experiments[j].threads;
      if (alone || alike) found.emplace_back(i, j);
    }
  }
  if (found.empty()) {
    throw Error(ExitCode::kBadInput,
                fmt::format("nothing to compare: {} has {}, {} has {}", arguments.baseline, NamesOf(a),
                            arguments.candidate, NamesOf(b)))
        .Remedy("give the folders of two experiments, or of two runs with experiments of the same names");
  }
  for (const auto& [i, j] : found) {
    for (const auto& [k, l] : found) {
      if ((i == k) == (j == l)) continue;
      throw Error(ExitCode::kBadInput,
                  fmt::format("several experiments are called {}", a.experiments[i].name))
          .Remedy("name the two run directories themselves, not folders above them");
    }
  }
  for (const auto& [i, j] : found) {
    ExperimentData baseline = a.experiments[i];
    ExperimentData candidate = b.experiments[j];
    if (found.size() == 1) NameSides(arguments, baseline, candidate);
    if (baseline.label.empty()) baseline.label = baseline.name;
    if (candidate.label.empty()) candidate.label = candidate.name;
    if (baseline.label == baseline.name && candidate.label == candidate.name) {
      const std::string shared = SharedNamePrefix(baseline.name, candidate.name);
      baseline.label = baseline.name.substr(shared.size());
      candidate.label = candidate.name.substr(shared.size());
      if (run.model_id.empty() && !shared.empty()) run.model_id = shared.substr(0, shared.size() - 1);
    }
    if (baseline.label == candidate.label) {
      baseline.label += arguments.name1.empty() ? " (A)" : ", " + arguments.name1;
      candidate.label += arguments.name2.empty() ? " (B)" : ", " + arguments.name2;
    }
    if (a.method != b.method) {
      baseline.label += ", method " + a.method;
      candidate.label += ", method " + b.method;
    }
    ForgetRounds(baseline);
    ForgetRounds(candidate);
    ComparePair pair;
    pair.baseline = run.experiments.size();
    pair.candidate = pair.baseline + 1;
    run.experiments.push_back(std::move(baseline));
    run.experiments.push_back(std::move(candidate));
    run.pairs.push_back(std::move(pair));
  }
  return run;
}

int RunCompare(const CompareArguments& arguments) {
  EtdumpOptions etdump;
  etdump.nanoseconds_per_tick = NanosecondsPerTick(arguments.time_scale);
  RunData run;
  if (!IsFolder(arguments.baseline) && !IsFolder(arguments.candidate) && !LoadSharedRun(arguments)) {
    run = RunOfEtdumps({arguments.baseline, arguments.candidate}, {arguments.name1, arguments.name2});
  } else if (auto shared = LoadSharedRun(arguments)) {
    run = std::move(*shared);
  } else {
    run = Join(arguments, etdump);
  }
  RunPrograms programs;
  std::vector<std::optional<Profile>> profiles = ProfileRun(run, false, {}, etdump, &programs);
  const Report report = Assemble(std::move(run), std::move(profiles));
  std::string more = "-o DIR writes the whole comparison, operator by operator";
  if (!arguments.output.empty()) {
    const std::filesystem::path folder = arguments.output;
    WriteFileAtomically(folder / "comparison.json",
                        [&](std::ostream& out) { RenderAnalysisJson(report, out); });
    WriteFileAtomically(folder / "comparison.md", [&](std::ostream& out) { RenderMarkdown(report, out); });
    WriteComparisonFiles(report, folder);
    more = (folder / "comparison.md").string();
  }
  if (!arguments.csv.empty()) {
    ShowTable(report, arguments.csv);
  } else if (!arguments.by.empty()) {
    ShowBy(report, arguments.by, arguments.all);
  } else {
    ShowReport(report, arguments.json, more, arguments.all);
  }
  return static_cast<int>(ExitCode::kDone);
}

}  // namespace

CommandSpec CompareCommand() {
  return {"compare", "compare two ETDumps, experiments or run directories, operator by operator",
          "etprof compare sme2_off.etdump sme2_on.etdump --name1 off --name2 on",
          [](CLI::App& app) -> std::function<int()> {
            auto arguments = std::make_shared<CompareArguments>();
            app.add_option("baseline", arguments->baseline,
                           "an ETDump, a timeline CSV, an experiment's folder or a run directory")
                ->required();
            app.add_option("candidate", arguments->candidate, "the same, of the other side")->required();
            app.add_option("--name1", arguments->name1, "what to call the baseline");
            app.add_option("--name2", arguments->name2, "what to call the candidate");
            app.add_option("-o,--output-dir", arguments->output,
                           "write comparison.json and comparison.md here, and tables of the two sides")
                ->type_name("DIR");
            app.add_flag("--json", arguments->json, "show the comparison as JSON");
            AddCsvOption(app, arguments->csv, "comparison");
            AddByOption(app, arguments->by);
            AddAllOption(app, arguments->all);
            AddTimeScaleOption(app, arguments->time_scale);
            return [arguments] { return RunCompare(*arguments); };
          }};
}

}  // namespace etprof
