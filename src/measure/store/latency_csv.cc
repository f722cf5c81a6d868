#include "measure/store/latency_csv.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <set>

#include "core/error.h"
#include "core/file/beneath.h"
#include "core/file/file.h"
#include "core/text/text.h"

namespace etprof {
namespace {

struct Row {
  int launch = 0, round = -1, order = 0;
  std::string_view phase;
  Nanoseconds latency = 0;
  Nanoseconds wait = -1, cpu = -1;  // -1: not known
};

constexpr std::string_view kHeaderWithoutWaits = "launch,round,order,position,phase,traced,latency_ns\n";

template <typename Integer>
bool ReadInteger(std::string_view text, Integer& value) {
  const auto number = AsNumber<Integer>(text);
  if (number) value = *number;
  return number.has_value();
}

bool ReadRow(std::string_view line, Row& row) {
  std::array<std::string_view, 9> cells;
  std::size_t count = 0;
  for (bool more = true; more; ++count) {
    if (count == cells.size()) return false;
    const std::size_t comma = line.find(',');
    more = comma != std::string_view::npos;
    cells[count] = line.substr(0, comma);
    if (more) line.remove_prefix(comma + 1);
  }
  if (count != 7 && count != cells.size()) return false;
  if (!cells[1].empty() && (!ReadInteger(cells[1], row.round) || !ReadInteger(cells[2], row.order)))
    return false;
  const auto optional = [](std::string_view cell, Nanoseconds& value) {
    return cell.empty() || (ReadInteger(cell, value) && value >= 0);
  };
  row.phase = cells[4];
  return ReadInteger(cells[0], row.launch) && ReadInteger(cells[6], row.latency) &&
         optional(cells[7], row.wait) && optional(cells[8], row.cpu);
}

}  // namespace

bool IsLatencyCsv(std::string_view text) {
  return text.starts_with(kLatencyHeader) || text.starts_with(kHeaderWithoutWaits);
}

std::string LatencyRows(const Launch& launch, bool tracer_always_on) {
  std::string text;
  int position = 0;
  const auto cell = [](const std::vector<Nanoseconds>& values, std::size_t run) {
    return run < values.size() && values[run] >= 0 ? std::to_string(values[run]) : std::string();
  };
  const auto add = [&](const std::string& place, const char* phase, bool traced,
                       const std::vector<Nanoseconds>& latencies, const std::vector<Nanoseconds>& waits,
                       const std::vector<Nanoseconds>& cpu) {
    for (std::size_t run = 0; run < latencies.size(); ++run) {
      text +=
          fmt::format("{},{},{},{},{},{},{},{}\n", launch.index, place, position++, phase,
                      traced || tracer_always_on ? 1 : 0, latencies[run], cell(waits, run), cell(cpu, run));
    }
  };
  if (launch.first_run)
    add(",", "first", true, {*launch.first_run}, {launch.first_run_wait.value_or(-1)}, {});
  add(",", "warmup", false, launch.warmup, {}, {});
  for (const Burst& burst : launch.bursts) {
    const std::string place = fmt::format("{},{}", burst.round, burst.order);
    position = 0;
    add(place, "opening", false, burst.opening, burst.opening_wait, {});
    add(place, "recorded", false, burst.recorded, burst.recorded_wait, burst.recorded_cpu);
    add(place, "traced", true, burst.traced, burst.traced_wait, {});
  }
  return text;
}

void AppendLatencies(const std::filesystem::path& path, const Launch& launch, bool tracer_always_on) {
  std::error_code ignored;
  std::filesystem::create_directories(path.parent_path(), ignored);
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0644);
  const auto cannot = [&](int why) {
    return CannotWrite(path, why).Remedy("check the folder and its free space, then go on with --resume");
  };
  if (descriptor < 0) throw cannot(errno);
  struct stat status {};
  ::fstat(descriptor, &status);
  std::string text = status.st_size == 0 ? kLatencyHeader : "";
  text += LatencyRows(launch, tracer_always_on);
  int error = 0;
  for (std::size_t done = 0; done < text.size() && error == 0;) {
    const ssize_t count = ::write(descriptor, text.data() + done, text.size() - done);
    if (count > 0) {
      done += static_cast<std::size_t>(count);
    } else if (count == 0 || errno != EINTR) {
      error = count == 0 ? EIO : errno;
    }
  }
  if (error != 0 && ::ftruncate(descriptor, status.st_size) != 0) error = errno;
  if (::close(descriptor) != 0 && error == 0) error = errno;
  if (error != 0) throw cannot(error);
}

void ReadLatencies(const std::filesystem::path& path, std::vector<Launch>& launches,
                   std::vector<std::string>& problems) {
  const std::string text = ReadTextFile(path);
  std::int64_t malformed = 0, unknown = 0;
  if (!IsLatencyCsv(text)) {
    problems.push_back(fmt::format("{}: not the columns that etprof writes; its latencies are left out",
                                   path.filename().string()));
    return;
  }
  std::size_t start = text.find('\n') + 1;
  while (start < text.size()) {
    const std::size_t end = text.find('\n', start);
    if (end == std::string::npos) break;  // a cut last row
    Row row;
    if (!ReadRow(std::string_view(text).substr(start, end - start), row)) {
      ++malformed;
    } else {
      Launch* launch = nullptr;
      for (Launch& candidate : launches) {
        if (candidate.index == row.launch) launch = &candidate;
      }
      Burst* burst = nullptr;
      for (std::size_t i = 0; launch != nullptr && i < launch->bursts.size(); ++i) {
        // A burst that was repeated shares its round, not its order.
        Burst& candidate = launch->bursts[i];
        if (candidate.round == row.round && (burst == nullptr || candidate.order == row.order))
          burst = &candidate;
      }
      if (launch != nullptr && row.phase == "first") {
        launch->first_run = row.latency;
        if (row.wait >= 0) launch->first_run_wait = row.wait;
      } else if (launch != nullptr && row.phase == "warmup") {
        launch->warmup.push_back(row.latency);
      } else if (burst != nullptr && row.phase == "opening") {
        burst->opening.push_back(row.latency);
        burst->opening_wait.push_back(row.wait);
      } else if (burst != nullptr && row.phase == "recorded") {
        burst->recorded.push_back(row.latency);
        burst->recorded_wait.push_back(row.wait);
        burst->recorded_cpu.push_back(row.cpu);
      } else if (burst != nullptr && row.phase == "traced") {
        burst->traced.push_back(row.latency);
        burst->traced_wait.push_back(row.wait);
      } else {
        ++unknown;
      }
    }
    start = end + 1;
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
  const std::filesystem::path name = stem + "_latency.csv";
  if (!IsFileBeneath(folder, name)) return false;
  const std::string text = ReadTextFile(folder / name);
  std::set<int> known;
  for (const Launch& launch : launches) known.insert(launch.index);
  std::string kept;
  bool rows = false;
  for (std::size_t start = 0, end = 0; (end = text.find('\n', start)) != std::string::npos; start = end + 1) {
    const std::string_view line = std::string_view(text).substr(start, end + 1 - start);
    const auto launch = AsNumber<int>(line.substr(0, line.find(',')));
    if (start > 0 && (!launch || !known.contains(*launch))) continue;
    kept += line;
    rows = rows || start > 0;
  }
  if (kept == text) return false;
  if (rows) {
    WriteFileAtomically(folder / name, kept);
  } else {
    RemoveFileBeneath(folder, name);
  }
  return true;
}

}  // namespace etprof
