#include "commands/gate/static_check.h"

#include <algorithm>

#include "commands/analyze/analyze.h"
#include "core/error.h"
#include "core/text/text.h"
#include "format/program/read/bundled_program.h"
#include "format/program/read/program_reader.h"
#include "measure/config/thresholds.h"

namespace etprof {
namespace {

struct StaticFile {
  std::string path;
  MappedFile file;
  Program program;
  RecordedSources sources = {};

  explicit StaticFile(const std::filesystem::path& file_path)
      : path(file_path.string()),
        file(MappedFile::Open(file_path)),
        program(ReadProgram(file.bytes(), path)) {}

  // Modules and source lines only explain the results; the results do not depend on them.
  void ReadSources(std::vector<std::string>& notes) {
    sources = etprof::ReadSources(program, path);
    if (!sources.map && sources.file_exists) AppendUnique(sources.problem, notes);
  }

  StaticCheckInput MakeInput() const {
    return {&program, sources.map ? &*sources.map : nullptr, path,
            ExtractProgram(file.bytes(), path).program};
  }
};

StaticLimits MergeLimits(const StaticCheckOptions& options) {
  StaticLimits limits = options.limits;
  if (options.thresholds.empty()) return limits;
  StaticLimits from_file = ReadThresholds(options.thresholds);
  limits.limits.merge(from_file.limits);
  limits.tolerances.merge(from_file.tolerances);
  if (options.baseline.empty() && limits.limits.empty()) {
    throw Error(ExitCode::kBadInput, "has no limit")
        .InFile(options.thresholds.string())
        .Remedy("give it one, such as \"require_delegated\": \"100%\"");
  }
  return limits;
}

}  // namespace

StaticCheck CheckStaticFiles(const StaticCheckOptions& options) {
  const StaticLimits limits = MergeLimits(options);
  std::vector<std::string> notes;
  StaticFile candidate(options.candidate);
  StaticCheck check;
  if (options.baseline.empty()) {
    candidate.ReadSources(notes);
    check = CheckStatic(candidate.MakeInput(), limits);
  } else {
    StaticFile baseline(options.baseline);
    if (!std::ranges::equal(baseline.file.bytes(), candidate.file.bytes())) {
      baseline.ReadSources(notes);
      candidate.ReadSources(notes);
    }
    check = CheckStatic(baseline.MakeInput(), candidate.MakeInput(), limits, options.require_conclusive);
    baseline.file.RequireUnchanged();
  }
  candidate.file.RequireUnchanged();
  check.notes.insert(check.notes.end(), notes.begin(), notes.end());
  return check;
}

}  // namespace etprof
