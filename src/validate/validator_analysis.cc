// Checks the files of an analysis: their sums, and whether a repeated analysis gives the same files.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <sstream>

#include "core/error.h"
#include "core/json/json.h"
#include "measure/store/run_files.h"
#include "validate/difference.h"
#include "validate/validator.h"

namespace etprof {
namespace {

using nlohmann::json;

constexpr const char* kRegenerateHint = "`etprof analyze` renews it";

std::string CheckName(const std::string& name) {
  if (name.ends_with("_timeline.csv")) return "timeline";
  if (name.ends_with(kOperatorStatisticsSuffix)) return "ops_stats";
  if (name.ends_with(kKernelsSuffix)) return "kernels";
  if (name == kAnalysisFile) return "analysis_summary";
  if (name == kSummaryFile) return "pipeline_summary";
  return "derived";
}

// Lists `problem` and `no_sources` of each experiment that the analysis joined to a program.
json ProgramProblems(const json& summary) {
  json problems = json::array();
  if (!summary.is_object() || !summary.contains("experiments") || !summary.at("experiments").is_array())
    return problems;
  for (const json& experiment : summary.at("experiments")) {
    if (!experiment.is_object() || !experiment.contains("program")) continue;
    const json& program = experiment.at("program");
    if (program.is_object())
      problems.push_back({program.value("problem", json()), program.value("no_sources", json())});
  }
  return problems;
}

// Returns the reason why the new analysis joined operators to other programs than the stored analysis.
std::string OtherProgramReason(const json& expected) {
  for (const json& reasons : ProgramProblems(expected)) {
    for (const json& reason : reasons) {
      if (reason.is_string() && !reason.get<std::string>().empty()) return reason.get<std::string>();
    }
  }
  return "the analysis was made without the model or its .etrecord, which are there now";
}

// Sums are computed modulo 2^64, since numbers from a file must not cause overflow.
std::uint64_t Integer(const json& value) {
  return value.is_number_unsigned() ? value.get<std::uint64_t>()
                                    : static_cast<std::uint64_t>(value.get<std::int64_t>());
}

std::uint64_t Sum(const json& rows, const char* key) {
  std::uint64_t sum = 0;
  for (const json& row : rows) sum += Integer(row.at(key));
  return sum;
}

std::string SignedText(std::uint64_t sum) { return fmt::format("{}", static_cast<std::int64_t>(sum)); }

void CheckExperiment(const json& experiment, Findings& findings) {
  const std::string name = experiment.at("label").get<std::string>();
  if (!experiment.contains("groups")) return;
  const std::uint64_t experiment_total = Integer(experiment.at("groups").at("total_ns"));
  const auto expect = [&](const char* table, std::uint64_t sum, std::uint64_t total) {
    if (sum == total) return;
    findings.AddViolation("sums", kAnalysisFile,
                          fmt::format("{}: the rows of {} add up to {} ns, the whole is {} ns", name, table,
                                      SignedText(sum), SignedText(total)));
  };
  for (const char* table : {"groups", "categories", "places"}) {
    const json& rows = experiment.at(table);
    expect(table, Sum(rows.at("rows"), "total_ns"), Integer(rows.at("total_ns")));
    expect(table, Integer(rows.at("total_ns")), experiment_total);
  }
  expect(
      "operators",
      Sum(experiment.at("operators"), "total_ns") + Integer(experiment.at("operators_rest").at("total_ns")),
      experiment_total);
  const json& mean = experiment.at("mean_execute_ms");
  const json& tracer = experiment.at("tracer_ms");
  const json& median = experiment.at("latency_ms").at("p50");
  if (mean.is_number() && tracer.is_number() && median.is_number()) {
    const double sum = mean.get<double>() + tracer.get<double>(), p50 = median.get<double>();
    if (std::fabs(sum - p50) > 1e-9 * std::fabs(p50)) {
      findings.AddViolation(
          "sums", kAnalysisFile,
          fmt::format("{}: mean_execute_ms and tracer_ms add up to {} ms, the median is {} ms", name, sum,
                      p50));
    }
  }
}

void CheckComparison(const json& comparison, Findings& findings) {
  const std::string name = fmt::format("{} against {}", comparison.at("candidate").get<std::string>(),
                                       comparison.at("baseline").get<std::string>());
  const auto add_finding = [&](const std::string& problem) {
    findings.AddViolation("deltas", kAnalysisFile, fmt::format("{}: {}", name, problem));
  };
  const json& whole = comparison.at("whole");
  for (const char* table : {"groups", "categories", "operators"}) {
    // Without traces, the tables are empty.
    if (comparison.at(table).empty() && Integer(whole.at("delta_numerator_ns")) == 0) continue;
    for (const char* key : {"baseline_total_ns", "candidate_total_ns", "delta_numerator_ns"}) {
      const std::uint64_t sum = Sum(comparison.at(table), key);
      if (sum == Integer(whole.at(key))) continue;
      add_finding(fmt::format("the {} of {} add up to {}, the whole's is {}", key, table, SignedText(sum),
                              whole.at(key).dump()));
    }
  }
  const std::uint64_t baseline_runs = Integer(comparison.at("baseline_runs"));
  const std::uint64_t candidate_runs = Integer(comparison.at("candidate_runs"));
  if (Integer(comparison.at("delta_denominator")) != baseline_runs * candidate_runs) {
    add_finding("delta_denominator is not the product of the numbers of runs");
  }
  const std::uint64_t delta = Integer(whole.at("candidate_total_ns")) * baseline_runs -
                              Integer(whole.at("baseline_total_ns")) * candidate_runs;
  if (delta != Integer(whole.at("delta_numerator_ns"))) {
    add_finding(fmt::format("the whole's delta_numerator_ns is {}, its totals give {}",
                            whole.at("delta_numerator_ns").dump(), SignedText(delta)));
  }
}

// Checks the tables of analysis_summary.json, which must fit its schema: rows add up to the whole, and rows
// of comparisons to its delta.
void CheckSums(const json& summary, Findings& findings) {
  for (const json& experiment : summary.at("experiments")) CheckExperiment(experiment, findings);
  for (const json& comparison : summary.at("comparisons")) CheckComparison(comparison, findings);
  // The totals over all ETDumps are fractional milliseconds, so they are compared with a tolerance.
  std::map<std::string, double> totals;
  for (const json& etdump : summary.at("per_etdump")) {
    for (const auto& [group, ms] : etdump.at("category_totals_ms").items()) totals[group] += ms.get<double>();
  }
  for (const auto& [group, ms] : summary.at("category_totals_ms").items()) {
    if (std::fabs(totals[group] - ms.get<double>()) > 1e-9 * std::fabs(ms.get<double>())) {
      findings.AddViolation("sums", kAnalysisFile,
                            fmt::format("category_totals_ms.{} is {} ms, its ETDumps have {} ms", group,
                                        ms.get<double>(), totals[group]));
    }
  }
}

}  // namespace

bool Validator::analyzed_with_timeline() const {
  const auto is_timeline = [](const std::string& name) { return name.ends_with(kTimelineSuffix); };
  if (summary_.is_object() && summary_.contains("csv_files") && summary_.at("csv_files").is_array()) {
    return std::ranges::any_of(summary_.at("csv_files"), [&](const json& name) {
      return name.is_string() && is_timeline(name.get<std::string>());
    });
  }
  return std::ranges::any_of(run_.experiments, &ExperimentData::HasTimelineCsv);
}

bool Validator::analyzed_with_unlisted_etdumps() const {
  return summary_.is_object() && summary_.contains("experiments") && summary_.at("experiments").is_array() &&
         summary_.at("experiments").size() > run_.experiments.size();
}

void Validator::CheckDerived(const std::filesystem::path& file,
                             const std::function<void(std::ostream&)>& render) {
  const bool compared = compared_.contains(file.lexically_normal());
  Difference difference{CheckName(file.filename().string()), Relative(file), ""};
  try {
    std::error_code error;
    if (!std::filesystem::is_regular_file(file, error)) {
      difference.check = "files";
      difference.problem = fmt::format("the analysis makes it, and it is not there; {}", kRegenerateHint);
    } else if (std::filesystem::file_size(file, error) == 0) {
      difference.check = "files";
      difference.problem = "is empty";
    } else if (compared) {
      return;
    } else if (const auto description = DescribeDifference(file, render)) {
      difference.problem = fmt::format("{}; {}", *description, kRegenerateHint);
    } else {
      return;
    }
  } catch (const Error& unreadable) {
    difference.problem = unreadable.problem();
  }
  if (difference.check == "analysis_summary" && summary_.is_object()) {
    std::ostringstream out;
    render(out);
    const json expected = ParseJson(out.str());
    if (ProgramProblems(expected) != ProgramProblems(summary_))
      other_program_reason_ = OtherProgramReason(expected);
  }
  differences_.push_back(std::move(difference));
}

void Validator::CheckAnalysis() {
  ReadJson("pipeline_summary");
  const json summary = ReadJson("analysis_summary");
  if (has_foreign_layout_ || !summary.is_object()) return;
  CheckSums(summary, findings_);
  if (manifest_.is_object()) CheckAnalysisOfTraces(summary);
  for (const json& file : summary.at("csv_files"))
    CheckNamedFile(file.get<std::string>(), "analysis_summary.json names it, and it ");
}

void Validator::CheckAnalysisOfTraces(const json& summary) {
  const auto report_difference = [&](const std::string& problem) {
    ReportDifference({"analysis_summary", kAnalysisFile, problem + "; `etprof analyze` renews it"});
  };
  std::set<std::pair<std::string, int>> analyzed;
  for (const json& experiment : summary.at("experiments")) {
    const json& threads = experiment.at("threads");
    const std::pair key(experiment.at("name").get<std::string>(), threads.is_null() ? 0 : threads.get<int>());
    analyzed.insert(key);
    const auto facts = traces_.find(key);
    if (facts == traces_.end() || !experiment.contains("groups")) continue;
    if (experiment.at("runs").at("traced") != facts->second.runs) {
      report_difference(fmt::format("{} has {} traced runs, its ETDump has {}", key.first,
                                    experiment.at("runs").at("traced").dump(), facts->second.runs));
    }
    if (experiment.at("groups").at("total_ns") != facts->second.total) {
      report_difference(fmt::format("{} has {} ns in its common set, its ETDump has {}", key.first,
                                    experiment.at("groups").at("total_ns").dump(), facts->second.total));
    }
  }
  for (const auto& [key, facts] : traces_) {
    if (!analyzed.contains(key))
      report_difference(fmt::format("lacks the experiment {} with {} threads", key.first, key.second));
  }
}

bool Validator::InputsAreValid() const {
  static constexpr std::array kInputs = {"finished",       "manifest",    "etdump",
                                         "run_counts",     "latency_csv", "latency_counts",
                                         "latency_values", "peaks",       "watch"};
  return !inputs_missing_ &&
         std::ranges::none_of(kInputs, [&](const char* check) { return findings_.HasViolation(check); });
}

// Reports differences only if the data themselves are sound, and only for files without other findings.
void Validator::CheckDifferences() {
  const bool analyzed = must_have_analysis() || summary_.is_object();
  if (!analyzed || !InputsAreValid()) return;
  std::erase_if(differences_,
                [&](const Difference& difference) { return findings_.HasFile(difference.file); });
  if (differences_.empty()) return;
  if (!other_program_reason_.empty()) {
    findings_.AddWarning("derived", differences_.front().file,
                         fmt::format("cannot be compared with the data, nor can {} other files: {}",
                                     differences_.size() - 1, other_program_reason_));
    return;
  }
  for (const Difference& difference : differences_) {
    ReportDifference(difference);
    compared_.insert((run_.folder / difference.file).lexically_normal());
  }
}

void Validator::ReportDifference(const Difference& difference) {
  if (run_.etprof_version != etprof_version_) {
    findings_.AddWarning(difference.check, difference.file,
                         fmt::format("{} (measured by etprof {}, this is {})", difference.problem,
                                     run_.etprof_version, etprof_version_));
  } else if (!must_have_analysis()) {
    findings_.AddWarning(difference.check, difference.file, difference.problem);
  } else {
    findings_.AddViolation(difference.check, difference.file, difference.problem);
  }
}

}  // namespace etprof
