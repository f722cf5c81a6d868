#include "protocol/peaks.h"

#include <fmt/format.h>

#include "core/units.h"
#include "show/subjects.h"

namespace etprof::show {
namespace {

// The share by which the median rate is below the best rate: an estimate of interference by other processes.
Cell MedianBelowBest(const protocol::Rate& rate) {
  return rate.best > 0 ? Cell(Share{1 - rate.median / rate.best}) : Cell();
}

Table MakeComputePeaksTable(const protocol::Peaks& peaks) {
  Table table{.id = "compute",
              .columns = {Left("level"), Left("dtype", "type"), Right("macs_per_s", "MAC/s"),
                          Right("flops_per_s", "FLOP/s"), Right("macs_per_cycle", "MAC/cycle"),
                          Right("median_below", "median below"), Left("instruction")}};
  const double cycles = peaks.clock_hz * peaks.threads;
  for (const protocol::ComputePeak& peak : peaks.compute) {
    table.rows.push_back({peak.level, peak.dtype, Amount{peak.macs.best}, Amount{2 * peak.macs.best},
                          cycles > 0 ? Cell(Number{peak.macs.best / cycles, ""}) : Cell(),
                          MedianBelowBest(peak.macs), peak.instruction});
  }
  return table;
}

Table MakeMemoryPeaksTable(const protocol::Peaks& peaks) {
  Table table{.id = "memory",
              .columns = {Left("level", "memory"), Left("access"), Right("bytes_per_s", "B/s"),
                          Right("working_set", "working set"), Right("capacity"),
                          Right("median_below", "median below")}};
  for (const protocol::MemoryPeak& peak : peaks.memory) {
    table.rows.push_back({peak.level, peak.access, Amount{peak.bytes.best}, Size{peak.working_set_bytes},
                          CellOrBlank<Size>(peak.capacity_bytes), MedianBelowBest(peak.bytes)});
  }
  return table;
}

}  // namespace

Document MakePeaksDocument(const protocol::Peaks& peaks, const std::string& device, bool emulated) {
  Document document{.title = "etprof peaks",
                    .facts = {device, CountedText(peaks.threads, "thread") +
                                          (peaks.cpus.empty() ? "" : " on CPUs " + peaks.cpus)}};
  if (!peaks.isa.empty()) document.facts.push_back("isa " + peaks.isa);
  document.facts.push_back(fmt::format("clock {:.2f} GHz", peaks.clock_hz / 1e9));
  if (emulated) document.notes = {{"emulated CPU: timings are not meaningful", "warning"}};
  document.sections = {{"", {MakeComputePeaksTable(peaks), MakeMemoryPeaksTable(peaks)}}};
  return document;
}

}  // namespace etprof::show
