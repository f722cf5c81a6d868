#pragma once

#include <nlohmann/json_fwd.hpp>

// JSON Schemas of what commands show with --json, each where its description is.
namespace etprof {

nlohmann::ordered_json BuildSchema();
nlohmann::ordered_json DoctorSchema();
nlohmann::ordered_json IsaSchema();
nlohmann::ordered_json QuickTestSchema();
nlohmann::ordered_json ValidateSchema();

}  // namespace etprof
