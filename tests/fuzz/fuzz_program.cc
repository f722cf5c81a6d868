// Bytes as a .pte: read, summed up and written as text and JSON.

#include <nlohmann/json.hpp>
#include <sstream>

#include "fuzz.h"
#include "program/program_reader.h"
#include "program/summary.h"
#include "render/document.h"
#include "render/inspect.h"
#include "say/inspect.h"

ETPROF_FUZZ_TARGET(program) {
  using namespace etprof;
  fuzz::Accepts({ExitCode::kBadInput}, [&] {
    const Program program = ReadProgram(fuzz::Bytes(data, size), "x.pte");
    std::ostringstream text, json;
    RenderDocumentTerminal(say::SayInspect(program, "x.pte", nullptr), {}, text);
    RenderInspectJson(program, "x.pte", nullptr, json);
    fuzz::Require(nlohmann::json::accept(json.str()), "the JSON is JSON");
    for (const Method& method : program.methods) {
      std::size_t shown = 0;
      for (const Step& step : Summarize(method, program).steps) {
        fuzz::Require(step.first == shown && step.last >= step.first, "steps follow each other");
        shown = step.last + 1;
      }
      fuzz::Require(shown == method.instructions.size(), "every instruction is in a step");
    }
  });
  return 0;
}
