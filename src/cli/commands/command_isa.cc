#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "cli/analyze_files.h"
#include "cli/analyze_run.h"
#include "cli/ask_runner.h"
#include "cli/command_schemas.h"
#include "cli/commands.h"
#include "cli/csv_option.h"
#include "cli/device_option.h"
#include "cli/experiment_options.h"
#include "cli/measure_and_show.h"
#include "cli/say.h"
#include "cli/validate_run.h"
#include "core/error.h"
#include "core/json.h"
#include "core/json_schema_of.h"
#include "core/table.h"
#include "core/views.h"
#include "isa/ladder.h"
#include "measure/config/ladder_config.h"
#include "measure/participants/emulation.h"
#include "protocol/messages.h"

namespace etprof {
namespace {

struct IsaOptions {
  std::string what;  // a model, or the run directory of a ladder; empty: the features of the device
  bool widest = false, json = false, all = false, resume = false;
  std::string csv;
  DeviceChoice device;
  ExperimentOptions experiment;
  std::string output_root;
  std::vector<int> threads = {1};
  std::optional<double> max_seconds, precision, margin;
  std::optional<int> launches, warmup;
};

struct WidestJson {
  isa::Extension extension;

  static void Describe(auto& v) {
    v("name", [](const WidestJson& json) { return json.extension.name; });
    v("off", [](const WidestJson& json) { return json.extension.off; },
      {.meaning = "the mask that hides it"});
  }
};

struct LevelJson {
  const isa::Level& level;

  static void Describe(auto& v) {
    v("name", [](const LevelJson& json) { return json.level.name; });
    v("isa", [](const LevelJson& json) { return json.level.mask; }, {.meaning = "its mask"});
  }
};

struct IsaJson {
  isa::Architecture architecture;
  const protocol::IsaState& state;
  const std::optional<isa::Extension>& widest;
  const std::vector<isa::Level>& levels;

  static void Describe(auto& v) {
    using J = const IsaJson&;
    v.Constant("schema_version", 1);
    v("architecture", [](J json) { return isa::Name(json.architecture); });
    v("features", [](J json) -> const auto& { return json.state.detected; });
    v("can_mask", [](J json) { return json.state.can_mask; });
    v("widest", [](J json) { return json.widest ? std::optional(WidestJson{*json.widest}) : std::nullopt; },
      {.meaning = "extension; null: there is none"});
    v("levels", [](J json) { return ViewsOf<LevelJson>(json.levels); },
      {.meaning = "of the ISA ladder, the lowest first", .some = true});
  }
};

int ShowIsa(const IsaOptions& options) {
  const std::unique_ptr<Device> device = Open(options.device);
  if (!options.device.power_mode.empty()) device->SetPowerMode(options.device.power_mode);
  const protocol::IsaState state =
      AskRunner(*device, options.experiment.runner, options.experiment.exec_wrapper);
  const isa::FeatureSet detected(state.detected.begin(), state.detected.end());
  const isa::Architecture architecture = isa::ArchitectureOf(detected);
  const std::optional<isa::Extension> widest = isa::WidestExtension(architecture, detected);
  const std::vector<isa::Level> levels = isa::Ladder(architecture, detected);
  if (options.widest) {
    if (widest) Print("{}\n", widest->name);
    return 0;
  }
  if (options.json) {
    const IsaJson json{architecture, state, widest, levels};
    Print("{}\n", JsonText(ToJson(json), 2));
    return 0;
  }
  Table table{
      {{"feature", Table::Align::kLeft}, {"here", Table::Align::kLeft}, {"needs", Table::Align::kLeft}}, {}};
  for (const isa::Feature& feature : isa::Features(architecture)) {
    table.AddRow({std::string(feature.name), detected.contains(std::string(feature.name)) ? "yes" : "-",
                  fmt::format("{}", fmt::join(feature.needs, ", "))});
  }
  Print("{}\n{}", isa::Name(architecture), table.ToText(2));
  if (widest)
    Print("\nwidest extension: {}   etprof profile MODEL.pte --vs isa={}\n", widest->name, widest->off);
  std::vector<std::string> names;
  for (const isa::Level& level : levels) names.push_back(level.name);
  if (names.size() > 1) Print("levels: {}   etprof isa MODEL.pte\n", fmt::join(names, " "));
  if (!state.can_mask) Print("features cannot be masked here: {}\n", state.why_not);
  return 0;
}

// The whole report as it was shown, or Error where the run is no ladder.
int ShowLadder(const Report& report, const std::filesystem::path& folder, const IsaOptions& options) {
  if (!report.ladder) {
    throw Error(ExitCode::kBadInput, "is not a run of an ISA ladder")
        .InFile(folder.string())
        .Remedy("`etprof isa MODEL.pte` makes one, and `etprof analyze` shows any run");
  }
  if (!options.csv.empty()) {
    ShowTable(report, options.csv);
  } else {
    ShowReport(report, options.json, (folder / "report.html").string(), options.all);
  }
  return static_cast<int>(ExitCode::kDone);
}

int ShowStored(const IsaOptions& options) {
  RunData run = OpenRunDirectory(options.what);
  std::vector<std::optional<Profile>> profiles = ProfileRun(run, true);
  return ShowLadder(Assemble(std::move(run), std::move(profiles)), options.what, options);
}

std::vector<isa::Level> LevelsOf(const protocol::IsaState& state) {
  if (!state.can_mask) {
    throw Error(ExitCode::kDeviceFailed, "features cannot be masked on this device: " + state.why_not)
        .Remedy("without a mask there is only one level, which `etprof profile` measures");
  }
  const isa::FeatureSet detected(state.detected.begin(), state.detected.end());
  std::vector<isa::Level> levels = isa::Ladder(isa::ArchitectureOf(detected), detected);
  if (levels.size() < 2) {
    throw Error(ExitCode::kUsage, fmt::format("this CPU has {} and nothing above it that XNNPACK asks for",
                                              levels.front().name))
        .Remedy("run `etprof profile` to measure the model as it is");
  }
  return levels;
}

// A level that the model cannot run at is part of the answer; the CPU as it is is not.
bool FailedAsAWhole(const Ladder& ladder) {
  const std::size_t top = ladder.levels.size() - 1;
  std::size_t measured = 0;
  for (std::size_t l = 0; l <= top; ++l) measured += ladder.Measured({l, 0}) ? 1 : 0;
  bool top_failed = false;
  for (std::size_t t = 0; t < ladder.threads.size(); ++t)
    top_failed = top_failed || !ladder.Measured({top, t});
  return top_failed || measured < 2;
}

int MeasureLadder(const IsaOptions& options) {
  CheckExperimentOptions(options.experiment);
  if (std::set<int>(options.threads.begin(), options.threads.end()).size() != options.threads.size())
    throw Error(ExitCode::kUsage, "--threads: a number repeats");
  const std::unique_ptr<Device> device = Open(options.device);
  const DeviceProperties properties = device->Properties();
  ExperimentConfig as_given = ExperimentOf(options.experiment, options.what, *device, properties);
  as_given.threads = options.threads;
  as_given.warmup = options.warmup;
  const std::vector<isa::Level> levels =
      LevelsOf(AskRunner(*device, as_given.runner.string(), options.experiment.exec_wrapper));
  Config config = MakeLadderConfig(as_given, levels);
  config.max_seconds = options.max_seconds;
  if (!config.max_seconds && !options.launches) config.max_seconds = DefaultLadderSeconds(config);
  config.launches = options.launches;
  config.precision = options.precision;
  if (options.margin) config.margin = *options.margin;
  config.output_root = options.output_root;
  if (config.output_root.empty())
    config.output_root = DefaultRunDirectory(options.what, PlatformOf(config, properties) + "-isa");
  Apply(options.device, config);
  CheckFiles(config);

  const RunData run = MeasureWithProgress(
      config, *device, {.resume = options.resume, .wait_for_device_seconds = options.device.wait_seconds});
  if (run.status == RunData::Status::kInterrupted)
    return TellInterruption(run, "the same command with --resume");
  const Report report = AnalyzeRunDirectory(run.folder, {});
  if (!report.ladder) {
    TellFailures(run);
    return static_cast<int>(ExitCode::kDeviceFailed);
  }
  const int code = ShowLadder(report, run.folder, options);
  if (!FailedAsAWhole(*report.ladder)) {
    const bool check = options.resume && code == static_cast<int>(ExitCode::kDone);
    return check ? ValidateRecovered(run.folder.string()) : code;
  }
  TellFailures(run);
  return static_cast<int>(ExitCode::kDeviceFailed);
}

int RunIsa(const IsaOptions& options) {
  std::error_code ignored;
  if (options.what.empty()) {
    if (!options.csv.empty() || options.all)
      throw Error(ExitCode::kUsage, "--csv and --all are for a ladder")
          .Remedy("run `etprof isa MODEL.pte`, or `etprof isa RUN`");
    return ShowIsa(options);
  }
  if (options.widest) throw Error(ExitCode::kUsage, "--widest says what the CPU has: give it no model");
  return std::filesystem::is_directory(options.what, ignored) ? ShowStored(options) : MeasureLadder(options);
}

}  // namespace

nlohmann::ordered_json IsaSchema() {
  return SchemaOf<IsaJson>("`etprof isa --json`", "The instruction sets of a CPU (docs/isa.md).");
}

CommandSpec IsaCommand() {
  return {
      "isa", "what instruction sets this machine has, and which of them pays for a model",
      "etprof isa out_mobilenet_v3_small/artifacts/mobilenet_v3_small_xnnpack_fp32.pte --threads 1,2",
      [](CLI::App& app) {
        const auto options = std::make_shared<IsaOptions>();
        app.add_option(
               "what", options->what,
               "a model, to measure at every feature level of the CPU; the run directory of a ladder, "
               "to show it again; nothing: what the CPU has")
            ->type_name("MODEL.pte|RUN");
        app.add_flag("--widest", options->widest,
                     "print only the name of the widest extension (nothing when there is none)");
        app.add_option("--threads", options->threads, "threads [1]; several make a matrix of level x threads")
            ->delimiter(',')
            ->check(CLI::Range(1, 1024))
            ->type_name("N,..");
        AddAllOption(app, options->all);
        app.add_option("--output-root", options->output_root,
                       "the run directory [out_<model>/runs/<platform>-isa]")
            ->type_name("DIR");
        app.add_option("--max-seconds", options->max_seconds,
                       "time for the measurement [15 for each level and number of threads, at least 60]")
            ->check(CLI::Range(0.1, 1e6))
            ->type_name("S");
        app.add_option("--warmup", options->warmup, "least number of unrecorded runs of a launch [10]")
            ->check(CLI::Range(0, 1'000'000))
            ->type_name("N");
        app.add_option("--launches", options->launches,
                       "processes of each level [as many as the precision takes]")
            ->check(CLI::Range(2, 10'000))
            ->type_name("L");
        app.add_option("--precision", options->precision, "relative half-width asked for [half of --margin]")
            ->check(CLI::Range(1e-6, 1.0))
            ->type_name("P");
        app.add_option("--margin", options->margin, "\"same\" lies within +- this [0.01]")
            ->check(CLI::Range(1e-6, 1.0))
            ->type_name("M");
        AddExperimentOptions(app, options->experiment);
        AddDeviceOption(app, options->device);
        AddCoolingOptions(app, options->device);
        app.add_flag("--json", options->json, "as JSON: what the CPU has, or the analysis of the ladder");
        AddCsvOption(app, options->csv, "ladder");
        app.add_flag("--resume", options->resume,
                     "go on with an interrupted measurement of the same command");
        return [options] { return RunIsa(*options); };
      }};
}

}  // namespace etprof
