#include "device/vitals.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <sstream>

namespace etprof {
namespace {

// By the names that kernels give their zones: "cpu-0-0-usr", "cpu-thermal", "BIG", "x86_pkg_temp".
bool IsCpu(const std::string& zone) {
  constexpr std::array names = {"cpu", "little", "mid", "big", "cluster", "x86_pkg_temp", "soc"};
  return std::any_of(names.begin(), names.end(),
                     [&](const char* name) { return zone.find(name) != std::string::npos; });
}
bool IsSkin(const std::string& zone) { return zone.find("skin") != std::string::npos; }

std::string Lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

std::optional<double> Number(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (end == text.c_str()) return std::nullopt;
  return value;
}

// Sensors that are switched off say 0, -40 or nonsense.
void Hottest(std::optional<double>& hottest, double celsius) {
  if (celsius <= -40 || celsius >= 200 || celsius == 0) return;
  hottest = std::max(hottest.value_or(celsius), celsius);
}

std::optional<int> Percent(const std::string& text) {
  const std::optional<double> value = Number(text);
  if (!value || !(*value >= 0 && *value <= 100)) return std::nullopt;
  return static_cast<int>(*value);
}

// Behind `key` up to a comma, brace or the line's end; empty where it is not there.
std::string After(const std::string& line, const std::string& key) {
  const std::size_t at = line.find(key);
  if (at == std::string::npos) return "";
  const std::size_t start = at + key.size();
  return line.substr(start, line.find_first_of(",}\r", start) - start);
}

std::string Field(const std::string& line, int number) {
  std::istringstream fields(line);
  std::string field;
  for (int i = 0; i <= number; ++i) {
    field.clear();
    std::getline(fields, field, '\t');
  }
  return field;
}

// BatteryManager's BATTERY_STATUS_*.
std::string StatusOf(const std::string& code) {
  if (code == "2") return "Charging";
  if (code == "3") return "Discharging";
  if (code == "4") return "Not charging";
  if (code == "5") return "Full";
  return "";
}

}  // namespace

std::string VitalsScript() {
  return R"sh(r=$ETPROF_SYSFS_ROOT
line() { cat "$1" 2>/dev/null | { IFS= read -r x; printf '%s' "$x"; }; }
for z in "$r"/sys/class/thermal/thermal_zone*; do
  [ -r "$z/temp" ] && printf 'zone\t%s\t%s\n' "$(line "$z/type")" "$(line "$z/temp")"
done
for s in "$r"/sys/class/power_supply/*; do
  [ "$(line "$s/type")" = Battery ] && [ "$(line "$s/scope")" != Device ] &&
    printf 'supply\t%s\t%s\n' "$(line "$s/status")" "$(line "$s/capacity")"
done
if command -v dumpsys >/dev/null 2>&1; then
  echo android-battery; dumpsys battery 2>/dev/null
  echo android-thermal; dumpsys thermalservice 2>/dev/null
fi
true)sh";
}

DeviceVitals ParseVitals(const std::string& printed) {
  DeviceVitals vitals;
  DeviceVitals android;
  enum class Part { kSysfs, kBattery, kThermal, kNow } part = Part::kSysfs;
  std::istringstream lines(printed);
  for (std::string line; std::getline(lines, line);) {
    if (line == "android-battery") {
      part = Part::kBattery;
    } else if (line == "android-thermal") {
      part = Part::kThermal;
    } else if (part == Part::kSysfs && line.starts_with("zone\t")) {
      const std::string zone = Lower(Field(line, 1));
      const std::optional<double> millidegrees = Number(Field(line, 2));
      if (millidegrees && IsSkin(zone)) {
        Hottest(vitals.skin_celsius, *millidegrees / 1000);
      } else if (millidegrees && IsCpu(zone)) {
        Hottest(vitals.cpu_celsius, *millidegrees / 1000);
      }
    } else if (part == Part::kSysfs && line.starts_with("supply\t") && !vitals.battery_percent) {
      vitals.battery_status = Field(line, 1);
      vitals.battery_percent = Percent(Field(line, 2));
    } else if (part == Part::kBattery) {
      if (line.starts_with("  level: ")) android.battery_percent = Percent(After(line, "level: "));
      if (line.starts_with("  status: ")) android.battery_status = StatusOf(After(line, "status: "));
    } else if (part == Part::kThermal && line.starts_with("Current temperatures from HAL")) {
      part = Part::kNow;  // the "cached" ones before may be old
    } else if (part == Part::kNow && line.find("Temperature{") != std::string::npos) {
      const std::optional<double> celsius = Number(After(line, "mValue="));
      const std::string type = After(line, "mType=");  // of android.os.Temperature: 0 is CPU, 3 is SKIN
      if (celsius && type == "0") Hottest(android.cpu_celsius, *celsius);
      if (celsius && type == "3") Hottest(android.skin_celsius, *celsius);
    }
  }
  if (!vitals.cpu_celsius) vitals.cpu_celsius = android.cpu_celsius;
  if (!vitals.skin_celsius) vitals.skin_celsius = android.skin_celsius;
  if (!vitals.battery_percent) {
    vitals.battery_percent = android.battery_percent;
    vitals.battery_status = android.battery_status;
  }
  return vitals;
}

}  // namespace etprof
