// The input is a latency CSV of two launches. Requires that no run is invented, and that the latencies do not
// change when they are written and read again.

#include <algorithm>

#include "fuzz.h"
#include "measure/store/latency_csv.h"

namespace {

using namespace etprof;

std::vector<Launch> MakeLaunches() {
  std::vector<Launch> launches(2);
  for (int i = 0; i < 2; ++i) {
    launches[static_cast<std::size_t>(i)].index = i;
    for (int round = 0; round < 2; ++round) {
      Burst burst;
      burst.round = round;
      launches[static_cast<std::size_t>(i)].bursts.push_back(burst);
    }
  }
  return launches;
}

std::size_t CountLatencyRuns(const std::vector<Launch>& launches) {
  std::size_t runs = 0;
  for (const Launch& launch : launches) {
    runs += (launch.first_run ? 1 : 0) + launch.warmup.size();
    for (const Burst& burst : launch.bursts) {
      runs += burst.opening.size() + burst.recorded.size() + burst.traced.size();
    }
  }
  return runs;
}

std::string WriteLatencyRows(const std::vector<Launch>& launches) {
  std::string text = LatencyHeader();
  for (const Launch& launch : launches) text += LatencyRows(launch, false);
  return text;
}

}  // namespace

ETPROF_FUZZ_TARGET(latency) {
  const std::filesystem::path path = fuzz::ScratchFile("latency.csv", fuzz::Bytes(data, size));
  std::vector<Launch> launches = MakeLaunches();
  std::vector<std::string> problems;
  if (!fuzz::Accepts({ExitCode::kBadInput}, [&] { ReadLatencies(path, launches, problems); })) return 0;
  fuzz::Require(CountLatencyRuns(launches) <= static_cast<std::size_t>(std::count(data, data + size, '\n')),
                "a row is one run");
  const std::string rows = WriteLatencyRows(launches);
  fuzz::ScratchFile("latency.csv", std::as_bytes(std::span(rows)));
  std::vector<Launch> reread = MakeLaunches();
  problems.clear();
  ReadLatencies(path, reread, problems);
  fuzz::Require(problems.empty() && WriteLatencyRows(reread) == rows,
                "latencies that are written and read again are the same");
  return 0;
}
