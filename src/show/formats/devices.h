#pragma once

#include <nlohmann/json_fwd.hpp>
#include <ostream>

#include "report/devices.h"

namespace etprof {

// Writes devices_report.json (docs/reference/files.md, docs/schema). Undefined values are null, never NaN.
void RenderDevicesJson(const DevicesReport& report, std::ostream& out);
nlohmann::ordered_json DevicesReportSchema();

}  // namespace etprof
