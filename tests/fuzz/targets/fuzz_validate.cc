// The first byte chooses one of the files that `etprof validate` checks; the rest of the input is its
// contents.

#include <array>
#include <nlohmann/json.hpp>

#include "core/json/json_members.h"
#include "core/text/csv_reader.h"
#include "core/text/escape.h"
#include "fuzz.h"
#include "measure/store/run_data.h"
#include "show/formats/csv/kit_files.h"
#include "validate/validator.h"

namespace {

using namespace etprof;

// The manifest of a run of one experiment. It conforms to its schema, but fails other checks.
std::string MakeManifest(const std::filesystem::path& folder) {
  RunData run;
  run.folder = folder;
  run.status = RunData::Status::kComplete;
  run.generated_at = "2026-01-01T00:00:00Z";
  run.config_hash = std::string(64, '0');
  run.model_id = "net";
  ExperimentData data;
  data.name = data.label = "a";
  data.latency_csv = folder / "latency.csv";
  Launch launch;
  launch.first_run = 9;
  launch.warmup = {8};
  Burst burst;
  burst.recorded = {5, 6};
  launch.bursts = {burst};
  data.launches = {launch};
  run.experiments = {data};
  return ToJson(run, run.folder).dump();
}

// Writes the records as CSV again, after a byte order mark, which a reader skips once.
std::string RewriteCsv(const std::string& text) {
  CsvReader reader(text, "fuzzed.csv");
  std::string written = "\xef\xbb\xbf";
  std::vector<std::string_view> fields;
  std::size_t columns = 0;
  while (reader.Next(fields)) {
    if (columns == 0) columns = fields.size();
    fuzz::Require(fields.size() == columns, "a record has the fields of its header");
    for (std::size_t i = 0; i < fields.size(); ++i) {
      if (i > 0) written += ',';
      written += CsvField(std::string(fields[i]));
    }
    written += '\n';
  }
  return written;
}

void CheckCsv(const std::string& text) {
  std::string written;
  fuzz::Accepts({ExitCode::kBadInput}, [&] { written = RewriteCsv(text); });
  if (written.empty()) return;  // the text is not CSV
  fuzz::Require(RewriteCsv(written) == written, "records that are written and read again are the same");
}

}  // namespace

ETPROF_FUZZ_TARGET(validate) {
  constexpr std::array kFiles = {"manifest.json",         "metrics.json", "analysis_summary.json",
                                 "pipeline_summary.json", "latency.csv",  "x_timeline.csv"};
  if (size == 0) return 0;
  const std::filesystem::path folder = fuzz::ScratchFolder() / "validated";
  std::filesystem::remove_all(folder);
  const std::string manifest = MakeManifest(folder);
  fuzz::ScratchFile("validated/manifest.json", std::as_bytes(std::span(manifest)));
  const std::string file = std::string("validated/") + kFiles[data[0] % kFiles.size()];
  fuzz::ScratchFile(file, fuzz::Bytes(data + 1, size - 1));
  if (file.ends_with(".csv")) CheckCsv(fuzz::Text(data + 1, size - 1));
  fuzz::Accepts({ExitCode::kBadInput}, [&] {
    Validator validator(folder, "1.0.0");
    for (const char* name : {"analysis_summary.json", "x_timeline.csv"}) {
      if (validator.can_rebuild())
        validator.CheckDerived(folder / name, [](std::ostream& out) { out << "{}\n"; });
    }
    const std::vector<ValidationFinding> findings = validator.Finish();
    for (const ValidationFinding& finding : findings) {
      fuzz::Require(!finding.file.empty() && !finding.problem.empty(),
                    "a finding names a file and says what it is");
    }
  });
  return 0;
}
