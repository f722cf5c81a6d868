#include "cli/summary_files.h"

#include <fmt/format.h>

#include "core/escape.h"
#include "render/csv/kit_files.h"
#include "render/csv/table_csv.h"

namespace etprof {
std::string ModelFileName(const Report& report) {
  return report.model_id.empty() ? "model" : AsFileName(report.model_id);
}

std::vector<std::filesystem::path> WriteSummaryFiles(const Report& report, const ReportExperiment& experiment,
                                                     const std::filesystem::path& stem,
                                                     const FileSink& write_file) {
  std::vector<std::filesystem::path> written;
  const auto write = [&](const char* suffix, const std::function<void(std::ostream&)>& contents) {
    written.emplace_back(stem.string() + suffix);
    write_file(written.back(), contents);
  };
  write("_category_summary.csv", [&](std::ostream& out) { RenderCategorySummaryCsv(experiment, out); });
  write("_operator_details.csv", [&](std::ostream& out) { RenderOperatorDetailsCsv(experiment, out); });
  write("_other_top_ops.csv", [&](std::ostream& out) { RenderOtherTopOpsCsv(experiment, out); });
  write("_e2e_latency.csv", [&](std::ostream& out) { RenderE2eLatencyCsv(report, experiment, out); });
  if (experiment.sustained)
    write("_sustained.csv", [&](std::ostream& out) { RenderSustainedCsv(*experiment.sustained, out); });
  if (experiment.latency.n > 0) {
    write("_robust_stats.json", [&](std::ostream& out) { RenderRobustStatsJson(report, experiment, out); });
  }
  return written;
}

std::vector<std::filesystem::path> WriteComparisonFiles(const Report& report,
                                                        const std::filesystem::path& folder,
                                                        const FileSink& write_file) {
  std::vector<std::filesystem::path> written;
  const auto name_of = [&](std::size_t index) {
    const ReportExperiment& experiment = report.experiments[index];
    return AsFileName(
        fmt::format("{}_t{}", report.run.experiments[experiment.index].name, experiment.threads));
  };
  for (const ReportComparison& pair : report.comparisons) {
    std::string stem = ModelFileName(report);
    if (report.comparisons.size() > 1) {
      stem += fmt::format("_{}_vs_{}", name_of(pair.candidate), name_of(pair.baseline));
    }
    written.push_back(folder / (stem + "_comparison.csv"));
    write_file(written.back(), [&](std::ostream& out) { RenderComparisonCsv(pair, out); });
    written.push_back(folder / (stem + "_robust_comparison.json"));
    write_file(written.back(), [&](std::ostream& out) { RenderRobustComparisonJson(report, pair, out); });
  }
  return written;
}

}  // namespace etprof
