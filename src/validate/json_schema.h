#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace etprof {

// A violation of a schema.
struct SchemaProblem {
  std::string path;     // "results[1].etdump"; empty: the whole value
  std::string problem;  // "must be integer or null, but is a text"
};

// Checks `value` against a JSON Schema (json-schema.org, draft 2020-12) with the keywords of the schemas in
// docs/schema: type, const, enum, properties, required, additionalProperties, items, minItems, minimum,
// maximum, pattern, anyOf, dependentRequired, and $ref into $defs. The system packages' libraries for this
// all depend on a desktop toolkit. Throws std::logic_error for any other keyword, so that nothing stays
// unchecked.
std::vector<SchemaProblem> CheckSchema(const nlohmann::json& value, const nlohmann::json& schema);

// The schemas generated from descriptions (core/json/describe.h), keyed by name:
// docs/schema/<name>.schema.json, which `script/reference` writes.
const std::map<std::string, nlohmann::ordered_json>& DescribedSchemas();

// The schema with this name. Throws std::out_of_range for an unknown name.
const nlohmann::json& GetPublishedSchema(const std::string& name);

}  // namespace etprof
