#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "device/survey.h"

namespace etprof {

// As docs/reference/devices.md says.
nlohmann::ordered_json DevicesJson(const std::vector<DeviceSurvey>& devices,
                                   const std::vector<std::string>& notes);

}  // namespace etprof
