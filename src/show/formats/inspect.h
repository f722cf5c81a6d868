#pragma once

#include <nlohmann/json_fwd.hpp>
#include <ostream>
#include <string>

#include "format/program/program.h"
#include "format/program/read/data_file.h"

namespace etprof {

// Writes everything in a program, and its summary (docs/guides/inspect.md, docs/schema/inspect.schema.json).
// Unknown values are null. `data` is the .ptd in which the program's external weights are looked up; null: no
// .ptd is known.
void RenderInspectJson(const Program& program, const std::string& file, const DataFile* data,
                       std::ostream& out);

// Writes the contents of a .ptd: its size and every piece of data with its name.
void RenderDataFileJson(const DataFile& data, const std::string& file, std::ostream& out);
nlohmann::ordered_json InspectSchema();      // the schema of RenderInspectJson
nlohmann::ordered_json InspectDataSchema();  // the schema of RenderDataFileJson

}  // namespace etprof
