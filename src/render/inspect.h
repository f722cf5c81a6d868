#pragma once

#include <ostream>
#include <string>

#include "program/program.h"
#include "render/terminal.h"

namespace etprof {

inline constexpr int kInspectSchemaVersion = 1;

// All of a program, with its summary (docs/inspect.md, docs/schema/inspect.schema.json). What is not known is
// null.
void RenderInspectJson(const Program& program, const std::string& file, std::ostream& out);

// One screen: sizes, then each method's inputs, outputs and steps in program order.
void RenderInspectTerminal(const Program& program, const std::string& file, const TerminalOptions& options,
                           std::ostream& out);

}  // namespace etprof
