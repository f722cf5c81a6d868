#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "say/document.h"
#include "workflow/measure/measure.h"

namespace etprof {

// What would be measured on the devices that could be configured (MeasureOnDevices, dry_run), and how long it
// will take: for a person, and as docs/schema/dry_run.schema.json says.
say::Document PlanDocument(const std::vector<Measured>& devices, const MeasureRequest& request);
nlohmann::ordered_json PlanJson(const std::vector<Measured>& devices, const MeasureRequest& request);
nlohmann::ordered_json DryRunSchema();

}  // namespace etprof
