#include "validate/validator.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>

#include "core/error.h"
#include "core/file/file.h"
#include "core/file/sha256.h"
#include "core/json/json.h"
#include "core/json/json_members.h"
#include "measure/store/run_files.h"
#include "measure/store/watch.h"
#include "validate/json_schema.h"

namespace etprof {
namespace {

using nlohmann::json;

constexpr const char* kNotYetAnalyzed = "is not there yet: `etprof analyze` makes it";

// True if another process holds the lock (measure/store/run_directory.cc).
bool IsLocked(const std::filesystem::path& folder) {
  const int descriptor = ::open((folder / kLockFile).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return false;
  const bool is_free = ::flock(descriptor, LOCK_SH | LOCK_NB) == 0;
  ::close(descriptor);
  return !is_free;
}

// Returns the contents of a file; a discarded value if it is missing or not JSON, which ReadJson reports.
json ReadJsonOrDiscard(const std::filesystem::path& path) {
  if (Exists(path)) {
    try {
      return ParseJson(ReadTextFile(path));
    } catch (const Error&) {
    }
  }
  return json(json::value_t::discarded);
}

}  // namespace

Validator::Validator(const std::filesystem::path& folder, std::string etprof_version)
    : etprof_version_(std::move(etprof_version)),
      manifest_(ReadJsonOrDiscard(folder / kManifestFile)),
      summary_(ReadJsonOrDiscard(folder / kAnalysisFile)) {
  const std::filesystem::path path = folder / kManifestFile;
  // The SME2 profiling kit's manifests have neither key.
  has_foreign_layout_ = !Exists(path) || (manifest_.is_object() && !manifest_.contains("config_hash") &&
                                          !manifest_.contains("schema_version"));
  run_ = LoadRunDirectory(folder, /*include_unlisted_etdumps=*/has_foreign_layout_ || !manifest_.is_object());
  RecoverInMemory(run_);
  locked_ = IsLocked(run_.folder);
}

std::string Validator::Relative(const std::filesystem::path& file) const {
  const std::filesystem::path relative = file.lexically_relative(run_.folder);
  return relative.empty() || *relative.begin() == ".." ? file.string() : relative.generic_string();
}

std::vector<ValidationFinding> Validator::Finish() {
  if (locked_) {
    findings_.AddViolation("lock", kLockFile, "another etprof is measuring into it: wait for it");
    return findings_.Take();
  }
  CheckFinished();
  CheckManifest();
  CheckMetrics();
  CheckConfig();
  CheckNamedFiles();
  CheckPeaks();
  CheckWatch();
  CheckAnalysis();
  CheckKernels();
  CheckDifferences();
  CheckOtherCsvFiles();
  CheckHashes();
  return findings_.Take();
}

void Validator::CheckFinished() {
  if (run_.status == RunData::Status::kRunning) {
    findings_.AddViolation("finished", kManifestFile,
                           "its status is \"running\", and nothing runs: it was killed");
  }
  if (run_.status == RunData::Status::kInterrupted) {
    findings_.AddWarning("finished", kManifestFile,
                         "it was interrupted: the same command with --resume continues it");
  }
  for (const ExperimentData& data : run_.experiments) {
    if (!data.error.empty()) {
      findings_.AddWarning("finished", kManifestFile, fmt::format("{} failed: {}", data.label, data.error));
    }
  }
  ForEachEntry([&](std::filesystem::recursive_directory_iterator& entry) {
    std::error_code ignored;
    const std::filesystem::path& path = entry->path();
    if (entry->is_directory(ignored)) {
      if (path.filename() != "launches" || has_foreign_layout_) return;
      if (!std::filesystem::is_empty(path, ignored))
        findings_.AddViolation("finished", Relative(path),
                               "parts of launches that were not merged: `etprof recover` merges them");
      entry.disable_recursion_pending();
    } else if (path.extension() == ".tmp" && !IsTemporaryName(path)) {
      findings_.AddViolation("finished", Relative(path), "a file that was not written to its end");
    }
  });
}

void Validator::ForEachEntry(
    const std::function<void(std::filesystem::recursive_directory_iterator&)>& visit) const {
  std::error_code error, ignored;
  auto entry = std::filesystem::recursive_directory_iterator(
      run_.folder, std::filesystem::directory_options::skip_permission_denied, error);
  for (; !error && entry != std::filesystem::recursive_directory_iterator(); entry.increment(error)) {
    if (entry->is_directory(ignored) && (entry->path().filename() == "previous" || entry.depth() > 6))
      entry.disable_recursion_pending();
    visit(entry);
  }
}

json Validator::ReadJson(const std::string& name) {
  const std::filesystem::path path = run_.folder / (name + ".json");
  const auto report_problem = [&](const std::string& problem) {
    has_foreign_layout_ ? findings_.AddWarning(name, name + ".json", problem)
                        : findings_.AddViolation(name, name + ".json", problem);
    return json(json::value_t::discarded);
  };
  if (!Exists(path) && name.ends_with("_summary") && !must_have_analysis()) {
    findings_.AddWarning(name, name + ".json", kNotYetAnalyzed);
    return json(json::value_t::discarded);
  }
  if (!Exists(path)) return report_problem("is not there");
  std::string text;
  try {
    text = ReadTextFile(path);
  } catch (const Error& error) {
    return report_problem(error.problem());
  }
  json value = ParseJson(text);
  if (value.is_discarded()) return report_problem(text.empty() ? "is empty" : "is not JSON, or is cut short");
  if (has_foreign_layout_) return value;
  const std::vector<SchemaProblem> problems = CheckSchema(value, GetPublishedSchema(name));
  for (const SchemaProblem& problem : problems) {
    findings_.AddViolation(
        name, name + ".json",
        fmt::format("{} {}", problem.path.empty() ? "the whole" : problem.path, problem.problem));
  }
  return problems.empty() ? value : json(json::value_t::discarded);
}

void Validator::CheckManifest() {
  const json manifest = ReadJson("manifest");
  // Counts are read from the manifest only if it fits its schema.
  if (has_foreign_layout_ || !manifest.is_object()) return;
  for (const json& result : manifest.at("results")) CheckLatencies(result);
}

void Validator::CheckMetrics() {
  const json metrics = ReadJson("metrics");
  if (has_foreign_layout_ || !metrics.is_object() || findings_.HasViolation("manifest")) return;
  // Both metrics.json and the manifest contain the latency summaries. The manifest's are compared with the
  // CSV.
  const json expected = json(ToJson(Metrics(run_), run_.folder)).at("results");
  const json& results = manifest_.at("results");
  if (metrics.at("results").size() != results.size()) {
    findings_.AddViolation(
        "metrics", kMetricsFile,
        fmt::format("has {} results, the manifest has {}", metrics.at("results").size(), results.size()));
    return;
  }
  const bool latencies_known =
      !findings_.HasViolation("latency_csv") && !findings_.HasViolation("latency_counts");
  for (std::size_t i = 0; i < results.size() && i < expected.size(); ++i) {
    for (const auto& [key, value] : metrics.at("results")[i].items()) {
      if (value != results[i].at(key)) {
        findings_.AddViolation("metrics", kMetricsFile,
                               fmt::format("results[{}].{} is {}, in the manifest {}", i, key, value.dump(),
                                           results[i].at(key).dump()));
      }
    }
    if (!latencies_known || run_.experiments[i].latency_csv.empty()) continue;
    for (const char* key : {"latency_ms", "median_ms", "min_ms", "max_ms", "runs"}) {
      if (results[i].at(key) == expected[i].at(key)) continue;
      findings_.AddViolation("latency_values", Relative(run_.experiments[i].latency_csv),
                             fmt::format("gives {} {}, the manifest says {}", key, expected[i].at(key).dump(),
                                         results[i].at(key).dump()));
    }
  }
}

void Validator::CheckConfig() {
  const std::filesystem::path path = run_.folder / kConfigFile;
  std::error_code error;
  // The "files" check reports a missing or empty file.
  if (has_foreign_layout_ || !std::filesystem::is_regular_file(path, error) ||
      std::filesystem::file_size(path, error) == 0)
    return;
  try {
    if (!ParseJson(ReadTextFile(path)).is_object())
      findings_.AddViolation("config", kConfigFile, "is not JSON, or is cut short");
  } catch (const Error& problem) {
    findings_.AddViolation("config", kConfigFile, problem.problem());
  }
}

bool Validator::CheckNamedFile(const std::string& name, const std::string& problem_prefix, bool is_required) {
  const std::filesystem::path file = run_.folder / name;  // an absolute `name` replaces the folder
  std::error_code error;
  std::string problem;
  if (!std::filesystem::is_regular_file(file, error)) {
    problem = problem_prefix + "is not there";
  } else if (std::filesystem::file_size(file, error) == 0) {
    problem = "is empty";
  } else {
    return true;
  }
  is_required ? findings_.AddViolation("files", Relative(file), problem)
              : findings_.AddWarning("files", Relative(file), problem);
  return false;
}

void Validator::CheckNamedFiles() {
  if (manifest_.is_object() && manifest_.contains("results") && manifest_.at("results").is_array()) {
    for (const json& result : manifest_.at("results")) {
      for (const char* key : {"etdump", "log", "latency_csv", "xnntrace_log"}) {
        if (result.is_object() && result.contains(key) && result.at(key).is_string()) {
          // Logs of etprof's own workers are not inputs of the analysis, and may be missing after a full
          // disk.
          const bool is_required =
              std::string_view(key) != "log" || result.value("foreign", json()) != json(false);
          if (!CheckNamedFile(result.at(key).get<std::string>(), "the manifest names it, and it ",
                              is_required) &&
              is_required)
            inputs_missing_ = true;
        }
      }
    }
  }
  if (has_foreign_layout_) return;
  // A missing metrics.json counts as a missing input, since reports name it only if it exists.
  inputs_missing_ = inputs_missing_ || !Exists(run_.folder / kMetricsFile);
  CheckNamedFile(kConfigFile, "");
  if (Exists(run_.folder / kReportPage))
    CheckNamedFile(kReportPage, "");  // earlier versions did not write the page
  for (const char* name : {kSummaryMarkdownFile, kReportFile}) {
    if (must_have_analysis() || Exists(run_.folder / name)) {
      CheckNamedFile(name, "");
    } else {
      findings_.AddWarning("files", name, kNotYetAnalyzed);
    }
  }
}

void Validator::CheckHashes() {
  std::set<std::filesystem::path> hashed_files;
  for (const ExperimentData& data : run_.experiments) {
    for (const auto& [file, sha256, role] : {std::tuple{data.model, data.model_sha256, "model"},
                                             std::tuple{data.runner, data.runner_sha256, "runner"}}) {
      if (sha256.empty() || !hashed_files.insert(file).second || !Exists(file)) continue;
      try {
        if (Sha256HexOfFile(file) == sha256) continue;
        findings_.AddWarning(
            "sha256", file.string(),
            fmt::format("is not the {} that was measured any more: its SHA-256 is another", role));
      } catch (const Error& error) {
        findings_.AddWarning("sha256", file.string(), error.problem());
      }
    }
  }
}

void Validator::CheckPeaks() {
  if (!Exists(run_.folder / kPeaksFile)) return;
  const json peaks = ReadJson("peaks");
  if (has_foreign_layout_ || !peaks.is_object()) return;
  std::set<std::string> labels;
  for (const ExperimentData& data : run_.experiments) labels.insert(data.label);
  for (const json& entry : peaks.at("entries")) {
    for (const json& label : entry.at("experiments")) {
      if (labels.contains(label.get<std::string>())) continue;
      findings_.AddViolation(
          "peaks", kPeaksFile,
          fmt::format("has the peaks of {}, which is not an experiment here", label.dump()));
    }
  }
}

void Validator::CheckWatch() {
  for (const ExperimentData& data : run_.experiments) {
    if (data.watch == nullptr) continue;
    for (const protocol::WatchedOperator& op : data.watch->reply.operators) {
      std::int64_t sum = 0;
      for (const protocol::WatchedThread& thread : op.threads) sum += thread.busy_ns + thread.waiting_ns;
      if (sum == op.time_ns * data.watch->reply.threads) continue;
      findings_.AddViolation("watch", Relative(WatchFile(data)),
                             fmt::format("the times of the threads in {} do not add up", op.name));
      break;
    }
  }
}

}  // namespace etprof
