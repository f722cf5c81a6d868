#include "commands/setup/quicktest.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "commands/measurement/locate.h"
#include "commands/setup/doctor.h"
#include "commands/terminal/show.h"
#include "commands/terminal/terminal_progress.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/file/file.h"
#include "core/json/json.h"
#include "core/units.h"
#include "device/describe.h"
#include "device/local/local.h"
#include "isa/features.h"
#include "measure/config/config.h"
#include "measure/store/run_data.h"
#include "measure/store/run_files.h"
#include "show/subjects.h"

namespace etprof {

namespace {

namespace fs = std::filesystem;
using State = QuickTestStep::State;

constexpr double kMaxStepSeconds = 180;  // time limit of one step, which normally takes seconds
constexpr double kGraceSeconds = 10;     // time that a step has to end after an interrupt
constexpr const char* kModelFile = "toy_cnn_xnnpack_fp32.pte";

std::string RelativePath(const fs::path& path) {
  return path.lexically_proximate(fs::current_path()).string();
}

// Returns a model that was exported before, or else the model of the tests.
fs::path StoredModel() {
  std::vector<fs::path> candidates = {fs::path("out_toy_cnn") / "artifacts" / kModelFile};
  if (const auto root = CheckoutRoot()) {
    candidates.push_back(*root / candidates[0]);
    candidates.push_back(*root / "tests" / "data" / "toy_cnn.pte");
  }
  for (const fs::path& candidate : candidates) {
    std::error_code error;
    if (fs::is_regular_file(candidate, error)) return candidate;
  }
  throw Error(ExitCode::kBadInput, "no model: PyTorch is not installed, and no model was exported before")
      .Remedy("run `script/bootstrap`, or give a model with `--model`");
}

Error CheckFailure(const fs::path& file, const std::string& problem) {
  return Error(ExitCode::kCheckFailed, problem).InFile(file.string());
}

Bytes GetFileSize(const fs::path& file) {
  std::error_code error;
  const auto size = fs::file_size(file, error);
  if (error) throw CheckFailure(file, "is not there");
  return static_cast<Bytes>(size);
}

nlohmann::json ReadJsonFile(const fs::path& file) {
  GetFileSize(file);
  nlohmann::json json = ParseJson(ReadTextFile(file));
  if (!json.is_object()) throw CheckFailure(file, "is not a JSON object");
  return json;
}

}  // namespace

QuickTest::QuickTest(QuickTestOptions options, WorkflowProgress& progress)
    : options_(std::move(options)),
      progress_(progress),
      folder_(fs::absolute(options_.outdir).lexically_normal()) {
  result_.run = folder_ / "runs" / "quick_test";
  result_.report = result_.run / kReportPage;
  result_.log = folder_ / "quick_test.log";
  std::error_code error;
  fs::create_directories(folder_, error);
  log_.open(result_.log);
  if (!log_) {
    throw Error(ExitCode::kDeviceFailed, "cannot be written")
        .InFile(result_.log.string())
        .Remedy("name another folder with --outdir");
  }
}

const QuickTestStep* QuickTest::Next() {
  struct StepSpec {
    const char* name;
    std::string (QuickTest::*action)();
  };
  constexpr std::array<StepSpec, 5> kSteps = {{{"export", &QuickTest::Export},
                                               {"run", &QuickTest::Measure},
                                               {"analyze", &QuickTest::Analyze},
                                               {"report", &QuickTest::Report},
                                               {"validate", &QuickTest::Validate}}};
  if (result_.steps.size() == kSteps.size()) return nullptr;
  const auto& [name, action] = kSteps[result_.steps.size()];
  const bool has_failed = !result_.Passed();
  QuickTestStep& step = result_.steps.emplace_back();
  step.name = name;
  if (has_failed) return &step;
  progress_.Step(step.name, static_cast<int>(result_.steps.size()), static_cast<int>(kSteps.size()));
  const double start = MonotonicSeconds();
  try {
    progress_.StopWhenInterrupted();
    step.message = (this->*action)();
    step.state = State::kPassed;
  } catch (const std::exception& exception) {
    const Error error = ToError(exception);
    result_.interrupted = error.exit_code() == ExitCode::kInterrupted;
    step.message = error.Message();
    if (!result_.interrupted) step.state = State::kFailed;
    step.exit_code = static_cast<int>(error.exit_code());
  }
  step.seconds = MonotonicSeconds() - start;
  return &step;
}

std::string QuickTest::Export() {
  if (!options_.model.empty()) {
    model_ = options_.model;
    return "not exported: " + RelativePath(model_);
  }
  const DoctorGroup requirements = CheckExportRequirements();
  if (!requirements.IsReady()) {
    const auto missing =
        std::ranges::find(requirements.checks, DoctorCheck::State::kMissing, &DoctorCheck::state);
    model_ = StoredModel();
    return fmt::format("not exported, since {} is {}: {}", missing->name, missing->found,
                       RelativePath(model_));
  }
  const fs::path artifacts = folder_ / "artifacts";
  RunEtprof({"export", "--model", "toy_cnn", "--outdir", artifacts.string()});
  model_ = artifacts / kModelFile;
  return fmt::format("{}, {}", RelativePath(model_), FormatBytes(double(GetFileSize(model_))));
}

// Returns the mask that turns off the widest extension of the device, or "all" if the device has no
// extension: both experiments run with all features then.
std::string QuickTest::ChooseIsaMask() {
  const std::vector<std::string> features =
      CpuFeatureNames(Open(options_.device, {}, progress_)->Properties());
  const isa::FeatureSet device_features(features.begin(), features.end());
  const auto widest = isa::WidestExtension(isa::DetectArchitecture(device_features), device_features);
  return widest ? widest->off_mask : "all";
}

std::string QuickTest::Measure() {
  Config config;
  config.output_root = result_.run;
  config.launches = 3;
  config.rounds = 3;
  config.max_seconds = 10;
  config.peaks = false;
  ExperimentConfig on;
  on.model = fs::absolute(model_).lexically_normal();
  on.runs = 12;
  ExperimentConfig off = on;
  off.isa = ChooseIsaMask();
  off.name = "off";
  off.label = "isa " + off.isa;
  on.name = "on";
  on.label = "as it is";
  config.experiments = {off, on};
  const fs::path file = folder_ / kConfigFile;
  WriteFileAtomically(file, ToJson(config).dump(2) + "\n");
  RunEtprof({"run", file.string(), "--device", options_.device});
  const fs::path manifest = result_.run / kManifestFile;
  RunData run;
  ReadManifest(ReadJsonFile(manifest), run);
  if (run.status != RunData::Status::kComplete)
    throw CheckFailure(manifest, std::string("says that the run is ") + GetName(run.status));
  for (const char* name : {"off", "on"}) {
    bool has_trace = false;
    for (const auto& entry : fs::directory_iterator(result_.run / name))
      has_trace = has_trace || (entry.path().extension() == ".etdump" && GetFileSize(entry.path()) > 0);
    if (!has_trace) throw CheckFailure(result_.run / name, "has no .etdump");
  }
  return fmt::format("{} against {}, 3 launches", off.isa, "all features");
}

std::string QuickTest::Analyze() {
  RunEtprof({"analyze", result_.run.string()});
  const nlohmann::json summary = ReadJsonFile(result_.run / kAnalysisFile);
  const auto groups = summary.find("category_totals_ms");
  if (groups == summary.end() || groups->empty())
    throw CheckFailure(result_.run / kAnalysisFile, "has no category");
  std::size_t tables = 0;
  for (const auto& entry : fs::recursive_directory_iterator(result_.run)) {
    if (entry.path().extension() == ".csv" && GetFileSize(entry.path()) > 0) ++tables;
  }
  return fmt::format("{} tables", tables);
}

std::string QuickTest::Report() {
  RunEtprof({"report", result_.run.string()});
  for (const fs::path& file : {result_.run / kReportFile, result_.report}) {
    if (GetFileSize(file) == 0) throw CheckFailure(file, "is empty");
  }
  return fmt::format("{}, {}", RelativePath(result_.report),
                     FormatBytes(double(GetFileSize(result_.report))));
}

std::string QuickTest::Validate() {
  RunEtprof({"validate", result_.run.string()});
  return "all is well";
}

// Runs this etprof with the given arguments and copies its output to the log. Throws Error with its exit code
// and its last message; Error (kInterrupted).
void QuickTest::RunEtprof(std::vector<std::string> arguments) {
  Command command;
  command.arguments = {ExecutablePath().string()};
  command.arguments.insert(command.arguments.end(), arguments.begin(), arguments.end());
  log_ << "$ " << CommandText(command) << '\n';
  const std::unique_ptr<Process> process = StartLocalProcess(
      command, [this](std::string_view text) { log_ << text; }, [this] { return progress_.Interrupted(); });
  const double end = MonotonicSeconds() + kMaxStepSeconds;
  std::string line, last_line;
  for (bool reading = true; reading;) {
    switch (process->ReadLine(line, std::max(0.0, end - MonotonicSeconds()))) {
      case Process::ReadResult::kLine:
        log_ << line << '\n';
        if (!line.empty()) last_line = line;
        break;
      case Process::ReadResult::kEnd:
        reading = false;
        break;
      case Process::ReadResult::kInterrupted:
        process->Stop(kGraceSeconds);
        progress_.StopWhenInterrupted();
        break;
      case Process::ReadResult::kTimeout:
      case Process::ReadResult::kTooLong:
        process->Stop(kGraceSeconds);
        throw Error(ExitCode::kDeviceFailed,
                    fmt::format("etprof {} did not end within {:.0f} s", arguments[0], kMaxStepSeconds))
            .InFile(result_.log.string());
    }
  }
  const auto status = process->Wait(kGraceSeconds);
  log_.flush();
  progress_.StopWhenInterrupted();
  if (status && status->Success()) return;
  // Errors go to stderr, but `validate` prints its findings to stdout.
  std::string message = LastError(process->LastErrors());
  if (message.empty()) message = last_line;
  if (message.empty())
    message = status ? fmt::format("etprof {} {}", arguments[0], status->Text()) : "it did not end";
  const bool has_etprof_exit_code = status && status->signal == 0 && status->code >= 1 && status->code <= 5;
  throw Error(has_etprof_exit_code ? static_cast<ExitCode>(status->code) : ExitCode::kDeviceFailed, message);
}

namespace {

struct QuickTestArguments {
  QuickTestOptions options;
  std::string platform;
  View view;
};

// Runs the test. Progress goes to stderr, and if JSON is shown, so do failures.
QuickTestResult RunSteps(QuickTestOptions options, const View& view) {
  TerminalProgress progress;
  QuickTest test(std::move(options), progress);
  while (const QuickTestStep* step = test.Next()) {
    // A script that stores the JSON in a file still sees why the test stopped.
    if (view.json && step->state == QuickTestStep::State::kFailed)
      progress.Message(
          fmt::format("error: {}: {}", step->name, Error(ExitCode::kDone, step->message).Message()));
  }
  return test.result();
}

int RunQuickTest(const QuickTestArguments& arguments) {
  QuickTestOptions options = arguments.options;
  if (arguments.platform == "android" && options.device.starts_with("ssh:")) {
    throw Error(
        ExitCode::kUsage,
        fmt::format("`--platform android` needs adb, but `--device {}` does not use it", options.device))
        .Remedy("give only one of the two");
  }
  if (arguments.platform == "android" && options.device == "local") options.device = "adb";
  const QuickTestResult result = RunSteps(std::move(options), arguments.view);
  ShowDocument(show::MakeQuickTestDocument(result), arguments.view, result);
  return result.exit_code();
}

}  // namespace

std::function<int()> QuickTestCommand(CLI::App& app) {
  const auto arguments = std::make_shared<QuickTestArguments>();
  AddDescribedOptions(app, arguments->options);
  app.get_option("--model")->check(CLI::ExistingFile);
  app.add_option("--platform", arguments->platform)  // SME2 profiling kit's option; android: --device adb
      ->check(CLI::IsMember({"mac", "linux", "android"}))
      ->group("");
  AddDocumentOptions(app, arguments->view, "Show the steps as JSON", {show::MakeQuickTestDocument({})});
  return [arguments] { return RunQuickTest(*arguments); };
}

}  // namespace etprof
