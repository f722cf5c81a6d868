// Compares the files of an analysis with a new analysis of the same data.

#include <fmt/format.h>

#include <algorithm>
#include <array>
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
    const auto program = experiment.is_object() ? experiment.find("program") : experiment.end();
    if (!experiment.is_object() || program == experiment.end() || !program->is_object()) continue;
    problems.push_back({program->value("problem", json()), program->value("no_sources", json())});
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

bool Validator::analyzed_with_bare_files() const {
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

bool Validator::InputsAreSound() const {
  static constexpr std::array kInputs = {"finished",       "manifest",    "etdump",
                                         "run_counts",     "latency_csv", "latency_counts",
                                         "latency_values", "peaks",       "watch"};
  return !inputs_missing_ &&
         std::ranges::none_of(kInputs, [&](const char* check) { return findings_.HasBroken(check); });
}

// Reports differences only if the data themselves are sound, and only for files without other findings.
void Validator::CheckDifferences() {
  const bool analyzed = must_have_analysis() || summary_.is_object();
  if (!analyzed || !InputsAreSound()) return;
  std::erase_if(differences_,
                [&](const Difference& difference) { return findings_.HasFile(difference.file); });
  if (differences_.empty()) return;
  if (!other_program_reason_.empty()) {
    findings_.Warn("derived", differences_.front().file,
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
    findings_.Warn(difference.check, difference.file,
                   fmt::format("{} (measured by etprof {}, this is {})", difference.problem,
                               run_.etprof_version, etprof_version_));
  } else if (!must_have_analysis()) {
    findings_.Warn(difference.check, difference.file, difference.problem);
  } else {
    findings_.Broken(difference.check, difference.file, difference.problem);
  }
}

}  // namespace etprof
