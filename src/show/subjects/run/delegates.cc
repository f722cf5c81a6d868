#include "show/subjects/run/report_parts.h"

namespace etprof::show {
namespace {

constexpr std::size_t kScreenValues = 5;

// The value with the delegate's own unit.
Cell ValueCell(const ReportedValue& reported) {
  if (!reported.values.p50) return {};
  const double value = *reported.values.p50;
  const Tone tone = reported.kind == ValueKind::kEstimate  ? Tone::kUnsure
                    : reported.kind == ValueKind::kUnknown ? Tone::kUnknown
                                                           : Tone::kPlain;
  if (reported.unit == "ns") return {Duration{value}, tone};
  if (reported.unit == "µs") return {Duration{1e3 * value}, tone};
  if (reported.unit == "bytes") return {Size{value}, tone};
  if (reported.kind == ValueKind::kUnknown || reported.kind == ValueKind::kCount) {
    return {Count{value}, tone};
  }
  return {Amount{value}, tone};
}

Table MakeReportedValuesTable(const ReportExperiment& experiment) {
  Table table{
      .id = "report_delegate_values",
      .columns = {NameColumn("name"), Left("delegate").WithDropPriority(2),
                  Right("instruction").WithDropPriority(1).WithVisibility(Visibility::kPage), Left("kind"),
                  Left("unit").WithDropPriority(4), Right("median"), Right("runs", "n").WithDropPriority(3)}};
  table.screen_rows = kScreenValues;
  table.hidden_rows_hint = "in `--csv=delegate_values`";
  for (const ReportedValue& reported : experiment.profile->reported) {
    table.AddRow(reported.name, KnownTextCell(reported.backend), Count{reported.instruction},
                 GetName(reported.kind), KnownTextCell(reported.unit), ValueCell(reported),
                 Count{reported.values.n});
  }
  return table;
}

Table MakeDelegateMetadataTable(const ReportExperiment& experiment) {
  Table table{.id = "delegate_metadata",
              .columns = {NameColumn("event"), Left("delegate").WithDropPriority(2),
                          Right("instruction").WithDropPriority(1), Right("events").WithDropPriority(3),
                          Right("size"), Left("text", "metadata of the first").WithMaxWidth(40)}};
  for (const DelegateMetadata& metadata : experiment.profile->metadata) {
    const std::string suffix = metadata.varies ? " (others differ)" : "";
    table.AddRow(metadata.event, KnownTextCell(metadata.backend), Count{metadata.instruction},
                 Count{metadata.events}, Size{metadata.size},
                 (metadata.text.empty() ? "no text, or a long one" : metadata.text) + suffix);
  }
  return table;
}

}  // namespace

std::vector<Section> MakeDelegateValueSections(const Report& report) {
  Section values{"What the delegate reports", Visibility::kDefault};
  Section metadata{"What the delegate adds to its events", Visibility::kPage};
  const bool several = report.experiments.size() > 1;
  for (const ReportExperiment& experiment : report.experiments) {
    if (!experiment.profile) continue;
    const Paragraph label{experiment.label + ':'};
    if (!experiment.profile->reported.empty()) {
      if (values.parts.empty()) {
        values.AddText(
            "These values are not host time. No other time, share, or finding includes them. An "
            "estimate is not measured.");
      }
      if (several) values.parts.emplace_back(label);
      values.parts.emplace_back(MakeReportedValuesTable(experiment));
    }
    if (!experiment.profile->metadata.empty()) {
      if (several) metadata.parts.emplace_back(label);
      metadata.parts.emplace_back(MakeDelegateMetadataTable(experiment));
    }
  }
  std::vector<Section> sections;
  for (Section* const section : {&values, &metadata}) {
    if (!section->parts.empty()) sections.push_back(std::move(*section));
  }
  return sections;
}

}  // namespace etprof::show
