#pragma once

#include <nlohmann/json_fwd.hpp>
#include <ostream>
#include <string>

#include "program/program.h"
#include "program/read/data_file.h"

namespace etprof {

// All of a program, with its summary (docs/guides/inspect.md, docs/schema/inspect.schema.json). What is not
// known is null. `data` says whether what the program expects in a .ptd is there; null: no .ptd was given.
void RenderInspectJson(const Program& program, const std::string& file, const DataFile* data,
                       std::ostream& out);

// Of a .ptd: its size and every piece of data, by its name.
void RenderDataFileJson(const DataFile& data, const std::string& file, std::ostream& out);
nlohmann::ordered_json InspectSchema();      // of a .pte
nlohmann::ordered_json InspectDataSchema();  // of a .ptd

}  // namespace etprof
