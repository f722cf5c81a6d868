#pragma once

#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "render/page/markdown_text.h"
#include "render/screen/terminal.h"
#include "report/report.h"

// Where the time goes by what the model is made of. Of a pair both sides, of other experiments one.
namespace etprof {

enum class By { kLayer, kSource, kDelegate, kCategory };
const std::vector<std::string>& ByNames();  // "layer", "source", "delegate", "category"
std::optional<By> ByNamed(const std::string& name);

// Tables for the terminal, as wide as it is. Layers are a tree: a module's time is that of all in it.
// DrawBy has no heading, and nothing where nothing is known.
void DrawBy(const Report& report, By by, const TerminalOptions& options, std::ostream& out);
void RenderByTerminal(const Report& report, By by, const TerminalOptions& options, std::ostream& out);

// The sections of report.md. Nothing where no layer is known.
void RenderLayersMarkdown(const Report& report, markdown::Out& out);

// "99.8 % of the operators' time belongs to a layer", or why none is known; "" where nothing can be said.
std::string AttributionText(const ReportExperiment& experiment);

}  // namespace etprof
