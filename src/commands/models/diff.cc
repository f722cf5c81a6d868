#include "commands/models/diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <deque>
#include <memory>

#include "commands/analyze/analyze.h"
#include "commands/terminal/show.h"
#include "core/error.h"
#include "core/file/sha256.h"
#include "format/program/read/program_reader.h"
#include "format/program/source/noise_budget.h"
#include "format/xnnpack/operator_name.h"
#include "show/subjects.h"

namespace etprof {

namespace {

namespace fs = std::filesystem;

struct DiffedFile {
  fs::path path;
  std::string sha256;
  Program program;
  RecordedSources sources;
  std::vector<const Profile*> profiles;
  std::string experiment;  // name of the experiment with the times; "": none yet

  DiffInput MakeInput() const { return {&program, sources.map ? &*sources.map : nullptr, profiles}; }
};

DiffedFile Read(const fs::path& path, std::vector<std::string>& warnings) {
  DiffedFile file;
  file.path = path;
  file.program = ReadProgramFile(path);
  file.sha256 = Sha256HexOfFile(path);
  file.sources = ReadSources(file.program, path);
  if (!file.sources.map)
    warnings.push_back(file.sources.problem +
                       ": its modules are not known, and operators are matched without them");
  return file;
}

class RunTimes {
 public:
  RunTimes(std::array<DiffedFile, 2>& files, std::vector<std::string>& warnings)
      : files_(files), warnings_(warnings) {}

  void Read(const std::vector<std::string>& runs) {
    std::size_t etdumps_read = 0;
    for (const std::string& path : runs) {
      RunData run = OpenRun({path}, "--run takes results directories, or two ETDumps");
      const bool is_folder = !run.folder.empty();
      if (!is_folder && etdumps_read == files_.size())
        throw Error(ExitCode::kUsage, "`--run` takes two ETDumps at most")
            .Remedy("give the baseline's and the candidate's, in this order");
      for (ExperimentData& data : run.experiments) {
        if (!is_folder) data.model = fs::absolute(files_[etdumps_read].path);
        for (const DiffedFile& file : files_) {
          if (is_folder && data.model_sha256 == file.sha256) data.model = fs::absolute(file.path);
        }
      }
      reports_.push_back(MakeReport(std::move(run), {.tolerant = is_folder}));
      for (std::size_t i = 0; i < files_.size(); ++i) {
        if (is_folder || i == etdumps_read) AddTimes(reports_.back(), path, files_[i], is_folder);
      }
      etdumps_read += is_folder ? 0 : 1;
    }
    for (const DiffedFile& file : files_) {
      if (!file.experiment.empty() || runs.empty()) continue;
      throw Error(ExitCode::kBadInput, fmt::format("no run measured {}", file.path.filename().string()))
          .InFile(runs.front())
          .Remedy("name the results directories that measured both programs, each with --run");
    }
  }

 private:
  // XNNPACK's operator names contain the data type that the operator computes in, "Convolution (NHWC, QS8,
  // QC8W) IGEMM".
  static bool HasType(const std::string& name, const OperatorTensors& tensors) {
    const auto parsed = xnnpack::ParseOperatorName(name);
    if (!parsed || parsed->data_types.empty() || tensors.outputs.empty()) return true;
    std::string_view data_type = parsed->data_types.front();
    if (data_type.starts_with('P')) data_type.remove_prefix(1);  // prefix of packed types
    const std::string& type = tensors.outputs.front().type.name;
    if (data_type == "F32") return type == "fp32";
    if (data_type == "F16") return type == "fp16";
    if (data_type == "QS8") return type.find("int8") != std::string::npos;
    return true;
  }

  // True if the program may have written the trace; a bare ETDump does not name its program. If another
  // program ran, few operators match the nodes of this program.
  static bool MatchesProgram(const Profile& profile) {
    std::size_t operator_count = 0, mismatches = 0;
    for (std::size_t op = 0; op < profile.operators.size(); ++op) {
      const OperatorSource& source = profile.program->operators[op];
      if (profile.operators[op].key.kind != SpanKind::kBackend || !source.graph) continue;
      ++operator_count;
      const bool is_unjoined = source.join == OperatorSource::Join::kNone && source.candidates.empty();
      mismatches += is_unjoined || !HasType(profile.operators[op].name, source.tensors) ? 1U : 0U;
    }
    return 5 * mismatches <= operator_count;
  }

  // Takes the times of the first experiment that ran this file, with all its methods.
  void AddTimes(const Report& report, const std::string& path, DiffedFile& file, bool by_hash) {
    for (const ReportExperiment& experiment : report.experiments) {
      const ExperimentData& data = report.run.experiments[experiment.index];
      if (!experiment.profile || (by_hash && data.model_sha256 != file.sha256)) continue;
      if (!experiment.profile->program) continue;
      if (!experiment.profile->program->problem.empty())
        throw Error(ExitCode::kBadInput, experiment.profile->program->problem)
            .InFile(path)
            .Remedy("give the .pte that ran as one of the two");
      if (!by_hash && !MatchesProgram(*experiment.profile)) {
        throw Error(ExitCode::kBadInput,
                    fmt::format("the operators that ran are not those of {}", file.path.filename().string()))
            .InFile(path)
            .Remedy("give an ETDump of the baseline, then one of the candidate");
      }
      if (!file.experiment.empty() && file.experiment != data.name) {
        warnings_.push_back(fmt::format("the times of {} are those of {}, not of {}",
                                        file.path.filename().string(), file.experiment, data.name));
        return;
      }
      file.experiment = data.name;
      file.profiles.push_back(&*experiment.profile);
    }
  }

  std::array<DiffedFile, 2>& files_;
  std::vector<std::string>& warnings_;
  std::deque<Report> reports_;  // own the profiles in `files_`
};

// Adds the signal-to-noise ratios that `etprof accuracy` wrote next to the programs: a property for each
// output with a ratio.
void AddNoise(const std::array<DiffedFile, 2>& files, ProgramDiff& diff, std::vector<std::string>& warnings) {
  for (std::size_t i = 0; i < files.size(); ++i) {
    std::optional<NoiseBudget> noise_budget;
    try {
      noise_budget = ReadNoiseBudget(files[i].path, files[i].sha256);
    } catch (const Error& error) {
      warnings.emplace_back(error.what());
    }
    if (!noise_budget) continue;
    for (const OutputBudget& budget : noise_budget->budgets) {
      const auto method = std::ranges::find(diff.methods, budget.method, &MethodDiff::name);
      if (method == diff.methods.end() || !budget.sqnr_db) continue;
      const std::string name = fmt::format("output {}: signal to noise ({})", budget.output,
                                           budget.device_sqnr_db ? "of the .pte" : "emulated");
      auto property = std::ranges::find(method->properties, name, &ProgramProperty::name);
      if (property == method->properties.end())
        property =
            method->properties.insert(method->properties.end(), {name, ProgramProperty::Unit::kText, {}, {}});
      (i == 0 ? property->baseline : property->candidate) =
          fmt::format("{:.1f} dB", budget.device_sqnr_db.value_or(*budget.sqnr_db));
    }
  }
  for (MethodDiff& method : diff.methods) {
    std::erase_if(method.properties,
                  [](const ProgramProperty& property) { return property.baseline == property.candidate; });
  }
}

}  // namespace

DiffResult DiffFiles(const DiffFilesOptions& options) {
  DiffResult result;
  std::array<DiffedFile, 2> files = {Read(options.baseline, result.warnings),
                                     Read(options.candidate, result.warnings)};
  if (result.warnings.size() == 2 && result.warnings[0] == result.warnings[1]) result.warnings.pop_back();
  RunTimes times(files, result.warnings);
  times.Read(options.runs);
  result.diff = DiffPrograms(files[0].MakeInput(), files[1].MakeInput());
  result.diff.same_bytes = files[0].sha256 == files[1].sha256;
  if (!result.diff.same_bytes) AddNoise(files, result.diff, result.warnings);
  return result;
}

std::function<int()> DiffCommand(CLI::App& app) {
  const auto parsed = std::make_shared<ParsedArguments<DiffFilesOptions>>();
  auto& [options, view] = *parsed;
  AddOption(app, "baseline A.pte", options.baseline, "Baseline program (.pte)")->required();
  AddOption(app, "candidate B.pte", options.candidate, "Candidate program (.pte)")->required();
  AddOption(app, "--run RUN...", options.runs,
            "Show each operator's time from this run: a results directory with both programs, one directory "
            "for each, or an ETDump of A.pte and one of B.pte");
  AddDocumentOptions(app, view, "Show the differences as JSON");
  return [parsed] {
    const auto& [diff_options, diff_view] = *parsed;
    const DiffResult result = DiffFiles(diff_options);
    ShowDocument(show::MakeDiffDocument(result.diff, diff_options.baseline.string(),
                                        diff_options.candidate.string(), result.warnings),
                 diff_view, "");
    return 0;
  };
}

}  // namespace etprof
