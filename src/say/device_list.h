#pragma once

#include <string>
#include <vector>

#include "device/survey.h"
#include "say/document.h"

namespace etprof::say {

// Which devices there are, and how each is. `notes`: why others may be missing.
Document SayDeviceList(const std::vector<DeviceSurvey>& devices, const std::vector<std::string>& notes);

}  // namespace etprof::say
