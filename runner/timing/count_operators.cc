#include "timing/count_operators.h"

#include <fmt/format.h>

#include <cstdlib>

#include "core/error.h"
#include "inference/boundary_recorder.h"
#include "machine/perf_counters.h"
#include "timing/recording.h"

namespace etprof::runner {
namespace {

constexpr int kMostCounted = 10'000;

}  // namespace

protocol::CountersReply CountOperators(Model& model, const protocol::CountersRequest& request,
                                       const std::function<bool()>& abandoned) {
  if (request.runs > kMostCounted || request.warmup > kMostCounted)
    throw Error(ExitCode::kUsage, fmt::format("\"runs\" and \"warmup\" are at most {}", kMostCounted));
  protocol::CountersReply reply;
  PerfCounters counters;
  reply.threads = counters.threads();
  reply.closed = counters.Closed();
  if (counters.size() == 0) return reply;
  BoundaryRecorder recorder(counters.size(), [&](std::uint64_t* values) { counters.Read(values); });
  {
    const Recording recording(model, recorder);
    for (int i = 0; i < request.warmup + request.runs; ++i) {
      recorder.BeginRun(i >= request.warmup);
      model.GiveInputs();
      model.Run();
      recorder.EndRun();
      model.tracer().Forget();
      if (abandoned()) std::_Exit(0);
    }
  }
  reply.counters = counters.Open();
  std::vector<double> scale;
  for (const protocol::OpenCounter& counter : reply.counters)
    scale.push_back(counter.share > 0 ? 1 / counter.share : 1);
  recorder.Fill(scale, reply);
  // What never counted is no 0.
  for (std::size_t i = reply.counters.size(); i-- > 0;) {
    if (reply.counters[i].share > 0) continue;
    reply.closed.push_back({reply.counters[i].name,
                            "something else holds the processor's counters (perf, an "
                            "NMI watchdog: `sysctl kernel.nmi_watchdog=0`)"});
    reply.counters.erase(reply.counters.begin() + static_cast<std::ptrdiff_t>(i));
    for (protocol::OperatorCounts& counts : reply.operators)
      counts.means.erase(counts.means.begin() + static_cast<std::ptrdiff_t>(i));
  }
  return reply;
}

}  // namespace etprof::runner
