#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "commands/measurement/measure.h"
#include "show/document.h"

namespace etprof {

// What would be measured on the devices that could be configured (MeasureOnDevices with dry_run), and how
// long it will take: as a document, and as JSON (docs/schema/dry_run.schema.json).
show::Document PlanDocument(const std::vector<DeviceMeasurement>& devices, const MeasureRequest& request);
nlohmann::ordered_json PlanJson(const std::vector<DeviceMeasurement>& devices, const MeasureRequest& request);
nlohmann::ordered_json DryRunSchema();

}  // namespace etprof
