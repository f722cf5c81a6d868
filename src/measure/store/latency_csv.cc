#include "measure/store/latency_csv.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <span>
#include <sstream>
#include <stdexcept>

#include "core/file/beneath.h"
#include "core/file/descriptor.h"
#include "core/file/file.h"
#include "core/text/csv_members.h"
#include "core/text/text.h"
#include "measure/store/run_files.h"

namespace etprof {
namespace {

using RunPhase = LatencyRow::Phase;

// Parses a row; absent: malformed.
std::optional<LatencyRow> ReadLatencyRow(std::string_view line) {
  static const std::size_t columns = CsvColumns<LatencyRow>().size();
  const std::vector<std::string_view> cells = SplitAt(line, ',');
  if (cells.size() != columns && cells.size() != columns - 2) return std::nullopt;
  try {
    return ReadCsvRow<LatencyRow>(cells);
  } catch (const std::invalid_argument&) {
    return std::nullopt;
  }
}

}  // namespace

void LatencyRow::Check(const LatencyRow& row) {
  if (row.burst.has_value() == (row.phase == RunPhase::kFirst || row.phase == RunPhase::kWarmup))
    throw std::invalid_argument(fmt::format("phase is \"{}\"", GetName(row.phase)));
}

std::string LatencyHeader() { return fmt::format("{}\n", fmt::join(CsvColumns<LatencyRow>(), ",")); }

bool IsLatencyCsv(std::string_view text) {
  const std::string header = LatencyHeader();
  return text.starts_with(header) || text.starts_with(header.substr(0, header.find(",wait_ns")) + '\n');
}

std::string LatencyRows(const Launch& launch, bool tracer_always_on) {
  std::ostringstream text;
  CsvWriter<LatencyRow> rows(text, {});
  LatencyRow row;
  row.launch = launch.index;
  const auto non_negative = [](const std::vector<Nanoseconds>& values, std::size_t run) {
    return run < values.size() && values[run] >= 0 ? std::optional(values[run]) : std::nullopt;
  };
  const auto add = [&](RunPhase phase, const std::vector<Nanoseconds>& latencies,
                       const std::vector<Nanoseconds>& waits, const std::vector<Nanoseconds>& cpu) {
    row.phase = phase;
    row.traced = tracer_always_on || phase == RunPhase::kFirst || phase == RunPhase::kTraced;
    for (std::size_t run = 0; run < latencies.size(); ++run) {
      row.latency = latencies[run];
      row.wait = non_negative(waits, run);
      row.cpu = non_negative(cpu, run);
      rows.Row(row);
      ++row.position;
    }
  };
  if (launch.first_run) add(RunPhase::kFirst, {*launch.first_run}, {launch.first_run_wait.value_or(-1)}, {});
  add(RunPhase::kWarmup, launch.warmup, {}, {});
  for (const Burst& burst : launch.bursts) {
    row.burst = BurstPosition{burst.round, burst.order};
    row.position = 0;
    add(RunPhase::kOpening, burst.opening, burst.opening_wait, {});
    add(RunPhase::kRecorded, burst.recorded, burst.recorded_wait, burst.recorded_cpu);
    add(RunPhase::kTraced, burst.traced, burst.traced_wait, {});
  }
  rows.Flush();
  return std::move(text).str();
}

void AppendLatencies(const std::filesystem::path& path, const Launch& launch, bool tracer_always_on) {
  std::error_code ignored;
  std::filesystem::create_directories(path.parent_path(), ignored);
  Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0644));
  const auto make_error = [&](int error_number) {
    return CannotWrite(path, error_number)
        .Remedy("check the folder and its free space, then continue with --resume");
  };
  if (!file) throw make_error(errno);
  struct stat status {};
  ::fstat(file.number(), &status);
  std::string text = status.st_size == 0 ? LatencyHeader() : "";
  text += LatencyRows(launch, tracer_always_on);
  int error = WriteAll(file.number(), text);
  if (error != 0 && ::ftruncate(file.number(), status.st_size) != 0) error = errno;
  if (const int close_error = file.Close(); error == 0) error = close_error;
  if (error != 0) throw make_error(error);
}

void ReadLatencies(const std::filesystem::path& path, std::vector<Launch>& launches,
                   std::vector<std::string>& problems) {
  const std::string text = ReadTextFile(path);
  std::int64_t malformed = 0, unknown = 0;
  if (!IsLatencyCsv(text)) {
    problems.push_back(fmt::format("{}: not the columns that etprof writes; its latencies are excluded",
                                   path.filename().string()));
    return;
  }
  std::vector<std::string_view> lines = SplitAt(text, '\n');
  lines.pop_back();  // an incomplete last row, or nothing
  for (const std::string_view line : std::span(lines).subspan(1)) {
    const auto row = ReadLatencyRow(line);
    if (!row) {
      ++malformed;
    } else {
      const auto launch = std::ranges::find(launches, row->launch, &Launch::index);
      Burst* burst = nullptr;
      for (std::size_t i = 0; launch != launches.end() && row->burst && i < launch->bursts.size(); ++i) {
        // A repeated burst has the same round, but another order.
        Burst& candidate = launch->bursts[i];
        if (candidate.round == row->burst->round &&
            (burst == nullptr || candidate.order == row->burst->order))
          burst = &candidate;
      }
      const Nanoseconds wait = row->wait.value_or(-1);
      if (launch == launches.end() || (row->burst && burst == nullptr)) {
        ++unknown;
      } else if (row->phase == RunPhase::kFirst) {
        launch->first_run = row->latency;
        if (row->wait) launch->first_run_wait = row->wait;
      } else if (row->phase == RunPhase::kWarmup) {
        launch->warmup.push_back(row->latency);
      } else if (row->phase == RunPhase::kOpening) {
        burst->opening.push_back(row->latency);
        burst->opening_wait.push_back(wait);
      } else if (row->phase == RunPhase::kRecorded) {
        burst->recorded.push_back(row->latency);
        burst->recorded_wait.push_back(wait);
        burst->recorded_cpu.push_back(row->cpu.value_or(-1));
      } else {
        burst->traced.push_back(row->latency);
        burst->traced_wait.push_back(wait);
      }
    }
  }
  if (malformed > 0)
    problems.push_back(fmt::format("{}: {} rows cannot be read", path.filename().string(), malformed));
  if (unknown > 0) {
    problems.push_back(
        fmt::format("{}: {} rows belong to launches that the manifest does not know (it was killed while it "
                    "measured them)",
                    path.filename().string(), unknown));
  }
}

bool DropUnknownLatencies(const std::filesystem::path& folder, const std::string& stem,
                          const std::vector<Launch>& launches) {
  const std::filesystem::path name = stem + kLatencySuffix;
  if (!IsFileBeneath(folder, name)) return false;
  const std::string text = ReadTextFile(folder / name);
  std::set<int> known_launches;
  for (const Launch& launch : launches) known_launches.insert(launch.index);
  std::string remaining_rows;
  bool has_rows = false;
  for (std::size_t start = 0, end = 0; (end = text.find('\n', start)) != std::string::npos; start = end + 1) {
    const std::string_view line = std::string_view(text).substr(start, end + 1 - start);
    const auto launch = AsNumber<int>(line.substr(0, line.find(',')));
    if (start > 0 && (!launch || !known_launches.contains(*launch))) continue;
    remaining_rows += line;
    has_rows = has_rows || start > 0;
  }
  if (remaining_rows == text) return false;
  if (has_rows) {
    WriteFileAtomically(folder / name, remaining_rows);
  } else {
    RemoveFileBeneath(folder, name);
  }
  return true;
}

}  // namespace etprof
