#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/units.h"
#include "device/device.h"
#include "measure/schedule/schedule.h"

namespace etprof {
namespace {

// Approximate maximum length of a burst in a sustained run; conditions are read once per burst. If single
// runs are short enough, there are at least a hundred bursts.
constexpr Nanoseconds kSustainedBurst = 1'000'000'000;

class Sustained {
 public:
  Sustained(Nanoseconds duration, const ScheduleHooks& hooks, ScheduleData& data)
      : duration_(duration), hooks_(hooks), data_(data) {}

  void Run(const ScheduleUnit& unit) {
    Launch launch;
    try {
      RunContinuously(unit, launch);
    } catch (const WorkerFailure& failure) {
      GiveUp(unit, launch, failure.kind(), failure.what());
    } catch (const DeviceLost& lost) {
      GiveUp(unit, launch, WorkerFailure::Kind::kLost, lost.what());
    }
    data_.rounds = std::max(data_.rounds, static_cast<int>(launch.bursts.size()));
    if (launch.load || launch.first_run || !launch.bursts.empty())
      unit.data->launches.push_back(std::move(launch));
    hooks_.save();
    if (std::exchange(connection_lost_, false) && !hooks_.interrupted()) hooks_.reconnect();
  }

 private:
  double Seconds() const { return static_cast<double>(duration_) / 1e9; }

  void RunContinuously(const ScheduleUnit& unit, Launch& launch) {
    unit.participant->Begin(launch);
    RunCostEstimate estimate;
    const double warmup_start = hooks_.now();
    const auto runs_ns = unit.participant->WarmUp(launch, 1, 1);
    estimate.AddWarmUp(launch, 0, /*first_before=*/false, hooks_.now() - warmup_start, runs_ns);
    if (!estimate.Get())
      throw WorkerFailure(WorkerFailure::Kind::kInvalidReply, "the worker ran nothing to warm up");
    const double start = hooks_.now();
    int traced = 0;
    while (!hooks_.interrupted()) {
      const double elapsed = hooks_.now() - start;
      if (elapsed >= Seconds() && !launch.bursts.empty()) break;
      Report(unit, elapsed, launch);
      const double spacing_ns = std::max(estimate.Get()->wall_ns, static_cast<double>(unit.period));
      const double max_ns = std::max(spacing_ns, std::min(double(kSustainedBurst), double(duration_) / 100));
      const double length_ns = std::clamp((Seconds() - elapsed) * 1e9, spacing_ns, max_ns);
      protocol::BurstRequest request;
      request.min_opening = request.max_opening = 0;
      request.min_runs = request.max_runs =
          std::clamp(static_cast<int>(length_ns / spacing_ns), 1, protocol::kMaxBurstRuns);
      request.target_ns = 0;
      const double share = std::min(1.0, (elapsed + length_ns / 1e9) / Seconds());
      request.traced_runs = std::max(0, static_cast<int>(std::ceil(unit.runs * share)) - traced);
      const double burst_start = hooks_.now();
      unit.participant->RunBurst(launch, static_cast<int>(launch.bursts.size()), 0, request);
      estimate.AddBurst(launch, hooks_.now() - burst_start, /*whole_process=*/false);
      traced += request.traced_runs;
    }
    if (hooks_.interrupted()) launch.status = Launch::Status::kPartial;
    unit.participant->End(launch, unit.data->output_digests.empty());
  }

  // Stores the bursts so far; the traces are lost with the process.
  void GiveUp(const ScheduleUnit& unit, Launch& launch, WorkerFailure::Kind kind, const std::string& reason) {
    unit.participant->Abandon();
    connection_lost_ = kind == WorkerFailure::Kind::kLost;
    launch.status = Launch::Status::kPartial;
    launch.traced_runs.clear();
    launch.etdump_part.clear();
    if (kind == WorkerFailure::Kind::kInterrupted) return;
    launch.problem = reason;
    if (launch.bursts.empty()) {
      launch.status = Launch::Status::kFailed;
      unit.data->error = reason;
    } else {
      unit.data->warnings.push_back(fmt::format("its sustained run ended early: {}", reason));
    }
    if (hooks_.progress != nullptr) hooks_.progress->Message(fmt::format("{}: {}", unit.data->label, reason));
  }

  void Report(const ScheduleUnit& unit, double elapsed, const Launch& launch) const {
    if (hooks_.progress == nullptr) return;
    ProgressUpdate update;
    update.activity = fmt::format("{}, sustained", unit.data->label);
    const auto median = launch.bursts.empty() ? std::nullopt : launch.bursts.back().Median();
    if (median) update.activity += " · " + FormatDuration(static_cast<double>(*median));
    update.seconds = elapsed;
    update.max_seconds = Seconds();
    hooks_.progress->Update(update);
  }

  const Nanoseconds duration_;
  const ScheduleHooks& hooks_;
  ScheduleData& data_;
  bool connection_lost_ = false;
};

}  // namespace

void RunSustained(Nanoseconds duration, const std::vector<ScheduleUnit>& units, const ScheduleHooks& hooks,
                  ScheduleData& data) {
  const double start = hooks.now();
  data.sustained_seconds = static_cast<double>(duration) / 1e9;
  data.max_seconds = data.sustained_seconds * static_cast<double>(units.size());
  data.interleaved = false;
  data.not_interleaved_reason = "sustained: the experiments ran one after the other";
  Sustained sustained(duration, hooks, data);
  int order = 0;
  for (const ScheduleUnit& unit : units) {
    if (hooks.interrupted()) break;
    // Waits for cooling only before each experiment, since heating is part of the result.
    hooks.before_round(0, 0, order++);
    if (hooks.interrupted()) break;
    sustained.Run(unit);
    data.seconds = hooks.now() - start;
  }
  data.launches = 1;
  for (const ScheduleUnit& unit : units) {
    const auto& launches = unit.data->launches;
    if (launches.empty() || launches.back().status != Launch::Status::kComplete) data.launches = 0;
  }
  data.stop_reason = hooks.interrupted()  ? "interrupted"
                     : data.launches == 0 ? "a process ended early"
                                          : fmt::format("{} were asked for", FormatExactDuration(duration));
}

}  // namespace etprof
