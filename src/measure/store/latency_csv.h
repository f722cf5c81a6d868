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

// A burst. (Not within the row, as clang makes no std::optional of such a one.)
struct LatencyPlace {
  int round = 0, order = 0;

  static void Describe(auto& v) {
    v("round", &LatencyPlace::round, {.meaning = "counted from 0; empty before the first round"});
    v("order", &LatencyPlace::order, {.meaning = "another one of a repeated burst of the same round"});
  }
};
// A row of `<stem>_latency.csv`: a run, in the order they ran. Files without the last two columns are read as
// well.
struct LatencyRow {
  enum class Phase { kFirst, kWarmup, kOpening, kRecorded, kTraced };
  int launch = 0;
  std::optional<LatencyPlace> place;  // absent: before the first round
  int position = 0;
  Phase phase = Phase::kFirst;
  bool traced = false;
  Nanoseconds latency = 0;
  std::optional<Nanoseconds> wait, cpu;  // as in Burst (run_data.h)

  static void Describe(auto& v) {
    using L = LatencyRow;
    v("launch", &L::launch, {.meaning = "counted from 0"});
    v.Flat(&L::place, {.or_null = true});
    v("position", &L::position, {.meaning = "of the run in its burst, or before the first round"});
    v("phase", &L::phase, {.meaning = "`recorded`: the latencies"});
    v("traced", &L::traced, {.meaning = "1: with the tracer on"});
    v("latency_ns", &L::latency, {.meaning = "wall time of the run", .most = kMaxEventTime});
    v("wait_ns", &L::wait,
      {.meaning = "how long the threads waited for a processor since the run before; empty if unknown",
       .most = kMaxTotalTime});
    v("cpu_ns", &L::cpu,
      {.meaning = "processor time of all threads; empty if unknown", .most = kMaxTotalTime});
  }
  // Before the first round there are other phases than in one.
  static void Check(const LatencyRow& row);
};
template <>
inline constexpr NamedValue<LatencyRow::Phase> kNames<LatencyRow::Phase>[] = {
    {LatencyRow::Phase::kFirst, "first"},
    {LatencyRow::Phase::kWarmup, "warmup"},
    {LatencyRow::Phase::kOpening, "opening"},
    {LatencyRow::Phase::kRecorded, "recorded"},
    {LatencyRow::Phase::kTraced, "traced"}};

std::string LatencyHeader();
// Whether the text begins with the header, or with that of all but the last two columns.
bool IsLatencyCsv(std::string_view text);
std::string LatencyRows(const Launch& launch, bool tracer_always_on);

// Appends the launch's rows, and begins the file with its header. Where not all could be written the file is
// as it was before, and Error (kDeviceFailed) is thrown.
void AppendLatencies(const std::filesystem::path& path, const Launch& launch, bool tracer_always_on);

// Drops from `<stem>_latency.csv` below `folder` the rows of launches that are not among `launches`, and a
// cut last row: the manifest could not be written after them (a full disk, a killed process), and these
// launches are measured again. Returns whether the file has changed. Throws Error when it can be neither read
// nor written.
bool DropUnknownLatencies(const std::filesystem::path& folder, const std::string& stem,
                          const std::vector<Launch>& launches);

// Reads the rows back into `launches`, which the manifest has named. Tolerates a cut last row. What does not
// fit is said in `problems`, once.
void ReadLatencies(const std::filesystem::path& path, std::vector<Launch>& launches,
                   std::vector<std::string>& problems);

}  // namespace etprof
