#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "device/survey.h"

namespace etprof {

// A table with a row a device, then what else is known of each.
std::string DevicesText(const std::vector<DeviceSurvey>& devices);

// As docs/concepts/measurement.md says.
nlohmann::ordered_json DevicesJson(const std::vector<DeviceSurvey>& devices,
                                   const std::vector<std::string>& notes);

}  // namespace etprof
