// Bytes as a latency CSV of two launches: no run is invented, and what was read is written and read again.

#include <algorithm>

#include "fuzz.h"
#include "measure/store/latency_csv.h"

namespace {

using namespace etprof;

std::vector<Launch> Known() {
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

std::size_t Runs(const std::vector<Launch>& launches) {
  std::size_t runs = 0;
  for (const Launch& launch : launches) {
    runs += (launch.first_run ? 1 : 0) + launch.warmup.size();
    for (const Burst& burst : launch.bursts) {
      runs += burst.opening.size() + burst.recorded.size() + burst.traced.size();
    }
  }
  return runs;
}

std::string Rows(const std::vector<Launch>& launches) {
  std::string text = LatencyHeader();
  for (const Launch& launch : launches) text += LatencyRows(launch, false);
  return text;
}

}  // namespace

ETPROF_FUZZ_TARGET(latency) {
  const std::filesystem::path path = fuzz::ScratchFile("latency.csv", fuzz::Bytes(data, size));
  std::vector<Launch> launches = Known();
  std::vector<std::string> problems;
  if (!fuzz::Accepts({ExitCode::kBadInput}, [&] { ReadLatencies(path, launches, problems); })) return 0;
  fuzz::Require(Runs(launches) <= static_cast<std::size_t>(std::count(data, data + size, '\n')),
                "a row is one run");
  const std::string rows = Rows(launches);
  fuzz::ScratchFile("latency.csv", std::as_bytes(std::span(rows)));
  std::vector<Launch> again = Known();
  problems.clear();
  ReadLatencies(path, again, problems);
  fuzz::Require(problems.empty() && Rows(again) == rows,
                "latencies that are written and read again are the same");
  return 0;
}
