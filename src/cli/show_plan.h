#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "device/properties.h"
#include "measure/config/config.h"

namespace etprof {

// What `--dry-run` is about: what would be measured on one device.
struct DevicePlan {
  std::string device;  // as --device takes it
  DeviceProperties properties;
  Config config;  // as it would be measured; output_root is the run directory
};

struct ShowPlanOptions {
  bool counters = false;
  bool json = false;  // docs/schema/dry_run.schema.json
};

// Shows what would be measured on stdout, and how long it will take.
void ShowPlans(const std::vector<DevicePlan>& plans, const ShowPlanOptions& options);

nlohmann::ordered_json DryRunSchema();

}  // namespace etprof
