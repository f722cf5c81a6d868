#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nanobind/stl/string.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "commands/analyze/analyze.h"
#include "commands/gate/bisect.h"
#include "commands/gate/check.h"
#include "commands/measure/generate.h"
#include "commands/measure/suite.h"
#include "commands/measurement/device.h"
#include "commands/measurement/locate.h"
#include "commands/measurement/measure.h"
#include "commands/setup/build.h"
#include "commands/setup/devices.h"
#include "commands/setup/doctor.h"
#include "commands/setup/quicktest.h"
#include "core/error.h"
#include "core/file/file.h"
#include "core/json/json.h"
#include "core/json/json_members.h"
#include "core/json/json_schema_of.h"
#include "core/views.h"
#include "measure/store/run_data.h"
#include "native.h"
#include "report/generate/generate.h"
#include "show/formats.h"
#include "show/formats/json/json.h"
#include "show/gates.h"

namespace etprof {
namespace {

namespace nb = nanobind;
using namespace nb::literals;

template <Described T>
std::string ValueJson(const T& value) {
  return JsonText(ToJson(value));
}

// --- workflows that measure, then analyze; failures become exceptions --------------------------------------

void ThrowIfAny(const std::vector<DeviceProblem>& problems, const std::filesystem::path& folder) {
  if (problems.empty()) return;
  const auto to_text = [](const DeviceProblem& problem) {
    return (problem.device.empty() ? "" : problem.device + ": ") + problem.error.Message();
  };
  Error error(ExitCode::kDeviceFailed, fmt::format("{}", fmt::join(MapEach(problems, to_text), "; ")));
  if (!folder.empty()) error.Remedy("what was measured is in " + folder.string());
  throw error;
}

// Measures and analyzes. Throws an Error for the problems that the command line only reports.
FinishedMeasurement MeasureAndFinish(const MeasureJobs& jobs, const MeasureRequest& request,
                                     PythonProgress& progress) {
  progress.SetDevices(MapEach(jobs.jobs, &MeasureJob::device));
  const std::vector<DeviceMeasurement> devices = MeasureOnDevices(jobs, request, false, progress);
  progress.StopWhenInterrupted();
  FinishedMeasurement finished = FinishMeasurement(devices, jobs.several_devices, request.resume);
  for (const DeviceMeasurement& device : devices) {
    if (device.history_update.error)
      finished.problems.push_back({jobs.several_devices ? device.device : "", *device.history_update.error});
  }
  const std::filesystem::path folder =
      finished.report ? finished.report->run.folder : finished.devices_folder.parent_path();
  ThrowIfAny(finished.problems, folder);
  return finished;
}

template <typename Options>
std::string MeasureAndAnalyze(const Options& options, PythonProgress& progress) {
  const FinishedMeasurement finished = MeasureAndFinish(MakeJobs(options), options, progress);
  return RenderToString([&](std::ostream& out) {
    finished.report ? RenderAnalysisJson(*finished.report, out)
                    : RenderDevicesJson(*finished.devices_report, out);
  });
}

std::string Versions(const VersionsOptions& requested, PythonProgress& progress) {
  VersionsOptions options = requested;
  ExportWithReleases(options, progress);
  return MeasureAndAnalyze(options, progress);
}

std::string Plan(const RunOptions& options, PythonProgress& progress) {
  const std::vector<DeviceMeasurement> devices = MeasureOnDevices(MakeJobs(options), options, true, progress);
  ThrowIfAny(FindProblems(devices, true), {});
  return JsonText(PlanJson(devices, options));
}

// Without a model, returns the CPU's features. The failure of a lower level is part of the result.
std::string Isa(const LadderOptions& options, PythonProgress& progress) {
  if (options.model.empty()) return ValueJson(ReadCpuFeatures(options, progress));
  return MeasureAndAnalyze(options, progress);
}

std::string Generate(const GenerateOptions& options, PythonProgress& progress) {
  const FinishedMeasurement finished = MeasureAndFinish(MakeJobs(options), options, progress);
  const std::optional<GenerationReport> generation_report = MakeGenerationReport(finished.report.value());
  return ValueJson(generation_report.value());
}

// --- other workflows ------------------------------------------------------------------------------------

std::string Check(const CheckOptions& options, PythonProgress& progress) {
  const CheckOutcome outcome = CheckVariants(options, progress);
  progress.StopWhenInterrupted();
  if (outcome.history_update.error) throw *outcome.history_update.error;
  return ValueJson(*outcome.report);
}

std::string RunBisection(const BisectOptions& options, PythonProgress& progress) {
  const Bisection bisection = Bisect(options, progress);
  return RenderToString(
      [&](std::ostream& out) { RenderDocumentJson(show::MakeBisectionDocument(bisection), out); });
}

std::string Suite(const SuiteOptions& options, PythonProgress& progress) {
  if (IsFolder(options.path)) return ValueJson(ReadSuiteFolder(options, progress));
  const SuiteConfig suite = LoadSuite(options);
  progress.SetDevices(SelectedDevices(suite, options));
  const SuiteOutcome outcome = RunSuite(suite, options, progress);
  progress.StopWhenInterrupted();
  for (const HistoryUpdate& update : outcome.history_updates) {
    if (update.error) throw *update.error;
  }
  return ValueJson(outcome.report);
}

std::string BuildRunners(const ExecutorchBuildOptions& options, PythonProgress& progress) {
  const ExecutorchBuildResult result = BuildExecutorch(options, [](const BuiltRunner&) {}, progress);
  std::vector<std::string> missing;
  for (const auto& [problem, remedy] : result.missing) missing.push_back(problem + ": " + remedy);
  if (!missing.empty()) throw Error(ExitCode::kBadInput, fmt::format("{}", fmt::join(missing, "; ")));
  return ValueJson(result);
}

struct DoctorOptions {
  static void Describe(auto&) {}
};
std::string Doctor(const DoctorOptions&, PythonProgress&) { return ValueJson(MakeDoctorReport()); }

std::string RunQuickTest(const QuickTestOptions& options, PythonProgress& progress) {
  QuickTest test(options, progress);
  while (const QuickTestStep* step = test.Next()) progress.Message(step->name + ": " + step->message);
  return ValueJson(test.result());
}

struct RecoverOptions {
  std::string run;

  static void Describe(auto& v) { v("run", &RecoverOptions::run); }
};
std::string Recover(const RecoverOptions& options, PythonProgress&) {
  return ValueJson(RecoverRun(options.run));
}

// --- workflows by name ----------------------------------------------------------------------------------

// Parses options. A list with one element may be given as a single value.
template <Described Options>
Options ParseOptions(nlohmann::json values) {
  const nlohmann::ordered_json schema = MakeSchema<Options>("", "");
  for (auto& [key, value] : values.items()) {
    if (schema.at("properties").at(key).contains("anyOf") && !value.is_array() && !value.is_null())
      value = nlohmann::json::array({value});
  }
  Options options;
  FromJson(values, options);
  return options;
}

// Returns the schema of each option, with the C++ default value.
template <Described Options>
nlohmann::ordered_json OptionSchemas() {
  nlohmann::ordered_json schemas = MakeSchema<Options>("", "").at("properties");
  const auto defaults = ToJson(Options());
  for (const auto& [key, value] : defaults.items()) schemas.at(key)["default"] = value;
  return schemas;
}

struct Workflow {
  const char* name;
  std::string (*run)(const nlohmann::json& options_json, PythonProgress& progress);
  nlohmann::ordered_json (*options)();
};

// Makes a workflow of a function that returns JSON, or a described value.
template <auto kFunction>
struct WorkflowBinding;
template <typename Result, typename Options, typename Progress,
          Result (*kFunction)(const Options&, Progress&)>
struct WorkflowBinding<kFunction> {
  static std::string Run(const nlohmann::json& options_json, PythonProgress& progress) {
    const auto result = kFunction(ParseOptions<Options>(options_json), progress);
    if constexpr (Described<Result>) {
      return ValueJson(result);
    } else {
      return result;
    }
  }
  static constexpr Workflow Make(const char* name) { return {name, Run, OptionSchemas<Options>}; }
};

constexpr Workflow kWorkflows[] = {WorkflowBinding<MeasureAndAnalyze<ProfileOptions>>::Make("profile"),
                                   WorkflowBinding<Versions>::Make("versions"),
                                   WorkflowBinding<MeasureAndAnalyze<RunOptions>>::Make("run"),
                                   WorkflowBinding<Plan>::Make("plan"),
                                   WorkflowBinding<Isa>::Make("isa"),
                                   WorkflowBinding<Generate>::Make("generate"),
                                   WorkflowBinding<MeasurePeaks>::Make("peaks"),
                                   WorkflowBinding<Check>::Make("check"),
                                   WorkflowBinding<RunBisection>::Make("bisect"),
                                   WorkflowBinding<Suite>::Make("suite"),
                                   WorkflowBinding<FindDevices>::Make("devices"),
                                   WorkflowBinding<Doctor>::Make("doctor"),
                                   WorkflowBinding<RunQuickTest>::Make("quick_test"),
                                   WorkflowBinding<BuildPortableRunner>::Make("build"),
                                   WorkflowBinding<BuildRunners>::Make("build_executorch"),
                                   WorkflowBinding<Recover>::Make("recover")};

const Workflow& FindWorkflow(const std::string& name) {
  for (const Workflow& workflow : kWorkflows) {
    if (name == workflow.name) return workflow;
  }
  throw nb::key_error(name.c_str());
}

}  // namespace

void BindMeasuring(nb::module_& module) {
  module.def(
      "set_program", [](const std::string& etprof) { SetExecutablePath(etprof); }, "etprof"_a,
      "where the etprof program is, with its runner beside it");
  module.def(
      "options", [](const std::string& name) { return FindWorkflow(name).options().dump(); }, "name"_a,
      "a workflow's options, as the properties of a JSON Schema with all defaults");
  module.def(
      "measure",
      [](const std::string& name, const std::string& options, const nb::object& progress) {
        const Workflow& workflow = FindWorkflow(name);
        try {
          return RunOnWorkerThread(progress, [&](PythonProgress& worker_progress) {
            return workflow.run(nlohmann::json::parse(options), worker_progress);
          });
        } catch (const Error& error) {
          // Errors about the arguments become ValueError, as in all functions of the module.
          if (error.exit_code() == ExitCode::kUsage || error.exit_code() == ExitCode::kBadInput) throw;
          throw std::runtime_error(error.Message());
        }
      },
      "name"_a, "options"_a, "progress"_a.none());
}

}  // namespace etprof
