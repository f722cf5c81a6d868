#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace etprof {

// Code in a table's cell, where a bar would end it.
std::string CodeCell(const std::string& text);

// docs/reference/json.md: the keys of every file and output that a schema describes, in tables.
std::string SchemaReference(const std::map<std::string, nlohmann::ordered_json>& schemas);

// docs/reference/csv.md: the columns of every CSV table, likewise.
std::string CsvReference(const std::map<std::string, nlohmann::ordered_json>& schemas);
// The page with the keys of a file that people write between its marks.
std::string WithKeys(const std::string& page, const nlohmann::ordered_json& schema);

}  // namespace etprof
