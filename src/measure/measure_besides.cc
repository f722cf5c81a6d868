#include "measure/measure_besides.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/file.h"
#include "core/text.h"
#include "measure/store/counters.h"
#include "measure/store/watch.h"

namespace etprof {
namespace {

// One thing to ask of a worker that has loaded the model.
struct Besides {
  const char* what;                // as it begins warnings and the log: "counters"
  const char* only;                // why a foreign runner has none
  const char* emulated = nullptr;  // why an emulated CPU has none; null: it has
  bool watch_memory = false;       // from before the model is loaded
  std::function<void(WorkerClient&, const ParticipantSetup&, ExperimentData&)> ask;
};

void Warn(const Besides& besides, const std::string& text, ExperimentData& data) {
  AddOnce(fmt::format("{}: {}", besides.what, text), data.warnings);
}

void AskOf(const Besides& besides, const ParticipantSetup& setup, ExperimentData& data) {
  const Command command = WorkerCommand(setup);
  ExperimentLog log(setup.folder / (setup.stem + ".log"));
  log.Line(fmt::format("# {}: {}", besides.what, CommandText(command)));
  WorkerClient worker(
      *setup.device, command, [&](std::string_view text) { log.Write(text); }, *setup.interruption,
      setup.timeout_seconds);
  protocol::LoadRequest load = LoadRequestOf(setup);
  load.watch_memory = besides.watch_memory && !data.emulated;  // whose pages are the emulator's
  worker.Ask<protocol::LoadReply>("load", load);
  besides.ask(worker, setup, data);
  worker.Quit();
}

void Measure(const Besides& besides, const Plan& plan, const SetupOfUnit& setup, Progress* progress,
             RunData& run) {
  for (std::size_t u = 0; u < plan.units.size(); ++u) {
    ExperimentData& data = run.experiments[u];
    if (data.trace_enabled || !data.error.empty()) continue;
    if (data.foreign || (data.emulated && besides.emulated != nullptr)) {
      Warn(besides, data.foreign ? besides.only : besides.emulated, data);
      continue;
    }
    const ParticipantSetup own = setup(u);
    if (own.interruption->Now()) return;
    if (progress != nullptr) {
      ProgressUpdate update;
      update.what = fmt::format("{}: {}", data.label, besides.what);
      update.seconds = run.schedule.seconds;
      update.max_seconds = run.schedule.max_seconds;
      progress->Update(update);
    }
    try {
      AskOf(besides, own, data);
    } catch (const WorkerFailure& failure) {
      if (failure.kind() == WorkerFailure::Kind::kInterrupted) return;
      if (failure.kind() == WorkerFailure::Kind::kLost) throw DeviceLost(own.device->Name(), failure.what());
      Warn(besides, failure.what(), data);
    }
  }
}

}  // namespace

void MeasureCounters(const Plan& plan, const SetupOfUnit& setup, Progress* progress, RunData& run) {
  Besides counters{"counters", "only etprof-runner reads them", "an emulated CPU has none", false, {}};
  counters.ask = [&](WorkerClient& worker, const ParticipantSetup& own, ExperimentData& data) {
    const auto reply = worker.Ask<protocol::CountersReply>("counters", protocol::CountersRequest{});
    for (const std::string& remark : RemarksOn(reply)) Warn(counters, remark, data);
    if (reply.counters.empty()) return;
    data.counters = RowsOf(reply, own.config->method);
    WriteFileAtomically(CountersFile(data), [&](std::ostream& out) { WriteCounters(data.counters, out); });
  };
  Measure(counters, plan, setup, progress, run);
}

void MeasureWatch(const Plan& plan, const SetupOfUnit& setup, Progress* progress, RunData& run) {
  Besides watch{"watch", "only etprof-runner watches XNNPACK's calls", nullptr, true, {}};
  watch.ask = [&](WorkerClient& worker, const ParticipantSetup& own, ExperimentData& data) {
    auto reply = worker.Ask<protocol::WatchReply>("watch", protocol::WatchRequest{});
    if (!reply.why_not.empty()) return Warn(watch, reply.why_not, data);
    if (reply.unmatched_calls > 0) {
      Warn(watch, UnmatchedRemark(reply.unmatched_calls), data);
    }
    if (reply.memory && !reply.memory->why_not.empty()) {
      Warn(watch, "memory by owner: " + reply.memory->why_not, data);
      reply.memory.reset();
    }
    data.watch = std::make_shared<const WatchData>(WatchData{own.config->method, std::move(reply)});
    WriteWatch(*data.watch, WatchFile(data));
  };
  Measure(watch, plan, setup, progress, run);
}

}  // namespace etprof
