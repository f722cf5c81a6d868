#include "device/conditions/vitals.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <sstream>

#include "core/text/text.h"
#include "device/tool.h"

namespace etprof {
namespace {

constexpr double kReadTimeoutSeconds = 10;
constexpr double kReadAllTimeoutSeconds = 30;
constexpr int kMaxFailures = 2;

// Recognizes the thermal zones of CPUs by name: "cpu-0-0-usr", "cpu-thermal", "BIG", "x86_pkg_temp".
bool IsCpuZone(const std::string& zone) {
  constexpr std::array names = {"cpu", "little", "mid", "big", "cluster", "x86_pkg_temp", "soc"};
  return std::ranges::any_of(names, [&](const char* name) { return zone.find(name) != std::string::npos; });
}
bool IsSkinZone(const std::string& zone) { return zone.find("skin") != std::string::npos; }

// Parses the number at the beginning of a text. Android prints NaN for a sensor without a value.
std::optional<double> ParseDouble(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (end == text.c_str() || !std::isfinite(value)) return std::nullopt;
  return value;
}

// Raises `hottest` to `celsius`. Disabled sensors report 0, -40, or impossible values, which are ignored.
void UpdateHottest(std::optional<double>& hottest, double celsius) {
  if (celsius <= -40 || celsius >= 200 || celsius == 0) return;
  hottest = std::max(hottest.value_or(celsius), celsius);
}

std::optional<int> ParsePercent(const std::string& text) {
  const std::optional<double> value = ParseDouble(text);
  if (!value || !(*value >= 0 && *value <= 100)) return std::nullopt;
  return static_cast<int>(*value);
}

// Returns the text after `key` up to a comma, a brace, or the end of the line; empty if there is no `key`.
std::string FindValueAfter(const std::string& line, const std::string& key) {
  const std::size_t at = line.find(key);
  if (at == std::string::npos) return "";
  const std::size_t start = at + key.size();
  return line.substr(start, line.find_first_of(",}\r", start) - start);
}

std::string GetField(const std::string& line, std::size_t number) {
  const std::vector<std::string_view> fields = SplitAt(line, '\t');
  return number < fields.size() ? std::string(fields[number]) : "";
}

std::optional<std::int64_t> ParseInteger(const std::string& text) {
  const std::optional<double> value = ParseDouble(text);
  if (!value || !(std::fabs(*value) < 1e12)) return std::nullopt;
  return static_cast<std::int64_t>(*value);
}

void AddCooling(const std::string& line, DeviceVitals& vitals) {
  DeviceVitals::Cooling cooling;
  cooling.type = GetField(line, 1);
  cooling.state = ParseInteger(GetField(line, 2)).value_or(0);
  cooling.highest_state = ParseInteger(GetField(line, 3)).value_or(0);
  // Types of CPU cooling devices: "cpufreq-cpu4", "thermal-cpufreq-0", "Processor" (ACPI).
  const std::string type = Lower(cooling.type);
  cooling.cools_cpu = type.find("cpu") != std::string::npos || type.find("processor") != std::string::npos;
  if (!cooling.cools_cpu && cooling.state <= 0) return;
  if (const std::string number = GetField(line, 4); !number.empty()) vitals.sources += "c" + number + " ";
  vitals.cooling.push_back(std::move(cooling));
}

void AddClock(const std::string& line, DeviceVitals& vitals) {
  DeviceVitals::Clock clock;
  clock.khz = ParseInteger(GetField(line, 2));
  clock.cap_khz = ParseInteger(GetField(line, 3));
  clock.hardware_max_khz = ParseInteger(GetField(line, 4));
  for (const std::string& word : Words(GetField(line, 1))) {
    if (const auto cpu = ParseInteger(word); cpu && *cpu >= 0 && *cpu < 1024)
      clock.cpus.push_back(static_cast<int>(*cpu));
  }
  for (DeviceVitals::Clock& known_clock : vitals.clocks) {
    if (known_clock.khz != clock.khz || known_clock.cap_khz != clock.cap_khz ||
        known_clock.hardware_max_khz != clock.hardware_max_khz)
      continue;
    known_clock.cpus.insert(known_clock.cpus.end(), clock.cpus.begin(), clock.cpus.end());
    std::ranges::sort(known_clock.cpus);
    return;
  }
  std::ranges::sort(clock.cpus);
  vitals.clocks.push_back(std::move(clock));
}

// Names BatteryManager's BATTERY_STATUS_* constants.
std::string BatteryStatusName(const std::string& code) {
  if (code == "2") return "Charging";
  if (code == "3") return "Discharging";
  if (code == "4") return "Not charging";
  if (code == "5") return "Full";
  return "";
}

// The shell reads the files by its builtin `read`, since a process per file would take seconds on a phone.
constexpr const char* kShellFunctions = R"sh(r=$ETPROF_SYSFS_ROOT
line() { x=; IFS= read -r x 2>/dev/null <"$1"; return 0; }
zone() {
  d=$r/sys/class/thermal/thermal_zone$1
  line "$d/temp"; t=$x
  [ -n "$t" ] || return 0
  line "$d/type"; printf 'zone\t%s\t%s\t%s\n' "$x" "$t" "$1"
}
cooling() {
  d=$r/sys/class/thermal/cooling_device$1
  line "$d/cur_state"; t=$x
  line "$d/max_state"; m=$x
  [ -n "$t" ] || return 0
  line "$d/type"; printf 'cooling\t%s\t%s\t%s\t%s\n' "$x" "$t" "$m" "$1"
}
clocks() {
  n=0
  for d in "$r"/sys/devices/system/cpu/cpufreq/policy*; do
    line "$d/affected_cpus"; [ -n "$x" ] || line "$d/related_cpus"; c=$x
    line "$d/scaling_max_freq"; m=$x
    line "$d/cpuinfo_max_freq"; h=$x
    x=; [ $((n += 1)) -gt 16 ] || line "$d/scaling_cur_freq"
    [ -n "$c$m" ] && printf 'clock\t%s\t%s\t%s\t%s\n' "$c" "$x" "$m" "$h"
  done
}
supplies() {
  for d in "$r"/sys/class/power_supply/*; do
    line "$d/type"; [ "$x" = Battery ] || continue
    line "$d/scope"; [ "$x" != Device ] || continue
    line "$d/status"; t=$x
    line "$d/capacity"; c=$x
    line "$d/temp"
    printf 'supply\t%s\t%s\t%s\n' "$t" "$c" "$x"
  done
}
everything() {
  for f in "$r"/sys/class/thermal/thermal_zone*; do zone "${f##*thermal_zone}"; done
  for f in "$r"/sys/class/thermal/cooling_device*; do cooling "${f##*cooling_device}"; done
  clocks; supplies
  if command -v dumpsys >/dev/null 2>&1; then
    echo android-battery; dumpsys battery 2>/dev/null </dev/null
    echo android-thermal; dumpsys thermalservice 2>/dev/null </dev/null
  fi
})sh";

}  // namespace

std::string VitalsScript() { return std::string(kShellFunctions) + "\neverything\ntrue"; }

std::string VitalsServer() {
  return std::string(kShellFunctions) + R"sh(
while IFS= read -r what; do
  if [ "$what" = all ]; then everything; else
    for w in $what; do case $w in z*) zone "${w#z}";; c*) cooling "${w#c}";; esac; done
    clocks; supplies
  fi
  echo )sh" +
         kVitalsEnd + "\ndone";
}

std::string DeviceVitals::AboveLimitText(double limit_celsius) const {
  const std::optional<double> celsius = CelsiusForLimit();
  if (!celsius || *celsius <= limit_celsius) return "";
  return fmt::format("{:.1f} °C > {:g} °C", *celsius, limit_celsius);
}

std::optional<double> DeviceVitals::HottestCelsius() const {
  if (!cpu_celsius || !skin_celsius) return cpu_celsius ? cpu_celsius : skin_celsius;
  return std::max(*cpu_celsius, *skin_celsius);
}

std::string ThermalStatusName(int status) {
  constexpr std::array names = {"none", "light", "moderate", "severe", "critical", "emergency", "shutdown"};
  if (status < 0 || status >= static_cast<int>(names.size())) return std::to_string(status);
  return names[static_cast<std::size_t>(status)];
}

DeviceVitals ParseVitals(const std::string& output) {
  DeviceVitals vitals;
  DeviceVitals android;
  enum class Part { kSysfs, kBattery, kThermal, kCurrentTemperatures } part = Part::kSysfs;
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    if (line == "android-battery") {
      part = Part::kBattery;
    } else if (line == "android-thermal") {
      part = Part::kThermal;
    } else if (part == Part::kSysfs && line.starts_with("zone\t")) {
      const std::string zone = Lower(GetField(line, 1));
      const std::optional<double> millidegrees = ParseDouble(GetField(line, 2));
      if (!millidegrees || (!IsSkinZone(zone) && !IsCpuZone(zone))) continue;
      UpdateHottest(IsSkinZone(zone) ? vitals.skin_celsius : vitals.cpu_celsius, *millidegrees / 1000);
      if (const std::string number = GetField(line, 3); !number.empty()) vitals.sources += "z" + number + " ";
    } else if (part == Part::kSysfs && line.starts_with("cooling\t")) {
      AddCooling(line, vitals);
    } else if (part == Part::kSysfs && line.starts_with("clock\t")) {
      AddClock(line, vitals);
    } else if (part == Part::kSysfs && line.starts_with("supply\t") && !vitals.battery_percent) {
      vitals.battery_status = GetField(line, 1);
      vitals.battery_percent = ParsePercent(GetField(line, 2));
      if (const auto tenths = ParseDouble(GetField(line, 3))) vitals.battery_celsius = *tenths / 10;
    } else if (part == Part::kBattery) {
      if (line.starts_with("  level: "))
        android.battery_percent = ParsePercent(FindValueAfter(line, "level: "));
      if (line.starts_with("  status: "))
        android.battery_status = BatteryStatusName(FindValueAfter(line, "status: "));
      if (line.starts_with("  temperature: ")) {
        if (const auto tenths = ParseDouble(FindValueAfter(line, "temperature: ")))
          android.battery_celsius = *tenths / 10;
      }
    } else if (part == Part::kThermal && line.starts_with("Thermal Status: ")) {
      if (const auto status = ParseInteger(FindValueAfter(line, "Status: "));
          status && *status >= 0 && *status <= 100)
        vitals.thermal_status = static_cast<int>(*status);
    } else if (part == Part::kThermal && line.starts_with("Current temperatures from HAL")) {
      part = Part::kCurrentTemperatures;  // the "cached" temperatures above this line may be old
    } else if (part == Part::kCurrentTemperatures && line.find("Temperature{") != std::string::npos) {
      const std::optional<double> celsius = ParseDouble(FindValueAfter(line, "mValue="));
      const std::string type = FindValueAfter(line, "mType=");  // android.os.Temperature: 0 is CPU, 3 is SKIN
      if (celsius && type == "0") UpdateHottest(android.cpu_celsius, *celsius);
      if (celsius && type == "3") UpdateHottest(android.skin_celsius, *celsius);
    }
  }
  if (!vitals.cpu_celsius) vitals.cpu_celsius = android.cpu_celsius;
  if (!vitals.skin_celsius) vitals.skin_celsius = android.skin_celsius;
  if (!vitals.battery_celsius) vitals.battery_celsius = android.battery_celsius;
  if (!vitals.battery_percent) {
    vitals.battery_percent = android.battery_percent;
    vitals.battery_status = android.battery_status;
  }
  return vitals;
}

std::optional<DeviceVitals> VitalsReader::Read(bool all) {
  if (failures_ >= kMaxFailures) return std::nullopt;
  try {
    if (!shell_) shell_ = device_.Start({{"sh", "-c", VitalsServer()}, {}, {}}, {});
    all = all || !sources_;
    const auto vitals = Request(all ? "all" : *sources_, all ? kReadAllTimeoutSeconds : kReadTimeoutSeconds);
    if (vitals) {
      if (all) sources_ = vitals->sources;
      failures_ = 0;
      if (!keep_shell_) {
        shell_->CloseInput();
        shell_->Wait(kReadTimeoutSeconds);
        shell_.reset();
      }
      return vitals;
    }
    // A broken connection does not count as a failure of the shell.
    if (shell_->Wait(0) && shell_->ConnectionLost()) --failures_;
  } catch (const DeviceLost&) {
    --failures_;
  } catch (const Error&) {
    // The shell could not be started.
  }
  ++failures_;
  shell_.reset();
  sources_.reset();  // the next connection may reach another device
  return std::nullopt;
}

std::optional<DeviceVitals> VitalsReader::Request(const std::string& request, double timeout_seconds) {
  if (!shell_->Send(request, timeout_seconds)) return std::nullopt;
  const ProcessOutput output = ReadOutput(*shell_, timeout_seconds, kVitalsEnd);
  return output.end == Process::ReadResult::kLine ? std::optional(ParseVitals(output.text)) : std::nullopt;
}

}  // namespace etprof
