#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <stdexcept>

#include "core/error.h"
#include "core/file/file.h"
#include "core/text/csv_members.h"
#include "core/text/csv_reader.h"
#include "measure/store/latency_csv.h"
#include "measure/store/run_files.h"
#include "profile/timeline/timeline_row.h"
#include "show/formats/csv/kit_files.h"
#include "show/formats/csv/table_csv.h"
#include "validate/difference.h"
#include "validate/validator.h"

namespace etprof {
namespace {

using nlohmann::json;

// The timeline columns of the SME2 profiling kit, with which the timelines of all tools begin.
std::vector<std::string> KitColumns() {
  std::vector<std::string> columns = CsvColumns<TimelineRow>();
  columns.erase(std::ranges::find(columns, "instruction"), columns.end());
  return columns;
}

// The runs in one phase of a round of a launch; the round is -1 before the first round.
struct RunGroup {
  std::int64_t launch = 0, round = -1;
  LatencyRow::Phase phase;
  auto operator<=>(const RunGroup&) const = default;
};

std::string Text(const RunGroup& group) {
  std::string text = fmt::format("launch {}", group.launch);
  if (group.round >= 0) text += fmt::format(", round {}", group.round);
  return text + ", phase " + GetName(group.phase);
}

// Counts the runs of each group by the manifest.
std::map<RunGroup, std::int64_t> CountManifestRuns(const json& result) {
  using RunPhase = LatencyRow::Phase;
  std::map<RunGroup, std::int64_t> counts;
  for (const json& launch : result.at("launches")) {
    const auto index = launch.at("index").get<std::int64_t>();
    if (launch.at("first_run_ns").is_number()) counts[{index, -1, RunPhase::kFirst}] = 1;
    counts[{index, -1, RunPhase::kWarmup}] = launch.at("warmup_runs").get<std::int64_t>();
    for (const json& burst : launch.at("bursts")) {
      const auto round = burst.at("round").get<std::int64_t>();
      counts[{index, round, RunPhase::kOpening}] += burst.at("opening_runs").get<std::int64_t>();
      counts[{index, round, RunPhase::kRecorded}] += burst.at("recorded_runs").get<std::int64_t>();
      counts[{index, round, RunPhase::kTraced}] += burst.at("traced_runs").get<std::int64_t>();
    }
  }
  return counts;
}

// Calls `visit` for each record, header first, with the line on which it begins and its fields. Returns the
// problem with the text and its line; "" if the text is valid.
std::string ReadRecords(
    std::string_view text, const std::string& name,
    const std::function<void(std::uint64_t, const std::vector<std::string_view>&)>& visit) {
  CsvReader reader(text, name);
  std::vector<std::string_view> fields;
  try {
    while (reader.Next(fields)) visit(reader.line(), fields);
  } catch (const Error& error) {
    return fmt::format("line {}: {}", reader.line(), error.problem());
  }
  return "";
}

}  // namespace

void Validator::CheckLatencies(const json& result) {
  if (!result.at("latency_csv").is_string()) return;
  const std::string name = result.at("latency_csv").get<std::string>();
  const std::filesystem::path path = run_.folder / name;
  compared_.insert(path.lexically_normal());
  std::string text;
  try {
    text = ReadTextFile(path);
  } catch (const Error&) {
    return;  // the "files" check reports the missing file
  }
  if (text.empty()) return;
  if (!IsLatencyCsv(text)) {
    findings_.AddViolation("latency_csv", name, "has not the columns of a latency CSV");
    return;
  }
  std::map<RunGroup, std::int64_t> counts;
  bool readable = true;
  const auto count_row = [&](std::uint64_t line, const std::vector<std::string_view>& fields) {
    if (line == 1) return;
    try {
      const auto row = ReadCsvRow<LatencyRow>(fields);
      ++counts[{row.launch, row.burst ? row.burst->round : -1, row.phase}];
    } catch (const std::invalid_argument& invalid) {
      readable = false;
      findings_.AddViolation("latency_csv", name, fmt::format("line {}: {}", line, invalid.what()));
    }
  };
  const std::string problem = ReadRecords(text, name, count_row);
  if (!problem.empty()) findings_.AddViolation("latency_csv", name, problem);
  if (!problem.empty() || !readable) return;
  std::map<RunGroup, std::int64_t> expected = CountManifestRuns(result);
  for (const auto& [group, count] : counts) expected[group] -= count;
  for (const auto& [group, missing] : expected) {
    if (missing == 0) continue;
    findings_.AddViolation("latency_counts", name,
                           fmt::format("{}: {} runs, the manifest says {}", Text(group), counts[group],
                                       counts[group] + missing));
  }
}

void Validator::CompareFile(std::string_view check, const std::filesystem::path& file,
                            const std::function<void(std::ostream&)>& render, const char* source) {
  std::error_code error;
  // The "files" check reports required files that are missing or empty.
  if (!std::filesystem::is_regular_file(file, error) || std::filesystem::file_size(file, error) == 0) return;
  compared_.insert(file.lexically_normal());
  try {
    if (const auto line = FirstDifferentLine(file, render)) {
      ReportDifference({std::string(check), Relative(file),
                        fmt::format("is not what its {} gives, from line {} on; `etprof analyze` renews it",
                                    source, *line)});
    }
  } catch (const Error& problem) {
    findings_.AddViolation(check, Relative(file), problem.problem());
  }
}

void Validator::CheckTrace(const ExperimentData& data, const Trace& trace, const Profile& profile) {
  if (has_foreign_layout_ || !manifest_.is_object()) return;
  if (data.etdump_runs.empty()) {
    findings_.AddWarning(
        "run_counts", Relative(data.etdump),
        fmt::format("holds {} runs, and the manifest does not know of which launches", profile.runs.size()));
  } else if (data.etdump_runs.size() != profile.runs.size()) {
    findings_.AddViolation(
        "run_counts", Relative(data.etdump),
        fmt::format("holds {} runs, the manifest says {}", profile.runs.size(), data.etdump_runs.size()));
    return;  // the labels in the tables belong to other runs
  }
  TraceFacts& facts = traces_[{data.name, data.threads}];
  facts.runs = static_cast<std::int64_t>(profile.runs.size());
  facts.total = ByGroup(profile).total;
  const std::filesystem::path stem = data.etdump.parent_path() / data.etdump.stem();
  const auto next_to_etdump = [&](const char* suffix) {
    return std::filesystem::path(stem.string() + suffix);
  };
  CompareFile("timeline", next_to_etdump(kTimelineSuffix),
              [&](std::ostream& out) { RenderTimelineCsv(trace, profile, std::nullopt, out); });
  CompareFile("timeline", next_to_etdump(kFirstRunTimelineSuffix),
              [&](std::ostream& out) { RenderTimelineCsv(trace, profile, std::size_t{0}, out); });
  CompareFile("ops_stats", next_to_etdump(kOperatorStatisticsSuffix),
              [&](std::ostream& out) { RenderOperatorStatisticsCsv(profile, out); });
}

void Validator::CheckKernels() {
  if (has_foreign_layout_ || !manifest_.is_object()) return;
  for (const ExperimentData& data : run_.experiments) {
    if (!Exists(data.xnntrace_log)) continue;
    const auto render = [&](std::ostream& out) {
      const std::string model = data.model.empty() ? run_.model_id : data.model.stem().string();
      RenderKernelsCsv(ReadKernelView(data.xnntrace_log, data.label, model), out);
    };
    CompareFile("kernels", KernelTablePath(data.xnntrace_log), render, "log");
    if (must_have_analysis() && !Exists(run_.folder / kKernelViewFile))
      findings_.AddViolation("files", kKernelViewFile, "is not there");
  }
}

void Validator::ReportUnreadable(const ExperimentData& data, const std::string& problem) {
  std::error_code error;
  // The "files" check reports an empty file that the manifest names.
  if (!has_foreign_layout_ && std::filesystem::file_size(data.etdump, error) == 0 && !error) return;
  findings_.AddViolation("etdump", Relative(data.etdump), problem);
}

void Validator::CheckOtherCsvFiles() {
  std::vector<std::filesystem::path> files;
  ForEachEntry([&](const std::filesystem::recursive_directory_iterator& entry) {
    std::error_code ignored;
    const std::filesystem::path& path = entry->path();
    if (path.extension() == ".csv" && entry->is_regular_file(ignored) && entry->file_size(ignored) > 0 &&
        !compared_.contains(path.lexically_normal()))
      files.push_back(path);
  });
  std::ranges::sort(files);
  for (const std::filesystem::path& file : files) {
    const std::string name = Relative(file);
    try {
      const MappedFile mapped = MappedFile::Open(file, kMaxTableBytes);
      const std::string_view text(reinterpret_cast<const char*>(mapped.bytes().data()),
                                  mapped.bytes().size());
      const bool is_timeline = name.ends_with("_timeline.csv");
      const auto check_header = [&](std::uint64_t line, const std::vector<std::string_view>& fields) {
        static const std::vector<std::string> columns = KitColumns();
        if (line == 1 && is_timeline &&
            (fields.size() < columns.size() || !std::equal(columns.begin(), columns.end(), fields.begin()))) {
          findings_.AddViolation("csv", name, "has not the columns of a timeline");
        }
      };
      const std::string problem = ReadRecords(text, name, check_header);
      if (!problem.empty()) findings_.AddViolation("csv", name, problem);
    } catch (const Error& problem) {
      findings_.AddViolation("csv", name, problem.problem());
    }
  }
}

}  // namespace etprof
