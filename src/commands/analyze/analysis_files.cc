#include "commands/analyze/analysis_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <mutex>
#include <sstream>
#include <utility>

#include "core/error.h"
#include "core/file/beneath.h"
#include "core/file/file.h"
#include "core/parallel.h"
#include "core/text/escape.h"
#include "measure/store/run_files.h"
#include "profile/timeline/timeline_csv.h"
#include "show/formats.h"
#include "show/formats/csv/kit_files.h"
#include "show/formats/csv/table_csv.h"
#include "show/formats/json/json.h"
#include "show/formats/report.h"
#include "show/subjects.h"

namespace etprof {
namespace {

namespace fs = std::filesystem;
using Contents = std::function<void(std::ostream&)>;

// The model's name as the beginning of file names: "toy_cnn"; "model" if it is not known.
std::string ModelFileName(const Report& report) {
  return report.model_id.empty() ? "model" : SafeFileName(report.model_id);
}

std::string TraceStem(const fs::path& trace) {
  return IsTimelineCsv(trace) ? TimelineStem(trace) : trace.stem().string();
}

std::string RelativeName(const fs::path& file, const fs::path& folder) {
  std::error_code ignored;
  const fs::path relative = fs::relative(file, folder, ignored);
  // Files outside of the folder are listed by name only.
  if (relative.empty() || *relative.begin() == "..") return file.filename().string();
  return relative.generic_string();
}

// The files of the report itself, with functions that write them.
std::vector<std::pair<std::string, Contents>> ReportFiles(const Report& report) {
  const std::string model = ModelFileName(report) + "_";
  // Contents that several files share. The first thread that needs them renders them.
  struct SharedText {
    std::mutex mutex;
    std::string text;
  };
  const auto render_once = [&](void (*render)(const Report&, std::ostream&)) -> Contents {
    return [&report, render, shared = std::make_shared<SharedText>()](std::ostream& out) {
      const std::scoped_lock lock(shared->mutex);
      if (shared->text.empty()) {
        std::ostringstream text;
        render(report, text);
        shared->text = std::move(text).str();
      }
      out << shared->text;
    };
  };
  const Contents analysis = render_once(RenderAnalysisJson);
  const Contents summary_json = render_once(RenderPipelineSummaryJson);
  const Contents summary_markdown = render_once(RenderPipelineSummaryMarkdown);
  return {
      {kAnalysisFile, analysis},
      {kSummaryFile, summary_json},
      {kSummaryMarkdownFile, summary_markdown},
      {model + kSummaryFile, summary_json},
      {model + kSummaryMarkdownFile, summary_markdown},
      {kReportFile, [&report](std::ostream& out) { RenderMarkdown(report, out); }},
      {kReportPage, [&report, analysis](std::ostream& out) { RenderHtmlWithJson(report, analysis, out); }}};
}

}  // namespace

void RefuseForeignReports(const fs::path& folder, const std::string& option) {
  const auto has_file = [&](const char* name) { return Exists(folder / name); };
  if (std::ranges::any_of(std::array{kManifestFile, kMetricsFile, kAnalysisFile, kSummaryFile}, has_file))
    return;
  for (const char* const name : {kReportFile, kReportPage}) {
    if (!has_file(name)) continue;
    throw Error(ExitCode::kBadInput,
                "already exists, and may not be etprof's: this is not a results directory")
        .InFile((folder / name).string())
        .Remedy(fmt::format("give `{} DIR` to write elsewhere, or `{} {}` to replace it", option, option,
                            folder.empty() ? "." : folder.string()));
  }
}

fs::path OutputFolders::TableFolder(const fs::path& input) const {
  if (!tables.empty()) return tables;
  return LiesBeneath(report, input.parent_path()) ? input.parent_path() : report;
}

void AnalysisFiles::WritePending() {
  std::vector<std::string> texts(pending_.size());
  // The last file takes longest if it is the page, so start it first. The files just before it wait for the
  // text that they share with it, so they are started last.
  ParallelFor(pending_.size(), 0, [&](std::size_t i) {
    const std::size_t file = (i + pending_.size() - 1) % pending_.size();
    std::ostringstream out;
    pending_[file].contents(out);
    texts[file] = std::move(out).str();
  });
  for (std::size_t i = 0; i < pending_.size(); ++i)
    folders_.write(pending_[i].path, [&](std::ostream& out) { out << texts[i]; });
  pending_.clear();
}

void AnalysisFiles::WriteTrace(std::size_t index, const ExperimentData& data, const Trace& trace,
                               const Profile& profile) {
  const fs::path folder = folders_.TableFolder(data.etdump);
  // ETDumps of the same name from different folders may share one output folder.
  std::string stem = TraceStem(data.etdump);
  for (int i = 2; !used_stems_.insert((folder / stem).string()).second; ++i)
    stem = fmt::format("{}_{}", TraceStem(data.etdump), i);
  const auto write = [&](const std::string& suffix, const Contents& contents) {
    const fs::path file = folder / (stem + suffix);
    std::error_code ignored;
    // Do not overwrite a timeline CSV that is the input.
    if (!fs::equivalent(file, data.etdump, ignored)) folders_.write(file, contents);
    written_files_.push_back(file);
  };
  if (folders_.write_timelines) {
    write(kTimelineSuffix, [&](std::ostream& out) { RenderTimelineCsv(trace, profile, std::nullopt, out); });
    write(kFirstRunTimelineSuffix,
          [&](std::ostream& out) { RenderTimelineCsv(trace, profile, std::size_t{0}, out); });
  }
  table_stems_.resize(std::max(table_stems_.size(), index + 1));
  table_stems_[index] = folder / stem;
}

void AnalysisFiles::AddSummaries(const Report& report, const ReportExperiment& experiment) {
  if (experiment.index >= table_stems_.size() || table_stems_[experiment.index].empty()) return;
  const auto add = [&](const char* suffix, Contents contents) {
    pending_.push_back({table_stems_[experiment.index].string() + suffix, std::move(contents)});
  };
  add(kOperatorStatisticsSuffix,
      [&](std::ostream& out) { RenderOperatorStatisticsCsv(*experiment.profile, out); });
  add(kCategorySummarySuffix, [&](std::ostream& out) { RenderCategorySummaryCsv(experiment, out); });
  add(kOperatorDetailsSuffix, [&](std::ostream& out) { RenderOperatorDetailsCsv(experiment, out); });
  add(kOtherTopOperatorsSuffix, [&](std::ostream& out) { RenderOtherTopOpsCsv(experiment, out); });
  add(kEndToEndLatencySuffix, [&](std::ostream& out) { RenderE2eLatencyCsv(report, experiment, out); });
  if (experiment.sustained)
    add(kSustainedSuffix, [&](std::ostream& out) { RenderSustainedCsv(*experiment.sustained, out); });
  if (experiment.latency.n > 0)
    add(kRobustStatsSuffix, [&](std::ostream& out) { RenderRobustStatsJson(report, experiment, out); });
}

void AnalysisFiles::WriteComparisons(const Report& report) {
  // A results directory already has files of these names, for its own pairs as they were measured.
  AddComparisons(report, Exists(folders_.report / kManifestFile) ? "_compared" : "");
  WritePending();
}

void AnalysisFiles::AddComparisons(const Report& report, const std::string& suffix) {
  const auto experiment_name = [&](std::size_t index) {
    const ReportExperiment& experiment = report.experiments[index];
    return SafeFileName(report.run.experiments[experiment.index].name +
                        (experiment.threads ? fmt::format("_t{}", *experiment.threads) : ""));
  };
  for (const ReportComparison& pair : report.comparisons) {
    std::string stem = ModelFileName(report) + suffix;
    if (report.comparisons.size() > 1)
      stem += fmt::format("_{}_vs_{}", experiment_name(pair.candidate), experiment_name(pair.baseline));
    pending_.push_back({folders_.report / (stem + kComparisonSuffix),
                        [&](std::ostream& out) { RenderComparisonCsv(pair, out); }});
    pending_.push_back({folders_.report / (stem + kRobustComparisonSuffix),
                        [&](std::ostream& out) { RenderRobustComparisonJson(report, pair, out); }});
  }
}

// Adds the tables and the view of a run's kernel logs: `<stem>_kernels.csv` for each log, and kernel_view.md.
void AnalysisFiles::AddKernels(const KernelReport& kernels) {
  for (const KernelView& view : kernels.views) {
    const fs::path table = KernelTablePath(view.log);
    pending_.push_back({folders_.TableFolder(table) / table.filename(),
                        [&](std::ostream& out) { RenderKernelsCsv(view, out); }});
  }
  if (kernels.views.empty()) return;
  pending_.push_back({folders_.report / kKernelViewFile, [&](std::ostream& out) {
                        RenderDocumentMarkdown(show::MakeKernelsDocument(kernels), 1, out);
                      }});
}

// Adds the files next to the report to its list of artifacts: existing files, and those about to be written.
void AnalysisFiles::ListArtifacts(Report& report) const {
  const fs::path& folder = folders_.report;
  std::vector<fs::path> files;
  const auto add_existing = [&](const fs::path& file) {
    std::error_code ignored;
    const bool is_pending = std::ranges::find(pending_, file, &File::path) != pending_.end();
    if (!file.empty() && (is_pending || fs::is_regular_file(file, ignored))) files.push_back(file);
  };
  for (const char* name : {kManifestFile, kMetricsFile}) add_existing(folder / name);
  for (const auto& [name, contents] : ReportFiles(report)) files.push_back(folder / name);
  add_existing(folder / kKernelViewFile);
  for (const ExperimentData& data : report.run.experiments) {
    for (const fs::path& file : {data.etdump, data.log, data.latency_csv, data.xnntrace_log})
      add_existing(file);
  }
  files.insert(files.end(), written_files_.begin(), written_files_.end());
  for (const File& file : pending_) files.push_back(file.path);
  for (const fs::path& file : files) {
    const std::string name = RelativeName(file, folder);
    if (std::ranges::find(report.artifacts, name) == report.artifacts.end()) report.artifacts.push_back(name);
  }
}

void AnalysisFiles::WriteReport(Report& report, const KernelReport& kernels) {
  for (const ReportExperiment& experiment : report.experiments) AddSummaries(report, experiment);
  AddComparisons(report);
  AddKernels(kernels);
  ListArtifacts(report);
  report.title = folders_.title;
  for (auto& [name, contents] : ReportFiles(report))
    pending_.push_back({folders_.report / name, std::move(contents)});
  WritePending();
}

}  // namespace etprof
