#include "measure/measure_counters.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/file.h"
#include "core/text.h"
#include "measure/store/counters.h"

namespace etprof {
namespace {

void WarnOfCounters(ExperimentData& data, const std::string& text) {
  AddOnce("counters: " + text, data.warnings);
}

protocol::CountersReply Ask(const ParticipantSetup& setup) {
  const Command command = WorkerCommand(setup);
  ExperimentLog log(setup.folder / (setup.stem + ".log"));
  log.Line("# counters: " + CommandText(command));
  WorkerClient worker(
      *setup.device, command, [&](std::string_view text) { log.Write(text); }, *setup.interruption,
      setup.timeout_seconds);
  worker.Ask<protocol::LoadReply>("load", LoadRequestOf(setup));
  auto reply = worker.Ask<protocol::CountersReply>("counters", protocol::CountersRequest{});
  worker.Quit();
  return reply;
}

}  // namespace

void MeasureCounters(const Plan& plan, const std::function<ParticipantSetup(std::size_t unit)>& setup,
                     Progress* progress, RunData& run) {
  for (std::size_t u = 0; u < plan.units.size(); ++u) {
    ExperimentData& data = run.experiments[u];
    if (data.trace_enabled || !data.error.empty()) continue;
    if (data.foreign || data.emulated) {
      WarnOfCounters(data, data.foreign ? "only etprof-runner reads them" : "an emulated CPU has none");
      continue;
    }
    const ParticipantSetup own = setup(u);
    if (own.interruption->Now()) return;
    if (progress != nullptr) {
      ProgressUpdate update;
      update.what = fmt::format("{}: counters", data.label);
      update.seconds = run.schedule.seconds;
      update.max_seconds = run.schedule.max_seconds;
      progress->Update(update);
    }
    try {
      const protocol::CountersReply reply = Ask(own);
      for (const std::string& remark : RemarksOn(reply)) WarnOfCounters(data, remark);
      if (reply.counters.empty()) continue;
      data.counters = RowsOf(reply, own.config->method);
      WriteFileAtomically(CountersFile(data), [&](std::ostream& out) { WriteCounters(data.counters, out); });
    } catch (const WorkerFailure& failure) {
      if (failure.kind() == WorkerFailure::Kind::kInterrupted) return;
      if (failure.kind() == WorkerFailure::Kind::kLost) throw DeviceLost(own.device->Name(), failure.what());
      WarnOfCounters(data, failure.what());
    }
  }
}

}  // namespace etprof
