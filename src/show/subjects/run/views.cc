#include "show/subjects/run/report.h"
#include "show/subjects/run/report_parts.h"

namespace etprof::show {
namespace {

Document MakeViewDocument(std::vector<Section> sections, const Report& report) {
  Document document{.sections = std::move(sections), .span = LatencySpan(report)};
  return document;
}

template <By by>
Document MakeBreakdownDocument(const Report& report) {
  return MakeViewDocument(MakeBreakdownSections(report, by), report);
}

constexpr const char* kNotTraced = "no run was traced";
constexpr const char* kNoLayers = "layers need the .pte that ran (--model)";
constexpr const char* kNotWatched = "no calls were watched in this run (etprof profile --watch)";

constexpr ReportView kReportViews[] = {
    {"layer", MakeBreakdownDocument<By::kLayer>, "", kNoLayers, true},
    {"source", MakeBreakdownDocument<By::kSource>, "", kNoLayers, true},
    {"delegate", MakeBreakdownDocument<By::kDelegate>, "", kNotTraced, true},
    {"kernel", MakeBreakdownDocument<By::kKernel>, "", kNotTraced, true},
    {"category", MakeBreakdownDocument<By::kCategory>, "", kNotTraced, true},
    {"roofline", [](const Report& report) { return MakeViewDocument(MakeRooflineSections(report), report); },
     "",
     "a roofline needs the machine's peaks (a run without --no-peaks), the .pte that ran (--model), and "
     "shapes that do not change at run time"},
    {"counters", [](const Report& report) { return MakeCountersDocument(report.run); },
     "Counters: ", "no counters were read in this run (etprof profile --counters)"},
    {"instructions", [](const Report& report) { return MakeInstructionsDocument(report.run); },
     "Instructions: ", "no instructions were counted in this run (etprof profile --instructions)"},
    {"noise", MakeNoiseDocument,
     "Noise: ", "no noise budget lies next to the program that ran (etprof accuracy)"},
    {"values", MakeValuesDocument,
     "Values: ", "no values were compared in this run (etprof profile --vs ... --values)"},
    {"proven",
     [](const Report& report) { return MakeViewDocument(MakeProvenKernelSections(report.watched), report); },
     "Proven kernels: ", kNotWatched},
    {"threads",
     [](const Report& report) { return MakeViewDocument(MakeThreadSections(report.watched), report); },
     "Threads: ", kNotWatched},
    {"memory", [](const Report& report) { return MakeViewDocument(MakeMemorySections(report), report); },
     "Memory: ", "no memory was watched in this run (etprof profile --watch, on Linux or Android)"}};

}  // namespace

std::span<const ReportView> ReportViews() { return kReportViews; }

}  // namespace etprof::show
