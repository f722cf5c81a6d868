#include <fmt/format.h>

#include <memory>
#include <optional>

#include "cli/analyze_run.h"
#include "cli/commands.h"
#include "cli/csv_option.h"
#include "cli/device_option.h"
#include "cli/experiment_options.h"
#include "cli/measure_and_show.h"
#include "cli/measure_devices.h"
#include "cli/show_plan.h"
#include "core/error.h"
#include "measure/conditions/check_device.h"
#include "measure/config/config.h"
#include "measure/config/device_groups.h"
#include "measure/participants/emulation.h"

namespace etprof {
namespace {

struct RunOptions {
  std::string config;
  std::vector<std::string> only;
  bool analysis_only = false, resume = false, json = false, all = false, dry_run = false, no_peaks = false,
       counters = false;
  std::string output_root, sustained;
  std::optional<double> max_seconds;
  std::optional<int> runs, launches;
  std::vector<int> threads;
  DevicesChoice devices;
};

// What the command line says in place of the file.
void Override(const RunOptions& options, Config& config) {
  if (!options.output_root.empty()) config.output_root = options.output_root;
  if (!options.sustained.empty()) config.sustained = SustainedOf(options.sustained);
  if (options.max_seconds) config.max_seconds = options.max_seconds;
  if (options.launches) config.launches = options.launches;
  if (options.no_peaks) config.peaks = false;
  Apply(options.devices, config);
  for (ExperimentConfig& experiment : config.experiments) {
    if (options.runs) experiment.runs = *options.runs;
    if (!options.threads.empty()) experiment.threads = options.threads;
  }
}

Config Configure(const RunOptions& options, const Device& device, const DeviceProperties& properties) {
  Config config = ReadConfig(options.config, ContextFor(device, properties));
  if (!options.only.empty()) KeepOnly(config, options.only);
  Override(options, config);
  if (config.output_root.empty()) {
    config.output_root = DefaultRunDirectory(config.experiments[0].model, PlatformOf(config, properties));
  }
  return config;
}

std::string ResumeCommand(const RunOptions& options) {
  std::string command = "etprof run " + options.config;
  for (const std::string& device : options.devices.names) command += " --device " + device;
  return command + " --resume";
}

int RunHere(const RunOptions& options, const std::string& name) {
  const std::unique_ptr<Device> device = Open(options.devices.One(name));
  const DeviceProperties properties = device->Properties();
  const Config config = Configure(options, *device, properties);
  MakePlan(config);
  if (options.analysis_only)
    return AnalyzeAndShow(config.output_root, {.json = options.json, .all = options.all});
  CheckFiles(config);
  if (options.dry_run) {
    CheckForDevice(config, name, properties);
    CheckMasks(config, properties);
    ShowPlans({{name, properties, config}}, {.counters = options.counters, .json = options.json});
    return static_cast<int>(ExitCode::kDone);
  }
  return MeasureAndShow(config, *device,
                        {options.resume, options.json, options.all, ResumeCommand(options),
                         options.devices.wait_seconds, options.counters});
}

int RunOnSeveral(const RunOptions& options, std::vector<DeviceGroup> groups) {
  std::vector<DeviceJob> jobs;
  std::vector<DevicePlace> places;
  for (DeviceGroup& group : groups) {
    Override(options, group.config);
    MakePlan(group.config);
    places.push_back({group.device, FolderOfDevices(group.config)});
    jobs.push_back(
        {group.device, [config = group.config](const Device& device, const DeviceProperties& properties) {
           Config own = config;
           UseRunnerOfDevice(own, device, properties);
           return own;
         }});
  }
  if (options.analysis_only) return AnalyzeAndShowDevices(places, options.json, options.all);
  return MeasureAndShowDevices(jobs, {options.resume, options.json, options.all, options.dry_run,
                                      ResumeCommand(options), options.devices, options.counters});
}

int RunRun(const RunOptions& options) {
  Config config = ReadConfig(options.config, {.default_runner = {}, .runner_of_device = true});
  // Where several devices are named, each has a folder of its own, however few of them are asked for now.
  const bool several = GroupByDevice(config, options.devices.names).size() > 1;
  if (!options.only.empty()) KeepOnly(config, options.only);
  std::vector<DeviceGroup> groups = GroupByDevice(config, options.devices.names);
  return several ? RunOnSeveral(options, std::move(groups)) : RunHere(options, groups.front().device);
}

}  // namespace

CommandSpec RunCommand() {
  return {
      "run", "measure the experiments of a configuration file, and report",
      "etprof run configs/examples/isa_on_off.json", [](CLI::App& app) {
        const auto options = std::make_shared<RunOptions>();
        app.add_option("config,--config", options->config, "the configuration (docs/reference/config.md)")
            ->required()
            ->type_name("CONFIG.json");
        app.add_option("--only", options->only, "measure these experiments only")
            ->expected(1, -1)
            ->type_name("EXP");
        app.add_flag("--analysis-only", options->analysis_only, "measure nothing: analyse what is there");
        app.add_flag("--resume", options->resume,
                     "go on with an interrupted measurement of the same configuration");
        app.add_flag("--dry-run", options->dry_run,
                     "check the configuration, and show what would be measured and how long it takes");
        app.add_option("--output-root", options->output_root, "the run directory [the configuration's]")
            ->type_name("DIR");
        app.add_option("--max-seconds", options->max_seconds, "time for the measurement [60 for each pair]")
            ->check(CLI::Range(0.1, 1e6))
            ->type_name("S");
        app.add_option("--launches", options->launches,
                       "processes of each experiment [as many as the precision takes]")
            ->check(CLI::Range(2, 10'000))
            ->type_name("L");
        app.add_option("--runs", options->runs, "traced runs of each experiment [100]")
            ->check(CLI::Range(1, 1'000'000))
            ->type_name("N");
        app.add_option("--threads", options->threads, "numbers of threads, in place of the configuration's")
            ->delimiter(',')
            ->check(CLI::Range(1, 1024))
            ->type_name("N,..");
        AddSustainedOption(app, options->sustained);
        AddDevicesOption(app, options->devices);
        AddCoolingOptions(app, options->devices);
        app.add_flag("--counters", options->counters,
                     "read the processor's counters at every operator, in runs of their own "
                     "(docs/guides/bottlenecks.md)");
        app.add_flag("--no-peaks", options->no_peaks,
                     "do not measure the machine's roofs (docs/guides/bottlenecks.md)");
        app.add_flag("--json", options->json, "the analysis, or with --dry-run the plan, as JSON on stdout");
        AddAllOption(app, options->all);
        return [options] { return RunRun(*options); };
      }};
}

}  // namespace etprof
