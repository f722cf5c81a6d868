#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace etprof {

// What a JSON value has wrong.
struct SchemaProblem {
  std::string path;     // "results[1].etdump"; empty: the whole
  std::string problem;  // "must be integer or null, but is a text"
};

// Holds `value` against a JSON Schema (json-schema.org, draft 2020-12), as far as the schemas under
// docs/schema go: type, const, enum, properties, required, additionalProperties, items, minItems, minimum,
// maximum, pattern, anyOf, dependentRequired, and $ref into $defs. No library of the system packages does it
// without a desktop's toolkit behind it. Throws std::logic_error for a keyword that it does not know: nothing
// goes unchecked.
std::vector<SchemaProblem> CheckSchema(const nlohmann::json& value, const nlohmann::json& schema);

// The schemas that are made of descriptions (core/json/describe.h), by name: docs/schema/<name>.schema.json,
// which `script/reference` writes.
const std::map<std::string, nlohmann::ordered_json>& DescribedSchemas();

// One of them. Throws std::out_of_range for another name.
const nlohmann::json& PublishedSchema(const std::string& name);

}  // namespace etprof
