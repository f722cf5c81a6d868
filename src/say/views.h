#pragma once

#include <span>

#include "report/report.h"
#include "say/document.h"

namespace etprof::say {

// What is shown by itself on demand (--by NAME), and stands at the end of every report where there is some of
// it; beside those of ByNames.
struct ReportView {
  const char* name;
  Document (*say)(const Report& report);
  const char* prefix;   // of its sections' titles in a report, which are labels; "": they are titles
  const char* nothing;  // why there may be none, and what to do
};
std::span<const ReportView> ReportViews();

}  // namespace etprof::say
