#include "device/remote/remote_properties.h"

#include <filesystem>
#include <fstream>
#include <map>
#include <span>

#include "core/error.h"
#include "core/file/process_folder.h"
#include "core/text/text.h"
#include "device/local/local_properties.h"

namespace etprof {
namespace {

namespace fs = std::filesystem;

// The output of the scripts consists of parts, each of which begins with a line of this character and its
// name.
constexpr char kPartMark = '\x01';

std::map<std::string, std::string> SplitParts(const std::string& output) {
  std::map<std::string, std::string> parts;
  const std::vector<std::string_view> pieces = SplitAt(output, kPartMark);
  for (const std::string_view piece : std::span(pieces).subspan(1)) {
    const std::size_t line = piece.find('\n');
    if (line != std::string_view::npos) parts[std::string(piece.substr(0, line))] = piece.substr(line + 1);
  }
  return parts;
}

std::string PartLine(const std::map<std::string, std::string>& parts, const std::string& name) {
  const auto found = parts.find(name);
  if (found == parts.end()) return "";
  std::string text = found->second.substr(0, found->second.find('\n'));
  while (!text.empty() && (text.back() == '\r' || text.back() == ' ')) text.pop_back();
  return text;
}

// Writes parts that are files below a temporary root, so that the functions that read this machine's files
// can read them.
class TemporaryRoot {
 public:
  explicit TemporaryRoot(const std::map<std::string, std::string>& parts) {
    for (const auto& [name, text] : parts) {
      const fs::path relative = fs::path(name).lexically_normal();
      if (!name.starts_with("/") || name.find("..") != std::string::npos) continue;
      const fs::path file = root() / relative.relative_path();
      std::error_code ignored;
      fs::create_directories(file.parent_path(), ignored);
      std::ofstream(file) << text;
    }
  }
  const fs::path& root() const { return folder_.path(); }

 private:
  const ProcessFolder folder_{"etprof-device", "a temporary folder"};
};

}  // namespace

constexpr const char* kDefineShow = R"sh(part() { printf '\001%s\n' "$1"; }
show() { if [ -f "$r$1" ] && [ -r "$r$1" ]; then part "$1"; cat "$r$1" 2>/dev/null; echo; fi; }
)sh";

std::string LimitsScript() {
  return kDefineShow + ("r=\nshow /proc/meminfo\n" + LimitFilesScript()) + "true";
}

ResourceLimits ParseLimits(const std::string& output) {
  return ReadResourceLimits(TemporaryRoot(SplitParts(output)).root());
}

std::optional<Bytes> ParseAvailableMemory(const std::string& output) {
  return ReadAvailableMemory(TemporaryRoot(SplitParts(output)).root());
}

std::string PropertiesScript() {
  // An emulated or simulated device has its /sys, and perhaps /proc/cpuinfo, below $ETPROF_SYSFS_ROOT.
  std::string keys;
  for (const MacKey& key : kMacKeys) keys += std::string(" ") + key.name;
  return kDefineShow + std::string(R"sh(part uname-s; uname -s; part uname-r; uname -r; part uname-m; uname -m
r=
if [ "$(uname -s)" = Darwin ]; then
  for k in)sh") +
         keys + R"sh(; do part $k; sysctl -n $k 2>/dev/null; done
  exit 0
fi
[ -f "$ETPROF_SYSFS_ROOT/proc/cpuinfo" ] && r=$ETPROF_SYSFS_ROOT
show /proc/cpuinfo
r=
for f in /proc/meminfo /proc/version /etc/os-release /sys/class/dmi/id/product_name; do show $f; done
)sh" + LimitFilesScript() +
         R"sh(r=$ETPROF_SYSFS_ROOT
for c in "$r"/sys/devices/system/cpu/cpu[0-9]*; do
  c=${c#"$r"}
  for f in topology/thread_siblings_list online cpu_capacity cpufreq/scaling_governor cpufreq/scaling_min_freq \
    cpufreq/scaling_max_freq cpufreq/cpuinfo_max_freq; do show $c/$f; done
done
for s in "$r"/sys/class/power_supply/*; do
  s=${s#"$r"}
  for f in type status; do show $s/$f; done
done
if command -v getprop >/dev/null 2>&1; then
  for k in ro.product.manufacturer ro.product.model ro.build.version.release ro.soc.manufacturer ro.soc.model; do
    part $k; getprop $k
  done
fi
true)sh";
}

DeviceProperties ParseProperties(const std::string& output, const std::string& name) {
  const std::map<std::string, std::string> parts = SplitParts(output);
  const std::string system = PartLine(parts, "uname-s");
  if (system.empty()) {
    throw Error(ExitCode::kDeviceFailed, "does not say what it is (`uname -s` prints nothing)")
        .InFile(name)
        .Remedy("log in, and check that its shell knows `uname`");
  }
  DeviceProperties properties;
  if (system == "Darwin") {
    std::map<std::string, std::string> values;
    for (const MacKey& key : kMacKeys) values[key.name] = PartLine(parts, key.name);
    properties = ReadMacProperties(values);
  } else {
    properties = ReadLinuxProperties(TemporaryRoot(parts).root());
  }
  properties.name = name;
  AddSystem(system, PartLine(parts, "uname-r"), PartLine(parts, "uname-m"), properties);
  if (const std::string release = PartLine(parts, "ro.build.version.release"); !release.empty()) {
    properties.platform = "android";
    const std::string manufacturer = PartLine(parts, "ro.product.manufacturer"),
                      model = PartLine(parts, "ro.product.model");
    properties.os = "Android " + release;
    if (!model.empty()) properties.os += ", " + (manufacturer.empty() ? model : manufacturer + " " + model);
    const std::string soc = PartLine(parts, "ro.soc.model");
    if (!soc.empty()) {
      const std::string soc_maker = PartLine(parts, "ro.soc.manufacturer");
      properties.cpu_model = soc_maker.empty() ? soc : soc_maker + " " + soc;
    }
  }
  return properties;
}

}  // namespace etprof
