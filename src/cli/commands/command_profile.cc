#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <set>

#include "cli/commands.h"
#include "cli/csv_option.h"
#include "cli/device_option.h"
#include "cli/experiment_options.h"
#include "cli/measure_and_show.h"
#include "cli/measure_devices.h"
#include "core/error.h"
#include "measure/config/config.h"
#include "measure/config/device_groups.h"
#include "measure/config/variant.h"

namespace etprof {
namespace {

struct ProfileOptions {
  std::string model;
  std::vector<std::string> vs;
  std::string output_root, sustained;
  ExperimentOptions experiment;
  std::optional<double> max_seconds, precision, margin;
  std::optional<int> launches, warmup;
  std::vector<int> threads = {1};
  DevicesChoice devices;
  bool json = false, all = false, resume = false, no_peaks = false, counters = false;
};

// On a device with SME2 the question is what it brings.
std::vector<Variant> DefaultVariants(const DeviceProperties& device) {
  for (const std::string& feature : device.features) {
    if (feature == "sme2" || feature == "SME2") return {ParseVariant("isa=-sme,-sme2")};
  }
  return {};
}

// What is to be measured on a device; its output_root is as it was given.
Config Configure(const ProfileOptions& options, const Device& device, const DeviceProperties& properties) {
  ExperimentConfig as_given = ExperimentOf(options.experiment, options.model, device, properties);
  as_given.threads = options.threads;
  as_given.warmup = options.warmup;

  std::vector<Variant> variants;
  for (const std::string& spec : options.vs) variants.push_back(ParseVariant(spec));
  if (options.vs.empty()) variants = DefaultVariants(properties);

  Config config = MakeProfileConfig(as_given, variants);
  config.output_root = options.output_root;
  config.max_seconds = options.max_seconds;
  config.sustained = SustainedOf(options.sustained);
  config.launches = options.launches;
  config.precision = options.precision;
  if (options.margin) config.margin = *options.margin;
  config.peaks = !options.no_peaks;
  Apply(options.devices, config);
  return config;
}

void RequireSensible(const ProfileOptions& options) {
  CheckDeviceNames(options.devices.names);
  for (const std::string& spec : options.vs) ParseVariant(spec);
  CheckExperimentOptions(options.experiment);
  if (std::set<int>(options.threads.begin(), options.threads.end()).size() != options.threads.size()) {
    throw Error(ExitCode::kUsage, "--threads: a number repeats");
  }
}

constexpr const char* kResumeCommand = "the same command with --resume";

int ProfileHere(const ProfileOptions& options, const std::string& name) {
  const std::unique_ptr<Device> device = Open(options.devices.One(name));
  const DeviceProperties properties = device->Properties();
  Config config = Configure(options, *device, properties);
  if (config.output_root.empty())
    config.output_root = DefaultRunDirectory(options.model, properties.platform);
  CheckFiles(config);
  return MeasureAndShow(config, *device,
                        {options.resume, options.json, options.all, kResumeCommand,
                         options.devices.wait_seconds, options.counters});
}

int ProfileModel(const ProfileOptions& options) {
  RequireSensible(options);
  const std::vector<std::string>& names = options.devices.names;
  if (names.size() < 2) return ProfileHere(options, names.empty() ? "local" : names.front());
  std::vector<DeviceJob> jobs;
  for (const std::string& name : names) {
    jobs.push_back({name, [&](const Device& device, const DeviceProperties& properties) {
                      Config config = Configure(options, device, properties);
                      for (ExperimentConfig& experiment : config.experiments)
                        experiment.devices = {device.Name()};
                      if (config.output_root.empty())
                        config.output_root = DefaultRunDirectory(options.model, "any").parent_path();
                      return config;
                    }});
  }
  return MeasureAndShowDevices(jobs, {options.resume, options.json, options.all, false, kResumeCommand,
                                      options.devices, options.counters});
}

}  // namespace

CommandSpec ProfileCommand() {
  return {
      "profile", "measure a model, as it is or against variants, and say where its time goes",
      "etprof profile out_mobilenet_v3_small/artifacts/mobilenet_v3_small_xnnpack_fp32.pte --vs isa=-avx2",
      [](CLI::App& app) {
        const auto options = std::make_shared<ProfileOptions>();
        app.add_option("model", options->model, "the program, a .pte")->required()->type_name("MODEL.pte");
        app.add_option(
               "--vs", options->vs,
               "compare with: isa=-avx2, threads=2, cpus=0, period=33ms, runner=PATH, model=OTHER.pte, "
               "label=NAME; several, "
               "separated by commas, make one variant; may be repeated")
            ->expected(1)
            ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
            ->type_name("SPEC");
        app.add_option("--output-root", options->output_root,
                       "the run directory [out_<model>/runs/<platform>]")
            ->type_name("DIR");
        app.add_option("--max-seconds", options->max_seconds, "time for the measurement [60 for each pair]")
            ->check(CLI::Range(0.1, 1e6))
            ->type_name("S");
        app.add_option("--warmup", options->warmup, "least number of unrecorded runs of a launch [10]")
            ->check(CLI::Range(0, 1'000'000))
            ->type_name("N");
        app.add_option("--threads", options->threads, "threads [1]; several are measured side by side")
            ->delimiter(',')
            ->check(CLI::Range(1, 1024))
            ->type_name("N,..");
        app.add_option("--launches", options->launches,
                       "processes of each experiment [as many as the precision takes]")
            ->check(CLI::Range(2, 10'000))
            ->type_name("L");
        app.add_option("--precision", options->precision, "relative half-width asked for [half of --margin]")
            ->check(CLI::Range(1e-6, 1.0))
            ->type_name("P");
        app.add_option("--margin", options->margin, "\"same\" lies within +- this [0.01]")
            ->check(CLI::Range(1e-6, 1.0))
            ->type_name("M");
        AddSustainedOption(app, options->sustained);
        AddExperimentOptions(app, options->experiment);
        AddDevicesOption(app, options->devices);
        AddCoolingOptions(app, options->devices);
        app.add_flag("--counters", options->counters,
                     "read the processor's counters at every operator, in runs of their own "
                     "(docs/guides/bottlenecks.md)");
        app.add_flag("--no-peaks", options->no_peaks,
                     "do not measure the machine's roofs (docs/guides/bottlenecks.md)");
        app.add_flag("--json", options->json, "the analysis as JSON on stdout");
        AddAllOption(app, options->all);
        app.add_flag("--resume", options->resume,
                     "go on with an interrupted measurement of the same command");
        return [options] { return ProfileModel(*options); };
      }};
}

}  // namespace etprof
