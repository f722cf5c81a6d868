// Bytes as a .pte: read, summed up, written as text and JSON, and compared with limits and itself.

#include <nlohmann/json.hpp>
#include <sstream>

#include "fuzz.h"
#include "program/read/program_reader.h"
#include "program/summary.h"
#include "render/document.h"
#include "render/inspect.h"
#include "report/static_check.h"
#include "say/subjects.h"

ETPROF_FUZZ_TARGET(program) {
  using namespace etprof;
  fuzz::Accepts({ExitCode::kBadInput}, [&] {
    const Program program = ReadProgram(fuzz::Bytes(data, size), "x.pte");
    std::ostringstream text, json;
    RenderDocumentTerminal(say::SayInspect(program, "x.pte", nullptr), {}, text);
    RenderInspectJson(program, "x.pte", nullptr, json);
    fuzz::Require(nlohmann::json::accept(json.str()), "the JSON is JSON");
    StaticLimits limits;
    for (const FactInfo& info : AllFacts()) limits.limits[info.key] = info.is_least ? 1 : 0;
    const StaticSide side{&program, nullptr, "x.pte", fuzz::Bytes(data, size)};
    CheckStatic(side, limits);
    fuzz::Require(CheckStatic(side, side, {}, true).decision == GateDecision::kPass,
                  "a program is not worse than itself");
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
