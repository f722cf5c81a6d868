#include "validate/findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace etprof {
namespace {

std::ptrdiff_t CheckIndex(std::string_view check) {
  const auto& checks = AllChecks();
  return std::ranges::find_if(checks, [&](const CheckInfo& info) { return info.name == check; }) -
         checks.begin();
}

}  // namespace

const std::vector<CheckInfo>& AllChecks() {
  static const std::vector<CheckInfo> checks = {
      {"lock", "no etprof is measuring into it"},
      {"finished", "the measurement came to its end, and left nothing half-written behind"},
      {"manifest", "manifest.json is JSON and has the keys and types of its schema"},
      {"metrics",
       "metrics.json is JSON, has the keys and types of its schema, and says what the manifest says"},
      {"config", "config.json is JSON"},
      {"files", "the files that the manifest and the analysis name are there and not empty"},
      {"etdump", "every ETDump can be read"},
      {"run_counts", "an ETDump has the runs that the manifest says"},
      {"latency_csv", "a latency CSV has its columns, and rows that can be read"},
      {"latency_counts",
       "a latency CSV has the runs that the manifest says, of each launch, round and phase"},
      {"latency_values", "the latencies that the manifest sums up are those of the latency CSV"},
      {"analysis_summary",
       "analysis_summary.json is JSON, has the keys and types of its schema, and says what the data give"},
      {"pipeline_summary",
       "pipeline_summary.json is JSON, has the keys and types of its schema, and says what the data give"},
      {"peaks",
       "peaks.json, where it is, is JSON, has the keys and types of its schema, and is of these experiments"},
      {"watch", "a watched run's busy and waiting times are all threads' time in each operator"},
      {"sums", "the rows of every table add up exactly to the whole"},
      {"deltas", "the rows of every comparison add up exactly to the whole's delta"},
      {"timeline", "the timeline CSVs are what the ETDump gives, row by row"},
      {"ops_stats", "the operator statistics are what the ETDump gives, row by row"},
      {"kernels", "the table of microkernels is what the kernel-log run's log gives, row by row"},
      {"derived", "every other file of the analysis says what the data give"},
      {"csv", "every other CSV has a header, and as many fields in each row"},
      {"sha256", "model and runner are still those that were measured (a warning)"},
  };
  return checks;
}

bool Findings::HasBroken(std::string_view check) const {
  return std::ranges::any_of(findings_, [&](const Finding& finding) {
    return finding.check == check && finding.severity == Finding::Severity::kBroken;
  });
}

bool Findings::HasFile(const std::string& file) const {
  return std::ranges::any_of(findings_, [&](const Finding& finding) { return finding.file == file; });
}

void Findings::Add(Finding::Severity severity, std::string_view check, const std::string& file,
                   const std::string& problem) {
  if (CheckIndex(check) == static_cast<std::ptrdiff_t>(AllChecks().size())) {
    throw std::logic_error(fmt::format("no such check: {}", check));
  }
  Finding finding{severity, std::string(check), file, problem};
  auto repetition = std::ranges::find_if(counts_, [&](const Repetition& known) {
    return known.example.severity == severity && known.example.check == check && known.example.file == file;
  });
  if (repetition == counts_.end()) repetition = counts_.insert(counts_.end(), Repetition{finding, 0});
  if (repetition->count++ < kMaxPerFile) findings_.push_back(std::move(finding));
}

std::vector<Finding> Findings::Take() {
  for (Repetition& repetition : counts_) {
    if (repetition.count <= kMaxPerFile) continue;
    repetition.example.problem = fmt::format("and {} more", repetition.count - kMaxPerFile);
    findings_.push_back(std::move(repetition.example));
  }
  std::ranges::stable_sort(findings_, [](const Finding& a, const Finding& b) {
    return CheckIndex(a.check) != CheckIndex(b.check) ? CheckIndex(a.check) < CheckIndex(b.check)
                                                      : a.file < b.file;
  });
  counts_.clear();
  return std::move(findings_);
}

}  // namespace etprof
