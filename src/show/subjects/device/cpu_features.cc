#include "report/cpu_features.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "show/subjects.h"

namespace etprof::show {

Document MakeCpuFeaturesDocument(const CpuFeatures& cpu) {
  Document document{.title = fmt::format("CPU features of {}", isa::ArchitectureName(cpu.architecture)),
                    .section_kind = "section"};
  Table table{.id = "features", .columns = {Left("feature"), Left("here"), Left("needs")}};
  for (const isa::Feature& feature : isa::Features(cpu.architecture)) {
    table.rows.push_back({std::string(feature.name), cpu.Has(feature.name) ? "yes" : "no",
                          fmt::format("{}", fmt::join(feature.needs, ", "))});
  }
  Facts facts{"cpu", ""};
  if (cpu.widest) {
    facts.Add("widest extension", fmt::format("{} (etprof profile MODEL.pte --vs isa={})", cpu.widest->name,
                                              cpu.widest->off_mask));
  }
  if (cpu.levels.size() > 1) {
    std::vector<std::string> names;
    for (const isa::Level& level : cpu.levels) names.push_back(level.name);
    facts.Add("levels", fmt::format("{} (etprof isa MODEL.pte)", fmt::join(names, ", ")));
  }
  if (!cpu.state.can_mask)
    facts.Add("masking", "features cannot be disabled here: " + cpu.state.masking_problem);
  document.sections = {{"", {std::move(table)}}};
  if (!facts.facts.empty()) document.sections.push_back({"", {std::move(facts)}});
  return document;
}

}  // namespace etprof::show
