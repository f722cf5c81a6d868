#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json/describe.h"
#include "core/units.h"
#include "measure/store/run_data.h"

namespace etprof {

// The round and order of a burst. The struct is not nested in LatencyRow, since clang rejects a std::optional
// of a nested struct there.
struct BurstPosition {
  int round = 0, order = 0;

  static void Describe(auto& v) {
    v("round", &BurstPosition::round, {.meaning = "counted from 0; empty before the first round"});
    v("order", &BurstPosition::order, {.meaning = "another one of a repeated burst of the same round"});
  }
};
// A row of `<stem>_latency.csv`, which has one row per run in chronological order. Files without the last
// two columns are accepted.
struct LatencyRow {
  enum class Phase { kFirst, kWarmup, kOpening, kRecorded, kTraced };
  int launch = 0;
  std::optional<BurstPosition> burst;  // absent: before the first round
  int position = 0;
  Phase phase = Phase::kFirst;
  bool traced = false;
  Nanoseconds latency = 0;
  std::optional<Nanoseconds> wait, cpu;  // waiting and CPU time, as in Burst (run_data.h)

  static void Describe(auto& v) {
    using L = LatencyRow;
    v("launch", &L::launch, {.meaning = "counted from 0"});
    v.Flat(&L::burst, {.or_null = true});
    v("position", &L::position, {.meaning = "of the run in its burst, or before the first round"});
    v("phase", &L::phase, {.meaning = "`recorded`: the latencies"});
    v("traced", &L::traced, {.meaning = "1: with the tracer on"});
    v("latency_ns", &L::latency, {.meaning = "wall time of the run", .max = kMaxEventTime});
    v("wait_ns", &L::wait,
      {.meaning = "how long the threads waited for a processor since the run before; empty if unknown",
       .max = kMaxTotalTime});
    v("cpu_ns", &L::cpu,
      {.meaning = "processor time of all threads; empty if unknown", .max = kMaxTotalTime});
  }
  // Throws std::invalid_argument if a row before the first round has a `burst`, or a later row has none.
  static void Check(const LatencyRow& row);
};
template <>
inline constexpr const char* kNames<LatencyRow::Phase>[] = {"first", "warmup", "opening", "recorded",
                                                            "traced"};

std::string LatencyHeader();
// True if the text begins with the header, with or without the last two columns.
bool IsLatencyCsv(std::string_view text);
std::string LatencyRows(const Launch& launch, bool tracer_always_on);

// Appends the launch's rows to the file, and writes the header if the file is new. If writing fails,
// truncates the file to its previous size and throws Error (kDeviceFailed).
void AppendLatencies(const std::filesystem::path& path, const Launch& launch, bool tracer_always_on);

// Removes the rows of launches that are not in `launches`, and an incomplete last row, from
// `<stem>_latency.csv` below `folder`. Such rows remain if the manifest could not be written after them (a
// full disk, a killed process); their launches are measured again. Returns whether the file has changed.
// Throws Error if the file cannot be read or written.
bool DropUnknownLatencies(const std::filesystem::path& folder, const std::string& stem,
                          const std::vector<Launch>& launches);

// Reads the rows into `launches`, which come from the manifest. Ignores an incomplete last row. Malformed
// rows, and rows of unknown launches, are counted in one entry of `problems` each.
void ReadLatencies(const std::filesystem::path& path, std::vector<Launch>& launches,
                   std::vector<std::string>& problems);

}  // namespace etprof
