// The input is the output of the scripts that read a device's conditions, and a program for a device.

#include "device/conditions/other_load.h"
#include "device/conditions/power_mode.h"
#include "device/conditions/vitals.h"
#include "device/executable.h"
#include "fuzz.h"
#include "measure/participants/device_log.h"

ETPROF_FUZZ_TARGET(device) {
  using namespace etprof;
  const std::string text = fuzz::Text(data, size);
  const DeviceVitals vitals = ParseVitals(text);
  fuzz::Require(!vitals.battery_percent || (*vitals.battery_percent >= 0 && *vitals.battery_percent <= 100),
                "a battery is between empty and full");
  for (const DeviceVitals::Clock& clock : vitals.clocks)
    fuzz::Require(clock.cpus.size() <= size, "every CPU stands there");
  const std::vector<LoadSnapshot> snapshots = ParseLoad(text);
  fuzz::Require(snapshots.size() <= 2, "two snapshots are the most");
  if (snapshots.size() == 2) {
    const auto load = OtherLoadBetween(snapshots[0], snapshots[1], 4);
    fuzz::Require(!load || (load->CoresUsed() >= 0 && load->CoresUsed() <= load->cores),
                  "nobody uses more cores than there are");
    if (load) fuzz::Require(!LoadText(*load).empty() && !LoadingProcessesText(*load).empty(), "it has words");
  }
  PowerMode mode = FindPowerMode("app-developer");
  fuzz::Accepts({ExitCode::kUsage, ExitCode::kDeviceFailed}, [&] { ReadPowerMode(text, "adb:1", mode); });
  const std::string time = LogTime(text);
  fuzz::Require(time.empty() || (time.size() == 18 && time.find('\'') == std::string::npos), "a time is one");
  for (const std::string& library : NeededLibraries(fuzz::ScratchFile("program", fuzz::Bytes(data, size))))
    fuzz::Require(library.size() <= 256, "a name is short");
  return 0;
}
