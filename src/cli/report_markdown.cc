#include "cli/report_markdown.h"

#include <fmt/format.h>

#include <set>

#include "core/error.h"
#include "core/table.h"
#include "measure/counters.h"
#include "render/counters.h"
#include "render/markdown.h"

namespace etprof {

void RenderReportMarkdown(const Report& report, std::ostream& out) {
  RenderMarkdown(report, out);
  std::vector<ExperimentCounters> counters;
  std::set<std::filesystem::path> seen;  // of a program of several methods each stands for itself
  for (const ExperimentData& data : report.run.experiments) {
    if (!seen.insert(CountersFile(data)).second) continue;
    try {
      counters.push_back({data.label, LoadCounters(data)});
    } catch (const Error& error) {
      out << "\n" << EscapeMarkdown(error.Message()) << "\n";
    }
  }
  RenderCountersMarkdown(counters, out);
}

}  // namespace etprof
