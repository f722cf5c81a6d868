// Measures the speed of parts of an analysis on one core, compared with a sum over the same bytes. Writes
// Markdown.
//   etprof_bench_passes FILE.etdump

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <fstream>
#include <functional>
#include <iostream>
#include <optional>
#include <vector>

#include "core/file/file.h"
#include "format/etdump/reader.h"
#include "profile/analysis/profile.h"
#include "show/formats/csv/kit_files.h"

namespace {

using etprof::ByteView;

// The shortest of five runs, which other load on the machine affects least.
double BestSeconds(const std::function<void()>& work) {
  double best = 1e9;
  for (int i = 0; i < 5; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    work();
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  return best;
}

std::uint64_t Sum(ByteView bytes) {
  std::uint64_t sum = 0;
  for (std::size_t at = 0; at + 8 <= bytes.size(); at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, 8);
    sum += word;
  }
  return sum;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: etprof_bench_passes FILE.etdump\n";
    return 2;
  }
  const etprof::MappedFile file = etprof::MappedFile::Open(argv[1]);
  std::uint64_t sum_of_sums = 0;
  const double sum_seconds = BestSeconds([&] { sum_of_sums += Sum(file.bytes()); });
  etprof::EtdumpOptions etdump_options;
  etdump_options.threads = 1;
  std::optional<etprof::Trace> trace;
  const double read_seconds =
      BestSeconds([&] { trace.emplace(etprof::ReadEtdump(file.bytes(), argv[1], etdump_options)); });
  etprof::AttributeOptions attribute_options;
  attribute_options.threads = 1;
  std::optional<etprof::Profile> profile;
  const double attribute_seconds =
      BestSeconds([&] { profile.emplace(etprof::Attribute(*trace, attribute_options)); });
  const char* csv = "/dev/shm/etprof_bench_passes.csv";
  const double csv_seconds = BestSeconds([&] {
    std::ofstream out(csv, std::ios::binary | std::ios::trunc);
    etprof::RenderTimelineCsv(*trace, *profile, std::nullopt, out);
  });
  std::remove(csv);
  const auto events = static_cast<double>(trace->event_count());
  const auto row = [&](const char* what, double seconds) {
    fmt::print("| {} | {:.1f} ms | {:.0f} ns | {:.1f} million/s |\n", what, seconds * 1e3,
               seconds / events * 1e9, events / seconds / 1e6);
  };
  fmt::print(
      "On one core, the best of 5:\n\n| what | time | an event | events |\n| --- | ---: | ---: | ---: |\n");
  row("sum of the file's bytes as 64-bit words (vectorised)", sum_seconds);
  row("reading: verification and the pass over all events", read_seconds);
  row("attribution: spans, self times, statistics", attribute_seconds);
  row("timeline CSV to a memory file system, a row an event", csv_seconds);
  return sum_of_sums == 1 ? 1 : 0;  // uses the sum, so that the compiler keeps it
}
