#include <cstdlib>

#include "core/views.h"
#include "inference/boundary_recorder.h"
#include "machine/counter_source.h"
#include "timing/recording.h"
#include "worker_commands.h"

namespace etprof::runner {
namespace {

// Mean counts of runs without a tracer. With a tracer the delegate names its operators after each call, which
// takes 1.5% of the instructions of a small model, and varies between runs, since it allocates memory.
std::vector<double> CountUntraced(Model& model, int runs, CounterSource& counters,
                                  const std::function<bool()>& abandoned) {
  std::vector<std::uint64_t> before(counters.size()), after(counters.size());
  std::vector<double> means(counters.size());
  for (int run = 0; run < runs; ++run) {
    model.SetInputs();
    counters.Read(before.data());
    model.Run();
    counters.Read(after.data());
    for (std::size_t i = 0; i < means.size(); ++i)
      means[i] += static_cast<double>(after[i] - before[i]) / runs;
    if (abandoned()) std::_Exit(0);
  }
  return means;
}

}  // namespace

protocol::CountersReply CountOperators(Model& model, const protocol::CountersRequest& request,
                                       const std::function<bool()>& abandoned) {
  protocol::CountersReply reply;
  for (int i = 0; i < request.warmup; ++i) {
    model.SetInputs();
    model.Run();
    if (abandoned()) std::_Exit(0);
  }
  const std::unique_ptr<CounterSource> source = MakeCounterSource();
  CounterSource& counters = *source;
  reply.source = counters.Kind();
  reply.threads = counters.threads();
  reply.unavailable = counters.UnavailableCounters();
  if (counters.size() == 0) return reply;
  std::vector<double> untraced_means;
  if (counters.Kind() != protocol::CounterSourceKind::kProcessor)
    untraced_means = CountUntraced(model, request.runs, counters, abandoned);
  BoundaryRecorder recorder(counters.size(), [&](std::uint64_t* values) { counters.Read(values); });
  {
    const Recording recording(model, recorder);
    for (int i = 0; i < request.runs; ++i) {
      recorder.BeginRun(/*is_measured=*/true);
      model.SetInputs();
      model.Run();
      recorder.EndRun();
      model.tracer().Clear();
      if (abandoned()) std::_Exit(0);
    }
  }
  reply.counters = counters.AvailableCounters();
  const auto scale = MapEach(reply.counters, [](const protocol::AvailableCounter& counter) {
    return counter.share > 0 ? 1 / counter.share : 1;
  });
  recorder.Fill(scale, reply);
  for (protocol::OperatorCounts& counts : reply.operators) {
    if (!untraced_means.empty() && counts.place.kind == "method") counts.means = untraced_means;
  }
  // A counter that never counted is unavailable; its counts are not 0.
  for (std::size_t i = reply.counters.size(); i-- > 0;) {
    if (reply.counters[i].share > 0) continue;
    reply.unavailable.push_back({reply.counters[i].name,
                                 "something else holds the processor's counters (perf, an "
                                 "NMI watchdog: `sysctl kernel.nmi_watchdog=0`)"});
    reply.counters.erase(reply.counters.begin() + static_cast<std::ptrdiff_t>(i));
    for (protocol::OperatorCounts& counts : reply.operators)
      counts.means.erase(counts.means.begin() + static_cast<std::ptrdiff_t>(i));
  }
  return reply;
}

}  // namespace etprof::runner
