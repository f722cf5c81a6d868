#include "core/process/cgroup.h"

#include <algorithm>
#include <fstream>
#include <sstream>

#include "core/text/text.h"

namespace etprof {
namespace {

namespace fs = std::filesystem;

// Returns whether a comma-separated list such as "cpu,cpuacct" contains the name.
bool ListContains(std::string_view list, std::string_view name) {
  return ("," + std::string(list) + ",").find("," + std::string(name) + ",") != std::string::npos;
}

// Decodes a path from mountinfo, which writes blanks as "\040" (man 5 proc).
std::string UnescapeMountPath(const std::string& text) {
  std::string path;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool escaped = text[i] == '\\' && i + 3 < text.size() && text[i + 1] >= '0' && text[i + 1] <= '3' &&
                         text[i + 2] >= '0' && text[i + 2] <= '7' && text[i + 3] >= '0' && text[i + 3] <= '7';
    if (!escaped) {
      path += text[i];
      continue;
    }
    path += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0'));
    i += 3;
  }
  return path;
}

// The process's path in the hierarchy with the controller.
struct GroupPath {
  int version = 2;
  std::string path;
};

std::optional<GroupPath> FindGroupPath(std::string_view controller, const std::string& cgroup) {
  std::optional<GroupPath> version_2_path;
  std::istringstream lines(cgroup);
  for (std::string line; std::getline(lines, line);) {
    // "ID:CONTROLLERS:PATH"; the line of version 2 lists no controllers.
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos || line.size() <= second + 1 || line[second + 1] != '/') continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string path = line.substr(second + 1);
    // A controller that version 1 uses is not available in version 2.
    if (ListContains(controllers, controller)) return GroupPath{1, path};
    if (controllers.empty()) version_2_path = GroupPath{2, path};
  }
  return version_2_path;
}

// `path` relative to a mount whose root is `mount_root`: "/a" for "/docker/x/a". Absent if the path is
// outside of the mount.
std::optional<std::string> PathBelow(const std::string& path, const std::string& mount_root) {
  const std::string base = mount_root == "/" ? "" : mount_root;
  const bool is_below = path.starts_with(base) && (path.size() == base.size() || path[base.size()] == '/');
  const std::string relative = is_below ? path.substr(base.size()) : "";
  if (!is_below || ("/" + relative + "/").find("/../") != std::string::npos) return std::nullopt;
  return relative == "/" ? "" : relative;
}

std::string ReadInterfaceFile(const fs::path& folder, const char* name) {
  return std::string(Trimmed(ReadProcFile(folder / name)));
}

}  // namespace

std::optional<Cgroup> FindCgroup(std::string_view controller, const fs::path& root) {
  const auto group = FindGroupPath(controller, ReadProcFile(root / "proc/self/cgroup"));
  if (!group) return std::nullopt;
  Cgroup cgroup{group->version, {}};
  std::ifstream mounts(root / "proc/self/mountinfo");
  for (std::string line; std::getline(mounts, line);) {
    // "ID PARENT DEVICE ROOT MOUNT_POINT OPTIONS [TAGS] - TYPE SOURCE SUPER_OPTIONS"
    const std::size_t dash = line.find(" - ");
    if (dash == std::string::npos) continue;
    const std::vector<std::string> mount = Words(line.substr(0, dash)),
                                   file_system = Words(line.substr(dash + 3));
    if (mount.size() < 5 || file_system.size() < 3) continue;
    const bool has_controller = group->version == 2
                                    ? file_system[0] == "cgroup2"
                                    : file_system[0] == "cgroup" && ListContains(file_system[2], controller);
    if (!has_controller) continue;
    auto relative = PathBelow(group->path, UnescapeMountPath(mount[3]));
    if (!relative) continue;
    const fs::path mount_point = root / fs::path(UnescapeMountPath(mount[4])).relative_path();
    std::vector<fs::path> folders;
    while (true) {
      const fs::path folder =
          relative->empty() ? mount_point : mount_point / fs::path(*relative).relative_path();
      std::error_code error;
      if (fs::is_directory(folder, error)) folders.push_back(folder);
      if (relative->empty()) break;
      relative->resize(relative->rfind('/'));
    }
    // If there are several mounts, use the mount that shows the most ancestors.
    if (folders.size() > cgroup.folders.size()) cgroup.folders = folders;
  }
  return cgroup.folders.empty() ? std::nullopt : std::optional(cgroup);
}

std::string ReadProcFile(const fs::path& path) {
  std::ifstream file(path);
  std::string text(std::size_t{1} << 16U, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(std::max<std::streamsize>(0, file.gcount())));
  return text;
}

std::optional<std::string_view> FindLine(std::string_view text, std::string_view key) {
  for (const std::string_view line : SplitAt(text, '\n')) {
    if (line.starts_with(key) && line.substr(key.size()).starts_with(' ')) return line.substr(key.size());
  }
  return std::nullopt;
}

std::optional<std::int64_t> CgroupNumber(std::string_view text, std::string_view key) {
  const auto line = FindLine(text, key);
  const auto number = line ? AsNumber<std::int64_t>(Trimmed(*line)) : std::nullopt;
  return number && *number >= 0 ? number : std::nullopt;
}

std::optional<CpuQuota> ReadCpuQuota(const fs::path& root) {
  std::optional<CpuQuota> smallest;
  const auto group = FindCgroup("cpu", root);
  if (!group) return smallest;
  for (const fs::path& folder : group->folders) {
    // "max 100000" or "10000 100000" (µs); in version 1 the quota is -1 if there is no limit.
    const char* key = group->version == 2 ? "cpu.max" : "cpu.cfs_quota_us";
    const std::string text = group->version == 2 ? ReadInterfaceFile(folder, key)
                                                 : ReadInterfaceFile(folder, key) + " " +
                                                       ReadInterfaceFile(folder, "cpu.cfs_period_us");
    const std::vector<std::string> fields = Words(text);
    if (fields.size() != 2) continue;
    const auto quota = AsNumber<std::int64_t>(fields[0]), period = AsNumber<std::int64_t>(fields[1]);
    if (!quota || !period || *quota <= 0 || *period <= 0) continue;
    const double cpus = static_cast<double>(*quota) / static_cast<double>(*period);
    if (!smallest || cpus < smallest->cpus) smallest = CpuQuota{cpus, key, folder};
  }
  return smallest;
}

std::optional<CpuThrottling> ParseThrottling(std::string_view cpu_stat) {
  CpuThrottling throttling;
  if (const auto microseconds = CgroupNumber(cpu_stat, "throttled_usec")) {
    if (*microseconds > INT64_MAX / 1000) return std::nullopt;
    throttling.throttled_ns = *microseconds * 1000;
  } else if (const auto nanoseconds = CgroupNumber(cpu_stat, "throttled_time")) {
    throttling.throttled_ns = *nanoseconds;
  } else {
    return std::nullopt;
  }
  throttling.periods = CgroupNumber(cpu_stat, "nr_periods").value_or(0);
  throttling.throttled_periods = CgroupNumber(cpu_stat, "nr_throttled").value_or(0);
  return throttling;
}

fs::path CpuStatFile(const fs::path& root) {
  const auto quota = ReadCpuQuota(root);
  if (quota) return quota->folder / "cpu.stat";
  const auto group = FindCgroup("cpu", root);
  return group ? group->folders.front() / "cpu.stat" : fs::path();
}

}  // namespace etprof
