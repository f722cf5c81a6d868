#pragma once

#include <functional>
#include <optional>
#include <string>

#include "device/device.h"
#include "device/properties.h"
#include "device/vitals.h"

namespace etprof {

// What one device said of itself, or why it did not.
struct DeviceSurvey {
  std::string name;     // as `--device` takes it
  std::string problem;  // why it cannot be used, one line; empty: it answered, and what follows is known
  std::string remedy;
  DeviceProperties properties;
  DeviceVitals vitals;
  StoredFiles stored;                  // after the removal, if any
  std::optional<StoredFiles> removed;  // with SurveyOptions::clean
};

struct SurveyOptions {
  double answer_seconds = 10;  // a device that needs longer to say what it is counts as silent
  bool clean = false;          // remove what etprof left there
  std::function<bool()> interrupted;
};

// Asks a device. Nothing is thrown for one that cannot be reached; Error (kUsage) for a name that is none,
// kInterrupted.
DeviceSurvey SurveyDevice(const std::string& name, const SurveyOptions& options);

}  // namespace etprof
