#pragma once

#include <span>

#include "report/report.h"
#include "say/document.h"

namespace etprof::say {

// What is shown by itself on demand (--by NAME), and stands at the end of every report where there is some of
// it.
struct ReportView {
  const char* name;
  Document (*say)(const Report& report);
  const char* prefix;      // of its sections' titles in a report, which are labels; "": they are titles
  const char* nothing;     // why there may be none, and what to do
  bool breakdown = false;  // of the time (SayBreakdownBy), whose small rows are shown, too
};
std::span<const ReportView> ReportViews();

}  // namespace etprof::say
