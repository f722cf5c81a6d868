// The input is a .ptd file, which is read, and written as text and JSON.

#include <nlohmann/json.hpp>
#include <sstream>

#include "format/program/read/data_file.h"
#include "fuzz.h"
#include "show/formats.h"
#include "show/formats/json/json.h"
#include "show/subjects.h"

ETPROF_FUZZ_TARGET(data_file) {
  using namespace etprof;
  fuzz::Accepts({ExitCode::kBadInput}, [&] {
    const DataFile file = ReadDataFile(fuzz::Bytes(data, size), "x.ptd");
    std::ostringstream text, json;
    RenderDocumentTerminal(show::MakeInspectDocument(file, "x.ptd"), {}, text);
    RenderDataFileJson(file, "x.ptd", json);
    fuzz::Require(nlohmann::json::accept(json.str()), "the JSON is JSON");
    for (const DataSegment& segment : file.segments)
      fuzz::Require(segment.offset + static_cast<std::uint64_t>(segment.bytes) <= size,
                    "a segment is within the file");
    std::vector<std::string> names;
    for (const DataFileEntry& entry : file.entries) {
      fuzz::Require(entry.segment < file.segments.size(), "an entry has a segment");
      names.push_back(entry.key);
    }
    fuzz::Require(FindMissing(file, names).empty(), "what it holds is not missing");
  });
  return 0;
}
