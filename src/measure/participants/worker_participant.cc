#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "core/text/text.h"
#include "device/conditions/clusters.h"
#include "measure/participants/participants.h"
#include "measure/participants/runner_libraries.h"
#include "measure/store/run_directory.h"

namespace etprof {
namespace {

constexpr std::size_t kMaxLogBytes = std::size_t{64} << 20U;
// Bursts with shorter runs begin their traced runs with a warm-up run. In the first traced run after untraced
// runs, the tracer's code and buffers are cold. This took 17 us in a model of 60 us, and would be 2% of a
// millisecond.
constexpr Nanoseconds kMaxShortRun = 1'000'000;
constexpr std::int64_t kReferenceTokens = 8;  // length of the text before the reference step
constexpr int kMaxPartRuns = 1000;            // per burst, for a method that computes the inputs of a step
constexpr double kMaxOutputElements = 64e6;   // larger outputs are compared by their digests only

class WorkerParticipant : public Participant {
 public:
  explicit WorkerParticipant(const ParticipantSetup& setup)
      : setup_(setup),
        log_(std::make_shared<ExperimentLog>(setup.folder / (setup.stem + ".log"))),
        shared_(setup.shared) {
    if (shared_ == nullptr) shared_ = std::make_shared<SharedWorker>();
  }

  bool IsWholeProcess() const override { return false; }

  void Begin(Launch& launch) override {
    const Command command = WorkerCommand(setup_);
    log_->Line(fmt::format("# launch {}: {}", launch.index + 1, CommandText(command)));
    ExperimentData& data = *setup_.data;
    data.command_line = command.arguments;
    if (shared_->client == nullptr || shared_->launch != launch.index) Start(command, launch.index);
    ++shared_->users;
    const protocol::LoadReply& reply = shared_->load_reply;
    launch.load = reply.load_ns;
    launch.load_wait = reply.load_wait_ns;
    launch.rss_before_load = reply.rss_before_bytes;
    launch.rss_after_load = reply.rss_bytes;
    const protocol::Ready& ready = shared_->client->ready();
    if (ready.clocks.monotonic_ns > 0) launch.clocks = ready.clocks;
    data.executorch_version = ready.executorch_version;
    data.executorch_libraries = ready.libraries;
    data.operator_clock = ready.operator_clock;
    data.wait_source = ready.wait_source;
    data.isa_state = ready.isa;
    data.backends = reply.backends;
    protocol::MethodReply method = reply;
    // A shared process may have loaded the model for another experiment's step: ask for this step's inputs.
    if (const std::optional<protocol::StepPlace> place = UnitPlace())
      method = Client().SendRequest<protocol::MethodReply>("select", protocol::SelectRequest{"", place});
    data.inputs = method.inputs;
    data.outputs = method.outputs;
    data.inputs_from = method.inputs_from;
    if (ready.threads != setup_.threads) {
      AppendUnique(fmt::format("the runner uses {} threads, not {}", ready.threads, setup_.threads),
                   data.warnings);
    }
    for (const std::string& warning : method.warnings) AppendUnique(warning, data.warnings);
  }

  std::optional<Nanoseconds> WarmUp(Launch& launch, int min_runs, int max_runs) override {
    protocol::BurstRequest request = WithUnitPlace({});
    request.min_opening = min_runs;
    request.max_opening = max_runs;
    request.min_runs = 0;
    request.target_ns = 0;
    request.max_runs = 0;
    const auto reply = SendRequest(request);
    for (const Nanoseconds run : reply.opening) {
      if (!launch.first_run) {
        launch.first_run = run;
        if (!reply.opening_wait.empty()) launch.first_run_wait = reply.opening_wait.front();
      } else {
        launch.warmup.push_back(run);
      }
    }
    if (reply.first_run_traced) launch.traced_runs.push_back({launch.index, -1, Phase::kFirst});
    return reply.end - reply.start;
  }

  void RunBurst(Launch& launch, int round, int order, const protocol::BurstRequest& planned) override {
    protocol::BurstRequest request = WithUnitPlace(planned);
    const bool warm_tracer = planned.traced_runs > 0 && IsShort(launch);
    if (warm_tracer) ++request.traced_runs;
    const auto reply = SendRequest(request);
    if (static_cast<int>(reply.traced.size()) != request.traced_runs) {
      throw WorkerFailure(
          WorkerFailure::Kind::kInvalidReply,
          fmt::format("the worker traced {} runs instead of {}", reply.traced.size(), request.traced_runs));
    }
    launch.bursts.push_back({reply, reply, round, order});
    const Burst& burst = launch.bursts.back();
    for (std::size_t i = 0; i < burst.traced.size(); ++i) {
      const Phase phase = warm_tracer && i == 0    ? Phase::kWarmup
                          : burst.IsCleanTraced(i) ? Phase::kSteady
                                                   : Phase::kDisturbed;
      launch.traced_runs.push_back({launch.index, round, phase});
    }
    launch.peak_rss = reply.peak_rss_bytes;
  }

  static bool IsShort(const Launch& launch) {
    const auto fastest = std::ranges::min_element(launch.warmup);
    return fastest != launch.warmup.end() && *fastest < kMaxShortRun;
  }

  void End(Launch& launch, bool want_outputs) override {
    const bool was_suppressed = std::exchange(setup_.interruption->is_suppressed, true);
    try {
      Finish(launch, want_outputs);
    } catch (...) {
      setup_.interruption->is_suppressed = was_suppressed;
      throw;
    }
    setup_.interruption->is_suppressed = was_suppressed;
  }

  void Abandon() override {
    shared_->client.reset();
    shared_->users = 0;
  }

 private:
  WorkerClient& Client() {
    if (shared_->client == nullptr)
      throw WorkerFailure(WorkerFailure::Kind::kDied, "the process that it shares with other places ended");
    return *shared_->client;
  }

  // Starts the process and loads the model. For a step of a language model, also fills the model's cache.
  void Start(const Command& command, int launch) {
    Abandon();
    shared_->launch = launch;
    const std::shared_ptr<ExperimentLog> log = log_;
    shared_->client = std::make_unique<WorkerClient>(
        *setup_.device, command, [log](std::string_view text) { log->Write(text); }, *setup_.interruption,
        setup_.timeout_seconds);
    shared_->load_reply = Client().SendRequest<protocol::LoadReply>("load", MakeLoadRequest(setup_));
    const std::optional<protocol::TestStep>& place = setup_.config->place;
    if (!place) return;
    if (shared_->cold_request)
      shared_->cold_reply = Client().SendRequest<protocol::GenerateTextReply>("walk", *shared_->cold_request);
    const auto reference = RequestReference();
    if (reference.first != reference.repeated) {
      throw WorkerFailure(
          WorkerFailure::Kind::kRefused,
          "the same step gives other logits when it is repeated, although its planned memory was put back: "
          "the model is random, or keeps a state elsewhere (in a delegate), so that repeated runs stand at "
          "no place; measure it with `etprof profile` and inputs");
    }
    if (reference.restored) {
      AppendUnique(
          "its state accumulates, as that of recurrent layers does: each run begins with the state after the "
          "last fill, which is put back before it, outside of its time",
          setup_.data->warnings);
    }
    shared_->reference = reference.first;
    if (shared_->max_cache_tokens > 0)
      Client().SendRequest<protocol::FillReply>(
          "fill", protocol::FillRequest{shared_->max_cache_tokens, place->chunk});
  }

  // Asks for the logits of a step after a short text. Other contents of the cache do not influence them.
  protocol::ReferenceReply RequestReference() {
    return Client().SendRequest<protocol::ReferenceReply>(
        "reference", protocol::FillRequest{kReferenceTokens, setup_.config->place->chunk});
  }

  // Throws WorkerFailure if the runs have changed the logits of the reference step.
  void CheckState() {
    const auto reference = RequestReference();
    if (reference.first == shared_->reference && reference.repeated == shared_->reference) return;
    throw WorkerFailure(
        WorkerFailure::Kind::kRefused,
        "after the runs of a process the same text gives other logits than before them: what the "
        "model keeps depends on more than position, so that repeated runs stand at no place");
  }

  std::optional<protocol::StepPlace> UnitPlace() const { return setup_.config->place; }
  protocol::BurstRequest WithUnitPlace(protocol::BurstRequest request) const {
    request.period_ns = setup_.config->period;
    request.place = UnitPlace();
    // The embedding of a token takes microseconds. Rows of hundreds of thousands of its runs would add no
    // information.
    if (request.place && !request.place->method.empty())
      request.max_runs = std::min(request.max_runs, std::max(request.min_runs, kMaxPartRuns));
    return request;
  }

  protocol::BurstReply SendRequest(const protocol::BurstRequest& request) {
    return Client().SendRequest<protocol::BurstReply>("burst", request,
                                                      RequestTimeout(setup_.timeout_seconds));
  }

  void Finish(Launch& launch, bool want_outputs) {
    if (!launch.traced_runs.empty()) {
      const std::filesystem::path part = setup_.folder / EtdumpPart(setup_.stem, launch.index);
      std::filesystem::create_directories(part.parent_path());
      const std::string device_path = setup_.device->ReserveOutputPath(part);
      const auto reply = Client().SendRequest<protocol::EtdumpReply>(
          "etdump", protocol::EtdumpRequest{device_path, UnitPlace()});
      if (reply.blocks == 0) {
        launch.traced_runs.clear();
        AppendUnique("its ExecuTorch was built without event tracing: operators are not traced",
                     setup_.data->warnings);
      } else if (!setup_.device->Get(device_path, part)) {
        throw WorkerFailure(WorkerFailure::Kind::kInvalidReply,
                            "the worker wrote no ETDump where it said it did");
      } else {
        launch.etdump_part = EtdumpPart(setup_.stem, launch.index);
      }
    }
    if (want_outputs && !launch.bursts.empty()) {
      protocol::OutputsRequest request;
      request.place = UnitPlace();
      if (!setup_.saved_outputs.empty() && OutputElements() <= kMaxOutputElements)
        request.save_to = setup_.device->ReserveOutputPath(setup_.saved_outputs);
      try {
        setup_.data->output_digests =
            Client().SendRequest<protocol::OutputsReply>("outputs", request).outputs;
        if (!request.save_to.empty()) setup_.device->Get(request.save_to, setup_.saved_outputs);
      } catch (const WorkerFailure& failure) {
        if (failure.kind() != WorkerFailure::Kind::kRefused) throw;
        AppendUnique(std::string("its outputs could not be read: ") + failure.what(), setup_.data->warnings);
      }
      WarnAboutNan();
    }
    if (setup_.config->place) {
      CheckState();
      if (setup_.config->place->generate_text && !launch.bursts.empty()) {
        launch.generated_text =
            Client().SendRequest<protocol::GenerateTextReply>("walk", *setup_.config->place->generate_text);
        if (const auto nan_steps = launch.generated_text->nan_steps) {
          AppendUnique(fmt::format("{} of {} generated tokens were chosen among logits with NaN: the text is "
                                   "not meaningful, and is not compared",
                                   *nan_steps, launch.generated_text->generated.size()),
                       setup_.data->warnings);
        }
        launch.cold_generated_text = shared_->cold_reply;
      }
    }
    const auto memory = Client().SendRequest<protocol::MemoryReply>("memory");
    launch.peak_rss = std::max(launch.peak_rss.value_or(0), memory.peak_rss_bytes);
    if (--shared_->users > 0) return;
    Client().Quit();
    shared_->client.reset();
  }

  double OutputElements() const {
    double total = 0;
    for (const protocol::TensorInfo& output : setup_.data->outputs) {
      double elements = 1;
      for (const std::int64_t size : output.shape) elements *= static_cast<double>(size);
      total += elements;
    }
    return total;
  }

  void WarnAboutNan() {
    for (std::size_t i = 0; i < setup_.data->output_digests.size(); ++i) {
      const protocol::OutputDigest& output = setup_.data->output_digests[i];
      if (output.nan_count + output.inf_count == 0) continue;
      AppendUnique(
          fmt::format("output {} has {} NaN and {} infinite elements", i, output.nan_count, output.inf_count),
          setup_.data->warnings);
    }
  }

  ParticipantSetup setup_;
  std::shared_ptr<ExperimentLog> log_;
  std::shared_ptr<SharedWorker> shared_;
};

}  // namespace

ExperimentLog::ExperimentLog(std::filesystem::path path) : path_(std::move(path)) {}

void ExperimentLog::Write(std::string_view text) {
  if (IsFull()) return;
  if (!file_.is_open()) {
    std::error_code error;
    std::filesystem::create_directories(path_.parent_path(), error);
    // Do not write through a symbolic link.
    if (std::filesystem::is_symlink(path_, error)) return;
    file_.open(path_, std::ios::binary | std::ios::app);
  }
  file_.clear();  // a full disk may have room again
  written_ += text.size();
  file_ << text;
  if (IsFull()) file_ << "\n# the rest is omitted: this log is larger than 64 MB\n";
  file_.flush();
}

bool ExperimentLog::IsFull() const { return written_ > kMaxLogBytes; }

void ExperimentLog::Line(const std::string& text) { Write(text + "\n"); }

Command MakeRunnerCommand(Device& device, const DeviceProperties& properties,
                          const ExperimentConfig& experiment) {
  Command command;
  std::vector<std::string>& arguments = command.arguments;
  arguments = experiment.exec_wrapper;
  std::vector<std::filesystem::path> libraries;
  // A runner in the folder of its libraries belongs to a bundle, and the loader finds the libraries there.
  const std::filesystem::path runtime =
      experiment.runner.parent_path() == experiment.runtime ? std::filesystem::path() : experiment.runtime;
  if (properties.platform == "android") {
    libraries = AndroidRunnerLibraries(experiment.runner);
  } else if (device.Name() != "local" && !runtime.empty()) {
    for (const auto& entry : std::filesystem::directory_iterator(runtime)) libraries.push_back(entry.path());
    std::ranges::sort(libraries);
  }
  const std::vector<std::string> program = device.PutProgram(experiment.runner, libraries);
  arguments.insert(arguments.end(), program.begin(), program.end());
  std::map<std::string, std::string> environment = experiment.environment;
  const std::string folder =
      libraries.empty() ? runtime.string() : program.back().substr(0, program.back().rfind('/'));
  if (!folder.empty()) {
    std::string& path = environment["LD_LIBRARY_PATH"];
    path = folder + (path.empty() ? "" : ":" + path);
  }
  command.environment.assign(environment.begin(), environment.end());
  return command;
}

Command BaseCommand(const ParticipantSetup& setup) {
  Command command = MakeRunnerCommand(*setup.device, *setup.properties, *setup.config);
  if (!setup.config->cpu_affinity.empty())
    command.cpus = ResolveCpus(setup.config->cpu_affinity, *setup.properties);
  return command;
}

Command WorkerCommand(const ParticipantSetup& setup) {
  const ExperimentConfig& config = *setup.config;
  Command command = BaseCommand(setup);
  command.arguments.emplace_back("--worker");
  command.arguments.push_back(fmt::format("--cpu_threads={}", setup.threads));
  if (!config.isa.empty()) command.arguments.push_back("--isa=" + config.isa);
  for (const std::string& library : config.load)
    command.arguments.push_back("--load=" + setup.device->Put(library));
  command.arguments.insert(command.arguments.end(), config.extra_args.begin(), config.extra_args.end());
  return command;
}

protocol::LoadRequest MakeLoadRequest(const ParticipantSetup& setup) {
  const ExperimentConfig& config = *setup.config;
  protocol::LoadRequest request;
  request.model = setup.device->Put(setup.model);
  if (!config.data.empty()) request.data = setup.device->Put(config.data);
  request.method = config.method;
  request.inputs = setup.inputs;
  if (config.place) {
    request.inputs = protocol::InputSpec{.kind = "tokens", .paths = {}, .seed = 0};
    request.place = *config.place;
    request.methods = config.place->methods;
  }
  if (request.inputs) {
    for (std::string& path : request.inputs->paths) path = setup.device->Put(path);
  }
  return request;
}

std::unique_ptr<Participant> MakeWorkerParticipant(const ParticipantSetup& setup) {
  return std::make_unique<WorkerParticipant>(setup);
}

}  // namespace etprof
