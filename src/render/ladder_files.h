#pragma once

#include <ostream>

#include "render/page/markdown_text.h"
#include "report/report.h"

// A ladder in files. All take a report that has one.
namespace etprof {

// The table of `--csv=ladder`: a row a time at a setting, of the whole, groups, categories and operators. Of
// a report without a ladder its header alone.
void RenderLadderCsv(const Report& report, std::ostream& out);

// The part of report.md.
void RenderLadderMarkdown(const Report& report, markdown::Out& out);

}  // namespace etprof
