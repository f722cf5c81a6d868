#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace etprof {

// Formats a text as code for a table's cell. Bars are escaped, since they would end the cell.
std::string CodeCell(const std::string& text);

// docs/reference/json.md: tables of the keys of every file and output with a schema.
std::string SchemaReference(const std::map<std::string, nlohmann::ordered_json>& schemas);

// docs/reference/csv.md: tables of the columns of every CSV table.
std::string CsvReference(const std::map<std::string, nlohmann::ordered_json>& schemas);
// Replaces the text between the marks of a page by the table of keys of a file that users write.
std::string InsertKeys(const std::string& page, const nlohmann::ordered_json& schema);

}  // namespace etprof
