#pragma once

#include <nlohmann/json_fwd.hpp>
#include <ostream>

#include "render/screen/terminal.h"
#include "report/devices.h"

namespace etprof {

// devices_report.md: the devices, and of every model latency across platforms, speed-up per platform and
// categories per platform. Names from files are escaped.
void RenderDevicesMarkdown(const DevicesReport& report, std::ostream& out);

// devices_report.json (docs/reference/files.md, docs/schema). What is not defined is null, never NaN.
void RenderDevicesJson(const DevicesReport& report, std::ostream& out);
nlohmann::ordered_json DevicesReportSchema();

// One screen: each device's result in a few lines, then all of them side by side.
void RenderDevicesTerminal(const DevicesReport& report, const TerminalOptions& options, std::ostream& out);

}  // namespace etprof
