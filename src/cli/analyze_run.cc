#include "cli/analyze_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <set>
#include <span>
#include <utility>

#include "cli/analyze_files.h"
#include "cli/csv_option.h"
#include "cli/kernel_files.h"
#include "cli/stdout_terminal.h"
#include "cli/summary_files.h"
#include "core/beneath.h"
#include "core/error.h"
#include "core/parallel.h"
#include "etdump/reader.h"
#include "measure/store/foreign_layout.h"
#include "render/csv/csv.h"
#include "render/json/json.h"
#include "render/page/html.h"
#include "render/page/markdown.h"
#include "timeline/timeline_csv.h"

namespace etprof {
namespace {

std::string StemOf(const std::filesystem::path& trace) {
  return IsTimelineCsv(trace) ? StemOfTimeline(trace) : trace.stem().string();
}

std::string RelativeName(const std::filesystem::path& file, const std::filesystem::path& folder) {
  std::error_code ignored;
  const std::filesystem::path relative = std::filesystem::relative(file, folder, ignored);
  // What lies elsewhere is told by its name alone.
  if (relative.empty() || *relative.begin() == "..") return file.filename().string();
  return relative.generic_string();
}

// Returns the stem that all tables of this ETDump share, with its folder.
std::filesystem::path WriteTables(const ExperimentData& data, const Trace& trace, const Profile& profile,
                                  const OutputFolders& folders, std::set<std::string>& stems,
                                  std::vector<std::filesystem::path>& written) {
  const std::filesystem::path folder = folders.TablesOf(data.etdump);
  // Files of one name from different folders come together in one.
  std::string stem = StemOf(data.etdump);
  for (int i = 2; !stems.insert((folder / stem).string()).second; ++i)
    stem = fmt::format("{}_{}", StemOf(data.etdump), i);
  const auto write = [&](const std::string& suffix, const std::function<void(std::ostream&)>& contents) {
    const std::filesystem::path file = folder / (stem + suffix);
    std::error_code ignored;
    // A timeline that was read is not written over.
    if (!std::filesystem::equivalent(file, data.etdump, ignored)) folders.write(file, contents);
    written.push_back(file);
  };
  if (folders.timeline) {
    write("_exec_all_runs_timeline.csv",
          [&](std::ostream& out) { RenderTimelineCsv(trace, profile, std::nullopt, out); });
    write("_exec_run0_timeline.csv",
          [&](std::ostream& out) { RenderTimelineCsv(trace, profile, std::size_t{0}, out); });
  }
  write("_exec_ops_stats.csv", [&](std::ostream& out) { RenderOperatorStatisticsCsv(profile, out); });
  return folder / stem;
}

}  // namespace

std::filesystem::path OutputFolders::TablesOf(const std::filesystem::path& input) const {
  if (!tables.empty()) return tables;
  return LiesBeneath(report, input.parent_path()) ? input.parent_path() : report;
}

namespace {

// What lies beside the report, for its list of files: what is there, and what is about to be written.
void ListArtifacts(Report& report, const std::filesystem::path& folder,
                   const std::vector<std::filesystem::path>& written) {
  std::vector<std::filesystem::path> files;
  const auto add_existing = [&](const std::filesystem::path& file) {
    std::error_code ignored;
    if (!file.empty() && std::filesystem::is_regular_file(file, ignored)) files.push_back(file);
  };
  for (const char* name : {"manifest.json", "metrics.json"}) add_existing(folder / name);
  const std::string model = ModelFileName(report) + "_";
  for (const std::string& name :
       {std::string("analysis_summary.json"), std::string("pipeline_summary.json"),
        std::string("pipeline_summary.md"), model + "pipeline_summary.json", model + "pipeline_summary.md",
        std::string("report.md"), std::string("report.html")}) {
    files.push_back(folder / name);
  }
  add_existing(folder / "kernel_view.md");
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
  RunData run = LoadRunDirectory(folder);
  RecoverInMemory(run);
  return run;
}

void RequireClockOf(const RunData& run, const EtdumpOptions& etdump) {
  if (!run.etprof_version.empty() && etdump.nanoseconds_per_tick != 1.0) {
    throw Error(ExitCode::kUsage, "was measured by etprof, whose runner's clock counts nanoseconds")
        .InFile(run.folder.string())
        .Remedy("leave out --time-scale, which is for ETDumps with another clock");
  }
}

namespace {

// The trace of an experiment, and what `options` can learn of it.
Trace ReadTrace(ExperimentData& data, const EtdumpOptions& etdump, AttributeOptions& options) {
  if (data.etdump_contents) {
    const std::string& contents = *data.etdump_contents;
    return ReadEtdump(std::as_bytes(std::span(contents)), data.etdump.string(), etdump);
  }
  if (!IsTimelineCsv(data.etdump)) return ReadEtdumpFile(data.etdump, etdump);
  if (etdump.nanoseconds_per_tick != 1.0) {
    throw Error(ExitCode::kUsage,
                "the columns of a timeline CSV are microseconds: --time-scale is for ETDumps")
        .InFile(data.etdump.string());
  }
  Timeline timeline = ReadTimelineCsvFile(data.etdump);
  if (!timeline.model_id.empty() && data.model.empty()) options.model_id = timeline.model_id;
  if (options.labels.empty()) options.labels = std::move(timeline.labels);
  if (data.backends.empty()) data.backends = std::move(timeline.backends);
  options.method = timeline.method;
  return std::move(timeline.trace);
}

// The names of events do not say whose they are; the method does, where it has one backend.
void NameBackend(const ExperimentData& data, Profile& profile) {
  if (data.backends.size() != 1) return;
  for (Operator& op : profile.operators) {
    if (op.key.kind == SpanKind::kBackend && op.backend.empty()) op.backend = data.backends.front();
  }
}

// Where experiment i stood, `places[i]` now stand: one for each method that its trace holds. A pair of two
// becomes a pair of each of their methods.
void RewritePairs(const std::vector<std::vector<std::size_t>>& places, RunData& run) {
  std::vector<ComparePair> pairs;
  for (const ComparePair& pair : run.pairs) {
    const std::size_t methods = std::min(places[pair.baseline].size(), places[pair.candidate].size());
    for (std::size_t method = 0; method < methods; ++method) {
      pairs.push_back(pair);
      pairs.back().baseline = places[pair.baseline][method];
      pairs.back().candidate = places[pair.candidate][method];
      if (methods == 1) continue;
      for (std::string* label : {&pairs.back().baseline_label, &pairs.back().candidate_label}) {
        if (!label->empty()) *label += fmt::format(" method {}", method + 1);
      }
    }
  }
  run.pairs = std::move(pairs);
}

}  // namespace

namespace {

// What was read of an experiment's file.
struct Loaded {
  Trace trace;
  std::vector<Profile> methods;
  std::vector<std::string> backends;
  std::optional<Error> problem;
};

Loaded Load(const RunData& run, ExperimentData data, EtdumpOptions etdump, std::size_t threads) {
  Loaded loaded;
  try {
    AttributeOptions options;
    options.experiment = data.name;
    options.model_id = data.model.empty() ? run.model_id : data.model.stem().string();
    options.method = run.method;
    options.labels = data.etdump_runs;
    options.threads = threads;
    etdump.threads = threads;
    loaded.trace = ReadTrace(data, etdump, options);
    loaded.methods = AttributeMethods(loaded.trace, options);
    loaded.backends = std::move(data.backends);
  } catch (const Error& error) {
    loaded.problem = error;
  }
  return loaded;
}

// Files that fit into memory together are read side by side, one thread each; a large one alone, on all.
constexpr std::uintmax_t kTogether = std::uintmax_t{64} << 20U;

std::size_t SizeOf(const std::filesystem::path& file) {
  std::error_code missing;
  const std::uintmax_t size = std::filesystem::file_size(file, missing);
  return missing ? 0 : size;
}

// The experiments after `first` that are read in one go with it.
std::vector<Loaded> LoadTogether(const RunData& run, const std::vector<ExperimentData>& experiments,
                                 std::size_t first, const EtdumpOptions& etdump) {
  std::size_t last = first + 1;
  for (std::uintmax_t size = SizeOf(experiments[first].etdump); last < experiments.size(); ++last) {
    size += SizeOf(experiments[last].etdump);
    if (size > kTogether) break;
  }
  std::vector<Loaded> loaded(last - first);
  ParallelFor(loaded.size(), 0, [&](std::size_t i) {
    if (experiments[first + i].etdump.empty()) return;
    loaded[i] = Load(run, experiments[first + i], etdump, loaded.size() == 1 ? 0 : 1);
  });
  return loaded;
}

}  // namespace

namespace {

// How many runs of a profile are kept for the timeline of report.html: 100, as long as all of the
// experiments' together stay at some 300,000 spans, which make about 3 MB of the page.
std::size_t SampleSize(const Profile& profile, std::size_t experiments) {
  constexpr std::size_t kMostRuns = 100, kMostSpans = 300'000;
  std::size_t spans = 1;
  for (const auto& layout : profile.layouts) spans = std::max(spans, layout.size());
  return std::clamp<std::size_t>(kMostSpans / experiments / spans, 1, kMostRuns);
}

}  // namespace

std::vector<std::optional<Profile>> ProfileRun(RunData& run, bool tolerant, const TraceVisitor& visit,
                                               const EtdumpOptions& etdump, RunPrograms* programs) {
  RequireClockOf(run, etdump);
  std::vector<ExperimentData> files = std::exchange(run.experiments, {});
  // Of a file that was given by itself nothing else says it.
  if (run.folder.empty()) std::ranges::for_each(files, LookForTraceLog);
  std::vector<std::optional<Profile>> profiles;
  std::vector<std::vector<std::size_t>> places(files.size());
  std::vector<Loaded> loaded;
  for (std::size_t file = 0, of_loaded = 0; file < files.size(); ++file, ++of_loaded) {
    if (of_loaded == loaded.size()) {
      loaded = LoadTogether(run, files, file, etdump);
      of_loaded = 0;
    }
    Loaded read = std::move(loaded[of_loaded]);
    if (read.problem && (!tolerant || read.problem->exit_code() != ExitCode::kBadInput)) throw *read.problem;
    const std::size_t methods = std::max<std::size_t>(1, read.methods.size());
    for (std::size_t method = 0; method < methods; ++method) {
      places[file].push_back(run.experiments.size());
      run.experiments.push_back(files[file]);
      profiles.emplace_back();
      ExperimentData& own = run.experiments.back();
      if (read.problem) own.warnings.push_back(read.problem->Message());
      if (read.methods.empty()) continue;
      own.backends = read.backends;
      if (methods > 1) {
        own.name = fmt::format("{}_method_{}", own.name, method + 1);
        own.label = fmt::format("{} method {}", own.label.empty() ? files[file].name : own.label, method + 1);
      }
      profiles.back() = std::move(read.methods[method]);
      NameBackend(own, *profiles.back());
      if (programs != nullptr) programs->Join(run, own, *profiles.back());
      profiles.back()->sampled =
          SampleRuns(read.trace, *profiles.back(), SampleSize(*profiles.back(), files.size()));
      if (visit) visit(own, read.trace, *profiles.back());
    }
  }
  RewritePairs(places, run);
  return profiles;
}

Report AnalyzeInto(RunData run, const OutputFolders& folders, bool tolerant, RunPrograms& programs,
                   const EtdumpOptions& etdump, const TraceVisitor& visit) {
  std::vector<std::filesystem::path> written;
  std::set<std::string> names;
  std::vector<std::filesystem::path> stems;  // empty: no table was written
  std::vector<std::optional<Profile>> profiles = ProfileRun(
      run, tolerant,
      [&](const ExperimentData& data, const Trace& trace, const Profile& profile) {
        if (visit) visit(data, trace, profile);
        const auto index = static_cast<std::size_t>(&data - run.experiments.data());
        stems.resize(std::max(stems.size(), index + 1));
        stems[index] = WriteTables(data, trace, profile, folders, names, written);
      },
      etdump, &programs);
  stems.resize(run.experiments.size());
  const KernelReport kernels = KernelsOfRun(run, profiles);
  for (const std::string& note : kernels.notes) run.problems.push_back(note);
  Report report = Assemble(std::move(run), std::move(profiles));
  const auto note = [&](const std::vector<std::filesystem::path>& more) {
    written.insert(written.end(), more.begin(), more.end());
  };
  for (const ReportExperiment& experiment : report.experiments) {
    const std::filesystem::path& stem = stems[experiment.index];
    if (!stem.empty()) note(WriteSummaryFiles(report, experiment, stem, folders.write));
  }
  note(WriteComparisonFiles(report, folders.report, folders.write));
  note(WriteKernelFiles(kernels, folders));
  ListArtifacts(report, folders.report, written);
  const auto write = [&](const std::string& name, void (*render)(const Report&, std::ostream&)) {
    folders.write(folders.report / name, [&](std::ostream& out) { render(report, out); });
  };
  write("analysis_summary.json", RenderAnalysisJson);
  for (const std::string& prefix : {std::string(), ModelFileName(report) + "_"}) {
    write(prefix + "pipeline_summary.json", RenderPipelineSummaryJson);
    write(prefix + "pipeline_summary.md", RenderPipelineSummaryMarkdown);
  }
  report.title = folders.title;
  write("report.md", RenderMarkdown);
  write("report.html", RenderHtml);
  return report;
}

void ShowReport(const Report& report, bool json, const std::string& more, bool all) {
  if (json) {
    RenderAnalysisJson(report, std::cout);
  } else {
    TerminalOptions options = OptionsOfStdout();
    options.more = more;
    options.all = all;
    RenderTerminal(report, options, std::cout);
  }
  FlushStdout();
}

Report AnalyzeRunDirectory(const std::filesystem::path& run_directory, const ShowOptions& options) {
  RunData run = OpenRunDirectory(run_directory);
  OutputFolders folders;
  folders.report = run_directory;
  folders.timeline = options.timeline;
  RunPrograms programs(options.etrecord);
  return AnalyzeInto(std::move(run), folders, true, programs, options.etdump);
}

int AnalyzeAndShow(const std::filesystem::path& run_directory, const ShowOptions& options) {
  const Report report = AnalyzeRunDirectory(run_directory, options);
  if (options.quiet) return static_cast<int>(ExitCode::kDone);
  if (!options.csv.empty()) {
    ShowTable(report, options.csv);
  } else {
    ShowReport(report, options.json, (run_directory / "report.html").string(), options.all);
  }
  return static_cast<int>(ExitCode::kDone);
}

}  // namespace etprof
