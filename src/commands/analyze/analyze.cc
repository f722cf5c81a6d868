#include "commands/analyze/analyze.h"

#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <map>
#include <memory>
#include <span>
#include <utility>

#include "commands/terminal/show.h"
#include "core/error.h"
#include "core/file/file.h"
#include "core/file/sha256.h"
#include "core/parallel.h"
#include "core/units.h"
#include "format/program/read/program_reader.h"
#include "format/program/source/etrecord.h"
#include "format/program/source/export_notes.h"
#include "measure/store/foreign/foreign_layout.h"
#include "measure/store/run_files.h"
#include "profile/analysis/host_time.h"
#include "profile/analysis/join/join.h"
#include "profile/timeline/timeline_csv.h"
#include "report/kernels/kernels.h"
#include "show/subjects/run/report.h"

namespace etprof {

namespace {

namespace fs = std::filesystem;

// Finds the model at the path in the run's manifest. If models and runs were moved together, finds it in the
// artifacts folder next to the runs.
std::optional<fs::path> FindModel(const RunData& run, const ExperimentData& data) {
  std::vector<fs::path> candidates = {data.model};
  if (!run.folder.empty())
    candidates.push_back(run.folder.parent_path().parent_path() / "artifacts" / data.model.filename());
  for (const fs::path& candidate : candidates) {
    std::error_code error;
    if (fs::is_regular_file(candidate, error)) return candidate;
  }
  return std::nullopt;
}

// Finds the method that the profile's runs executed: by its name, or the only method of the program.
const Method* FindMethod(const Program& program, const Profile& profile) {
  if (const Method* const named = FindMethod(program, profile.MethodName())) return named;
  return program.methods.size() == 1 ? &program.methods.front() : nullptr;
}

// The programs that a run measured, with the .etrecord next to each. Programs are read on first use.
class RunPrograms {
 public:
  // `etrecord` is ReadOptions::etrecord.
  explicit RunPrograms(fs::path etrecord = {}) : etrecord_(std::move(etrecord)) {}

  // Sets profile.program if the run says which model it measured; sets its `problem` if the model no longer
  // exists or has changed. Throws Error (kBadInput) if `etrecord` was given and is not an .etrecord.
  void Join(const RunData& run, const ExperimentData& data, Profile& profile);
  // Returns the program that an experiment ran; null if it is not available. Throws as Join.
  const Program* FindProgram(const RunData& run, const ExperimentData& data);
  // True if any program was read, and with it the .etrecord.
  bool HasAny() const {
    return std::ranges::any_of(entries_, [](const auto& entry) { return entry.second.program.has_value(); });
  }

 private:
  struct Entry {
    std::optional<Program> program;
    SourceMap sources;
    std::string problem, no_sources_reason;  // as in ProgramJoin
  };
  const Entry& Find(const RunData& run, const ExperimentData& data);
  Entry Read(const fs::path& model, const std::string& sha256) const;

  fs::path etrecord_;
  std::map<std::string, Entry> entries_;
};

RunPrograms::Entry RunPrograms::Read(const fs::path& model, const std::string& sha256) const {
  Entry entry;
  try {
    if (!sha256.empty() && Sha256HexOfFile(model) != sha256) {
      entry.problem = fmt::format("{} is not the file that was measured", model.string());
      return entry;
    }
    entry.program = ReadProgramFile(model);
  } catch (const Error& error) {
    entry.problem = error.Message();
    return entry;
  }
  RecordedSources sources = ReadSources(*entry.program, model, etrecord_);
  entry.sources = std::move(sources.map).value_or(SourceMap());
  entry.no_sources_reason = sources.problem;
  if (!sources.file_exists) entry.no_sources_reason += ", which says what layers operators belong to";
  return entry;
}

const RunPrograms::Entry& RunPrograms::Find(const RunData& run, const ExperimentData& data) {
  const auto [iterator, is_new] = entries_.try_emplace(data.model.string() + '\n' + data.model_sha256);
  Entry& entry = iterator->second;
  if (!is_new) return entry;
  if (const auto model = FindModel(run, data)) {
    entry = Read(*model, data.model_sha256);
  } else {
    entry.problem = fmt::format("{} is not there any more", data.model.string());
  }
  return entry;
}

const Program* RunPrograms::FindProgram(const RunData& run, const ExperimentData& data) {
  if (data.model.empty()) return nullptr;
  const Entry& entry = Find(run, data);
  return entry.program ? &*entry.program : nullptr;
}

void RunPrograms::Join(const RunData& run, const ExperimentData& data, Profile& profile) {
  if (data.model.empty()) return;
  const Entry& entry = Find(run, data);
  const Method* method = entry.program ? FindMethod(*entry.program, profile) : nullptr;
  if (method == nullptr) {
    profile.program.emplace();
    profile.program->operators.resize(profile.operators.size());
    profile.program->problem = !entry.problem.empty() ? entry.problem
                                                      : fmt::format("which method of {} ran is not known",
                                                                    data.model.filename().string());
    return;
  }
  profile.program =
      JoinProgram(profile, *entry.program, *method, FindMethodSources(&entry.sources, method->name));
  if (profile.program->problem.empty()) NameUnloggedKernels(*method, profile);
  if (!entry.no_sources_reason.empty()) profile.program->no_sources_reason = entry.no_sources_reason;
}

// Reads the trace of an experiment, and sets the members of `options` that are in the file.
Trace ReadTrace(ExperimentData& data, const EtdumpOptions& etdump, AttributeOptions& options) {
  if (data.etdump_contents) {
    const std::string& contents = *data.etdump_contents;
    return ReadEtdump(std::as_bytes(std::span(contents)), data.etdump.string(), etdump);
  }
  if (!IsTimelineCsv(data.etdump)) return ReadEtdumpFile(data.etdump, etdump);
  if (!etdump.HasNanoseconds()) {
    throw Error(ExitCode::kUsage, "has microseconds, and `--time-scale` is for ETDumps")
        .InFile(data.etdump.string())
        .Remedy("leave out `--time-scale` and `--delegate-time-scale`");
  }
  Timeline timeline = ReadTimelineCsvFile(data.etdump);
  if (!timeline.model_id.empty() && data.model.empty()) options.model_id = timeline.model_id;
  if (options.labels.empty()) options.labels = std::move(timeline.labels);
  if (data.backends.empty()) data.backends = std::move(timeline.backends);
  options.method = timeline.method;
  return std::move(timeline.trace);
}

// Sets the backend of delegate calls without a backend, if the method has only one backend.
void SetBackend(const ExperimentData& data, Profile& profile) {
  if (data.backends.size() != 1) return;
  for (Operator& op : profile.operators) {
    if (op.key.kind == SpanKind::kBackend && op.backend.empty()) op.backend = data.backends.front();
  }
}

// Replaces experiment indexes in the pairs. Experiment i has become the experiments `new_indexes[i]`, one for
// each method in its trace. A pair of experiments with several methods becomes one pair per method.
void RewritePairs(const std::vector<std::vector<std::size_t>>& new_indexes, RunData& run) {
  std::vector<ComparePair> pairs;
  for (const ComparePair& pair : run.pairs) {
    const std::vector<std::size_t>&baseline = new_indexes[pair.baseline],
          &candidate = new_indexes[pair.candidate];
    const std::size_t methods = std::min(baseline.size(), candidate.size());
    if (baseline.size() != candidate.size()) {
      run.warnings.push_back(fmt::format(
          "the baseline's trace has {} and the candidate's {}: only the first {} compared, in the "
          "order in which they ran",
          CountedText(baseline.size(), "method"), candidate.size(),
          methods == 1 ? "of each is" : fmt::format("{} are", methods)));
    }
    for (std::size_t method = 0; method < methods; ++method) {
      pairs.push_back(pair);
      pairs.back().baseline = baseline[method];
      pairs.back().candidate = candidate[method];
      if (methods == 1) continue;
      for (std::string* label : {&pairs.back().baseline_label, &pairs.back().candidate_label}) {
        if (!label->empty()) *label += fmt::format(" method {}", method + 1);
      }
    }
  }
  run.pairs = std::move(pairs);
}

// The contents of the trace file of an experiment.
struct LoadedFile {
  Trace trace;
  std::vector<Profile> methods;
  std::vector<std::string> backends;
  std::optional<Error> problem;
};

// Maps each delegate call to its backend: by the program that ran, or else by the method's list of backends
// if it has only one.
BackendResolver MakeBackendResolver(const ExperimentData& data, const Program* program,
                                    const std::string& method) {
  if (program != nullptr) return MakeBackendResolver(*program, method);
  if (data.backends.size() != 1) return {};
  return [backend = data.backends.front()](std::int32_t, std::int32_t) { return backend; };
}

LoadedFile Load(const RunData& run, ExperimentData data, const Program* program, EtdumpOptions etdump,
                std::size_t threads) {
  LoadedFile loaded;
  try {
    AttributeOptions options;
    options.experiment = data.name;
    options.model_id = data.model.empty() ? run.model_id : data.model.stem().string();
    options.method = data.method.empty() ? run.method : data.method;
    options.labels = data.etdump_runs;
    options.threads = threads;
    etdump.threads = threads;
    loaded.trace = ReadTrace(data, etdump, options);
    // All numbers in a timeline CSV are times.
    if (!IsTimelineCsv(data.etdump)) {
      // A bare ETDump does not say its method.
      const std::string method = run.folder.empty() ? "" : options.method;
      SeparateHostTime(loaded.trace, MakeBackendResolver(data, program, method));
    }
    loaded.methods = AttributeMethods(loaded.trace, options);
    loaded.backends = std::move(data.backends);
  } catch (const Error& error) {
    loaded.problem = error;
  }
  return loaded;
}

// Files that fit into this memory together are read in parallel, with one thread each; a larger file is read
// alone, by all threads.
constexpr std::uintmax_t kMaxBytesInParallel = std::uintmax_t{64} << 20U;

std::size_t FileSizeOrZero(const fs::path& file) {
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(file, error);
  return error ? 0 : size;
}

// Loads experiment `first`, and the following experiments as far as kMaxBytesInParallel allows.
std::vector<LoadedFile> LoadInParallel(const RunData& run, const std::vector<ExperimentData>& experiments,
                                       std::size_t first, RunPrograms& programs,
                                       const EtdumpOptions& etdump) {
  std::size_t end = first + 1;
  for (std::uintmax_t size = FileSizeOrZero(experiments[first].etdump); end < experiments.size(); ++end) {
    size += FileSizeOrZero(experiments[end].etdump);
    if (size > kMaxBytesInParallel) break;
  }
  std::vector<LoadedFile> loaded(end - first);
  std::vector<const Program*> experiment_programs;
  for (std::size_t i = first; i < end; ++i)
    experiment_programs.push_back(programs.FindProgram(run, experiments[i]));
  ParallelFor(loaded.size(), 0, [&](std::size_t i) {
    if (experiments[first + i].etdump.empty()) return;
    loaded[i] = Load(run, experiments[first + i], experiment_programs[i], etdump, loaded.size() == 1 ? 0 : 1);
  });
  return loaded;
}

// All tables of a run with one pair show the baseline first, whatever the order in the configuration.
void PutBaselineFirst(RunData& run) {
  if (run.experiments.size() != 2 || run.pairs.size() != 1) return;
  ComparePair& pair = run.pairs.front();
  if (pair.baseline != 1 || pair.candidate != 0) return;
  std::swap(run.experiments[0], run.experiments[1]);
  std::swap(pair.baseline, pair.candidate);
}

// Returns the number of a profile's runs for the timeline of report.html: at most 100, and about 300,000
// spans for all experiments together, which take about 3 MB in the page.
std::size_t SampleSize(const Profile& profile, std::size_t experiments) {
  constexpr std::size_t kMaxSampledRuns = 100, kMaxSpans = 300'000;
  std::size_t spans = 1;
  for (const auto& layout : profile.layouts) spans = std::max(spans, layout.size());
  return std::clamp<std::size_t>(kMaxSpans / experiments / spans, 1, kMaxSampledRuns);
}

}  // namespace

RunData OpenRunDirectory(const fs::path& folder) {
  RunData run = LoadRunDirectory(folder);
  RecoverInMemory(run);
  return run;
}

RunData OpenRun(const std::vector<std::string>& paths, const std::string& single_folder_message) {
  if (paths.size() == 1 && IsFolder(paths.front())) return OpenRunDirectory(paths.front());
  for (const std::string& path : paths) {
    if (IsFolder(path))
      throw Error(ExitCode::kUsage, single_folder_message).InFile(path).Remedy("leave out the others");
  }
  return MakeEtdumpRun({paths.begin(), paths.end()}, {});
}

RecordedSources ReadSources(const Program& program, const fs::path& model, const fs::path& etrecord) {
  const auto read = [&](const fs::path& record) {
    SourceMap map = ReadMatchingEtrecord(program, record);
    AddExportNotes(model.string() + ".json", map);
    return RecordedSources{.map = std::move(map), .problem = "", .file_exists = true};
  };
  if (!etrecord.empty()) return read(etrecord);
  const fs::path default_record = model.string() + ".etrecord";
  if (!Exists(default_record))
    return {.map = std::nullopt,
            .problem = fmt::format("there is no {}", default_record.filename().string()),
            .file_exists = false};
  try {
    return read(default_record);
  } catch (const Error& error) {
    return {.map = std::nullopt, .problem = error.Message(), .file_exists = true};
  }
}

void RequireRunnerClock(const RunData& run, const EtdumpOptions& etdump) {
  if (!run.etprof_version.empty() && !etdump.HasNanoseconds()) {
    throw Error(ExitCode::kUsage, "was measured by etprof, whose runner's clock counts nanoseconds")
        .InFile(run.folder.string())
        .Remedy(
            "leave out `--time-scale` and `--delegate-time-scale`, which are for ETDumps with another clock");
  }
}

std::vector<std::optional<Profile>> ProfileRun(RunData& run, const ReadOptions& options,
                                               const TraceVisitor& visit) {
  RequireRunnerClock(run, options.etdump);
  PutBaselineFirst(run);
  RunPrograms programs(options.etrecord);
  std::vector<ExperimentData> files = std::exchange(run.experiments, {});
  // Files given without a results directory have no manifest that names the log.
  if (run.folder.empty()) std::ranges::for_each(files, FindTraceLog);
  std::vector<std::optional<Profile>> profiles;
  std::vector<std::vector<std::size_t>> new_indexes(files.size());
  std::vector<LoadedFile> loaded;
  for (std::size_t file = 0, loaded_index = 0; file < files.size(); ++file, ++loaded_index) {
    if (loaded_index == loaded.size()) {
      loaded = LoadInParallel(run, files, file, programs, options.etdump);
      loaded_index = 0;
    }
    LoadedFile file_data = std::move(loaded[loaded_index]);
    if (file_data.problem && (!options.tolerant || file_data.problem->exit_code() != ExitCode::kBadInput))
      throw *file_data.problem;
    const std::size_t methods = std::max<std::size_t>(1, file_data.methods.size());
    for (std::size_t method = 0; method < methods; ++method) {
      new_indexes[file].push_back(run.experiments.size());
      run.experiments.push_back(files[file]);
      profiles.emplace_back();
      ExperimentData& experiment = run.experiments.back();
      if (file_data.problem) experiment.warnings.push_back(file_data.problem->Message());
      if (file_data.methods.empty()) continue;
      experiment.backends = file_data.backends;
      if (methods > 1) {
        experiment.name = fmt::format("{}_method_{}", experiment.name, method + 1);
        experiment.label = fmt::format("{} method {}", files[file].LabelOrName(), method + 1);
      }
      profiles.back() = std::move(file_data.methods[method]);
      SetBackend(experiment, *profiles.back());
      if (options.join) programs.Join(run, experiment, *profiles.back());
      if (options.model_was_named) {
        std::string problem = profiles.back()->program->problem;
        if (problem.empty() && profiles.back()->health.GetCount("delegate_differs") > 0)
          problem = "its delegates do not write the events that were recorded: it is not the one that ran";
        const std::string model = experiment.model.string();  // `problem` may begin with the model's path
        if (!problem.empty())
          throw Error(ExitCode::kBadInput, problem.starts_with(model) ? problem : model + ": " + problem)
              .Remedy(fmt::format("name the program that wrote {}, or leave out --model",
                                  experiment.etdump.string()));
      }
      profiles.back()->sampled =
          SampleRuns(file_data.trace, *profiles.back(), SampleSize(*profiles.back(), files.size()));
      if (visit) visit(experiment, file_data.trace, *profiles.back());
    }
  }
  if (options.join && !options.etrecord.empty() && !programs.HasAny()) {
    throw Error(ExitCode::kUsage, "is not used: the program that it belongs to is not at hand")
        .InFile(options.etrecord.string())
        .Remedy("name the program as well (--model), or leave out --etrecord");
  }
  RewritePairs(new_indexes, run);
  return profiles;
}

namespace {

// Assembles the report with the files that `etprof export` and `etprof accuracy` wrote next to the programs.
Report AssembleWithExports(RunData run, std::vector<std::optional<Profile>> profiles) {
  Report report = Assemble(std::move(run), std::move(profiles));
  std::map<fs::path, std::shared_ptr<const NoiseBudget>> budgets;
  for (ReportExperiment& experiment : report.experiments) {
    const ExperimentData& data = report.run.experiments[experiment.index];
    const auto model = data.model.empty() ? std::nullopt : FindModel(report.run, data);
    if (!model || data.model_sha256.empty()) continue;
    experiment.sqnr = ReadCheckedSqnr(*model, data.model_sha256, report.run.method);
    const auto [iterator, is_new] = budgets.try_emplace(*model);
    try {
      if (auto budget = is_new ? ReadNoiseBudget(*model, data.model_sha256) : std::nullopt)
        iterator->second = std::make_shared<const NoiseBudget>(std::move(*budget));
    } catch (const Error& error) {
      report.warnings.push_back(error.Message());
    }
    experiment.noise = iterator->second;
  }
  return report;
}

}  // namespace

Report MakeReport(RunData run, const ReadOptions& options) {
  std::vector<std::optional<Profile>> profiles = ProfileRun(run, options);
  return AssembleWithExports(std::move(run), std::move(profiles));
}

Report AnalyzeAndWrite(RunData run, const OutputFolders& folders, const ReadOptions& options,
                       const TraceVisitor& visit) {
  AnalysisFiles files(folders);
  std::vector<std::optional<Profile>> profiles =
      ProfileRun(run, options, [&](const ExperimentData& data, const Trace& trace, const Profile& profile) {
        if (visit) visit(data, trace, profile);
        files.WriteTrace(static_cast<std::size_t>(&data - run.experiments.data()), data, trace, profile);
      });
  const KernelReport kernels = MakeKernelReport(run, profiles);
  for (const std::string& note : kernels.notes) run.problems.push_back(note);
  Report report = AssembleWithExports(std::move(run), std::move(profiles));
  files.WriteReport(report, kernels);
  return report;
}

Report AnalyzeRunDirectory(const fs::path& folder, const AnalyzeOptions& options) {
  const fs::path& output = options.output;
  const OutputFolders folders = {output.empty() ? folder : output, output, options.write_timelines};
  if (output.empty()) RefuseForeignReports(folder, "-o");
  return AnalyzeAndWrite(OpenRunDirectory(folder), folders, options.read);
}

Report AnalyzeTraces(const std::vector<fs::path>& files, const AnalyzeOptions& options) {
  RunData run = MakeEtdumpRun(files, {});
  run.pairs.clear();
  for (ExperimentData& data : run.experiments) data.model = options.model;
  ReadOptions read = options.read;
  read.tolerant = false;
  read.model_was_named = !options.model.empty();
  if (options.output.empty()) return MakeReport(std::move(run), read);
  return AnalyzeAndWrite(std::move(run), {options.output, options.output, options.write_timelines}, read);
}

namespace {

// More ETDumps or results directories than this are shown as one line per experiment, instead of a screen
// each.
constexpr std::size_t kMaxScreens = 2;

struct AnalyzeArguments {
  std::vector<std::string> paths;
  AnalyzeOptions options;
  View view;
};

int RunAnalyze(const AnalyzeArguments& arguments) {
  const auto& [paths, options, view] = arguments;
  std::vector<fs::path> folders, files;
  for (const std::string& path : paths) (IsFolder(path) ? folders : files).emplace_back(path);
  const char* single_report_option = view.json                 ? "`--json` shows"
                                     : !view.csv.empty()       ? "`--csv` shows"
                                     : view.HasFiles()         ? "a file is of"
                                     : !options.output.empty() ? "`-o` takes"
                                                               : nullptr;
  if (single_report_option != nullptr && folders.size() + (files.empty() ? 0 : 1) > 1) {
    throw Error(ExitCode::kUsage, fmt::format("{} one report, and several are given", single_report_option))
        .Remedy("give one results directory, or files");
  }
  if (!options.model.empty() && files.empty()) {
    throw Error(ExitCode::kUsage, "`--model` is not used: a results directory names its own programs")
        .Remedy("leave it out");
  }
  const bool as_list =
      paths.size() > kMaxScreens && !view.json && view.csv.empty() && view.by.empty() && !view.HasFiles();
  show::Document list;
  bool is_first = true;
  const auto show = [&, &view = view](const Report& report, const std::string& name,
                                      const std::string& details) {
    if (as_list) return show::AddExperiments(report, name, list);
    if (!is_first && !view.quiet) std::cout << '\n';
    is_first = false;
    ShowReport(report, view, details);
  };
  for (const fs::path& folder : folders) {
    const fs::path& output_folder = options.output.empty() ? folder : options.output;
    show(AnalyzeRunDirectory(folder, options), folder.lexically_normal().string(),
         (output_folder / kReportPage).string());
  }
  if (!files.empty()) {
    show(AnalyzeTraces(files, options), "",
         options.output.empty() ? "-o DIR writes the report and a table of every operator and event"
                                : (options.output / kReportPage).string());
  }
  if (as_list) ShowDocument(list, view, "");
  return 0;
}

}  // namespace

std::function<int()> AnalyzeCommand(CLI::App& app) {
  const auto arguments = std::make_shared<AnalyzeArguments>();
  auto& [paths, options, view] = *arguments;
  AddAlias(app, "--run-dir,--etdump,--timeline-csv",
           app.add_option("path", paths, "ETDump files, timeline CSVs, or results directories")->required());
  AddOption(app, "-o,--out-dir DIR", options.output,
            "Folder for tables and reports (default: those of a results directory are regenerated in it, and "
            "nothing is written for an ETDump)");
  app.add_flag_callback(
      "--no-timeline", [arguments] { arguments->options.write_timelines = false; },
      "Omit the CSV files with one row per event");
  app.add_option("--model", options.model,
                 "Program (.pte) that wrote the ETDump files, for layers and MACs (a results directory names "
                 "its own)")
      ->check(CLI::ExistingFile);
  app.add_option("--etrecord", options.read.etrecord,
                 "File that maps operators to layers (default: MODEL.pte.etrecord)")
      ->check(CLI::ExistingFile);
  AddViewOptions(app, view, "Show the report as JSON", "operators", ByOption::kYes);
  AddTimeScaleOption(app, options.read.etdump);
  AddQuietOption(app, view);
  return [arguments] { return RunAnalyze(*arguments); };
}

}  // namespace etprof
