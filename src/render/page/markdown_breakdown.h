#pragma once

#include "render/page/markdown_text.h"
#include "report/report.h"

// The sections of report.md that say where the time goes. Names from files are escaped.
namespace etprof {

// The groups of both sides of a pair, a table without a heading. False, and nothing, without two traces.
bool RenderPairGroups(const Report& report, const ReportComparison& pair, markdown::Out& out);

// Groups, categories and operators of both sides of a pair, what gained and what lost. Nothing without two
// traces.
void RenderPairTables(const Report& report, const ReportComparison& pair, markdown::Out& out);

// Groups and categories of an experiment that stands in no pair.
void RenderExperimentTables(const Report& report, const ReportExperiment& experiment, markdown::Out& out);

// The operators that cost most; delegated against portable. `titled`: the heading names the experiment.
void RenderCostliest(const ReportExperiment& experiment, bool titled, markdown::Out& out);
void RenderPlaces(const ReportExperiment& experiment, bool titled, markdown::Out& out);

}  // namespace etprof
