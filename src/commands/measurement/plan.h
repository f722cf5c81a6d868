#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "commands/measurement/measure.h"
#include "show/document.h"

namespace etprof {

// The plan of a measurement on the devices that could be configured (MeasureOnDevices with dry_run): what
// would be measured, and how long it takes. As a document, and as JSON (docs/schema/dry_run.schema.json).
show::Document PlanDocument(const std::vector<DeviceMeasurement>& devices, const MeasureRequest& request);
nlohmann::ordered_json PlanJson(const std::vector<DeviceMeasurement>& devices, const MeasureRequest& request);
nlohmann::ordered_json DryRunSchema();

}  // namespace etprof
