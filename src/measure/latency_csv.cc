#include "measure/latency_csv.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "core/error.h"
#include "core/file.h"
#include "core/text.h"

namespace etprof {
namespace {

Error CannotWrite(const std::filesystem::path& path, int error) {
  return Error(ExitCode::kDeviceFailed, fmt::format("cannot be written: {}", std::strerror(error)))
      .InFile(path.string())
      .Remedy(error == ENOSPC || error == EFBIG ? "free some space, then go on with --resume"
                                                : "check the folder and its permissions");
}

struct Row {
  int launch = 0, round = -1, order = 0;
  std::string_view phase;
  Nanoseconds latency = 0;
};

template <typename Integer>
bool ReadInteger(std::string_view text, Integer& value) {
  const auto number = AsNumber<Integer>(text);
  if (number) value = *number;
  return number.has_value();
}

bool ReadRow(std::string_view line, Row& row) {
  std::array<std::string_view, 7> cells;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const std::size_t comma = line.find(',');
    if ((comma == std::string_view::npos) != (i + 1 == cells.size())) return false;
    cells[i] = line.substr(0, comma);
    if (comma != std::string_view::npos) line.remove_prefix(comma + 1);
  }
  if (!cells[1].empty() && (!ReadInteger(cells[1], row.round) || !ReadInteger(cells[2], row.order)))
    return false;
  row.phase = cells[4];
  return ReadInteger(cells[0], row.launch) && ReadInteger(cells[6], row.latency);
}

}  // namespace

std::string LatencyRows(const Launch& launch, bool tracer_always_on) {
  std::string text;
  int position = 0;
  const auto add = [&](const std::string& place, const char* phase, bool traced, Nanoseconds latency) {
    text += fmt::format("{},{},{},{},{},{}\n", launch.index, place, position++, phase,
                        traced || tracer_always_on ? 1 : 0, latency);
  };
  if (launch.first_run) add(",", "first", true, *launch.first_run);
  for (const Nanoseconds run : launch.warmup) add(",", "warmup", false, run);
  for (const Burst& burst : launch.bursts) {
    const std::string place = fmt::format("{},{}", burst.round, burst.order);
    position = 0;
    for (const Nanoseconds run : burst.opening) add(place, "opening", false, run);
    for (const Nanoseconds run : burst.recorded) add(place, "recorded", false, run);
    for (const Nanoseconds run : burst.traced) add(place, "traced", true, run);
  }
  return text;
}

void AppendLatencies(const std::filesystem::path& path, const Launch& launch, bool tracer_always_on) {
  std::error_code ignored;
  std::filesystem::create_directories(path.parent_path(), ignored);
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (descriptor < 0) throw CannotWrite(path, errno);
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
  if (error != 0) throw CannotWrite(path, error);
}

void ReadLatencies(const std::filesystem::path& path, std::vector<Launch>& launches,
                   std::vector<std::string>& problems) {
  const std::string text = ReadTextFile(path);
  std::int64_t malformed = 0, unknown = 0;
  std::size_t start = text.find('\n');
  if (text.substr(0, start == std::string::npos ? 0 : start + 1) != kLatencyHeader) {
    problems.push_back(fmt::format("{}: not the columns that etprof writes; its latencies are left out",
                                   path.filename().string()));
    return;
  }
  ++start;
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
        if (launch->bursts[i].round == row.round) burst = &launch->bursts[i];
      }
      if (launch != nullptr && row.phase == "first") {
        launch->first_run = row.latency;
      } else if (launch != nullptr && row.phase == "warmup") {
        launch->warmup.push_back(row.latency);
      } else if (burst != nullptr && row.phase == "opening") {
        burst->opening.push_back(row.latency);
      } else if (burst != nullptr && row.phase == "recorded") {
        burst->recorded.push_back(row.latency);
      } else if (burst != nullptr && row.phase == "traced") {
        burst->traced.push_back(row.latency);
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

}  // namespace etprof
