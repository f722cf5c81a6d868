#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "core/json/describe.h"
#include "core/units.h"
#include "report/kernels/watched.h"
#include "show/subjects/run/report_parts.h"

namespace etprof::show {
namespace {

using protocol::MemoryOwner;
using protocol::MemoryReport;

constexpr std::size_t kScreenMemoryRows = 10;

constexpr NamedValue<MemoryOwner> kOwners[] = {
    {MemoryOwner::kProgram, "program file"},       {MemoryOwner::kPlanned, "planned tensors"},
    {MemoryOwner::kWeights, "packed weights"},     {MemoryOwner::kWorkspace, "XNNPACK's workspace"},
    {MemoryOwner::kXnnpack, "XNNPACK, other"},     {MemoryOwner::kLibraries, "code and libraries"},
    {MemoryOwner::kStacks, "main thread's stack"}, {MemoryOwner::kOther, "rest"}};

// The size computed from the program alone; `join` may be null.
Cell EstimateCell(MemoryOwner owner, const ProgramJoin* join) {
  std::optional<Bytes> at_least;
  if (join != nullptr && owner == MemoryOwner::kPlanned) at_least = join->planned;
  if (join != nullptr && owner == MemoryOwner::kWeights) at_least = join->packed_at_least;
  return CellOrBlank<Size>(at_least);
}

Table MakeOwnersTable(const MemoryReport& memory, const ProgramJoin* join) {
  Table table{
      .id = "memory",
      .columns = {Left("owner", "resident"), Right("loaded").WithDropPriority(3),
                  Right("first_run", "first run").WithDropPriority(2), Right("steady"),
                  Right("allocated").WithDropPriority(1), Right("at_least", "at least").WithDropPriority(4)}};
  const auto find_moment = [&](const char* moment) {
    const auto found = std::ranges::find(memory.snapshots, moment, &protocol::MemorySnapshot::moment);
    return found == memory.snapshots.end() ? nullptr : &*found;
  };
  const protocol::MemorySnapshot* const snapshots[] = {find_moment("loaded"), find_moment("first_run"),
                                                       find_moment("steady")};
  const auto add = [&](std::string_view name, auto value, Cell allocated, Cell estimate) {
    Row& row = table.AddRow(std::string(name));
    for (const protocol::MemorySnapshot* const moment : snapshots)
      row.Add(moment == nullptr ? Cell() : Size{value(*moment)});
    row.Add(std::move(allocated), std::move(estimate));
  };
  for (std::size_t i = 0; i < memory.snapshots.back().parts.size(); ++i) {
    const protocol::MemoryPart& part = memory.snapshots.back().parts[i];
    add(
        FindName(kOwners, part.owner), [i](const auto& moment) { return moment.parts.at(i).resident; },
        Size{part.bytes}, EstimateCell(part.owner, join));
  }
  add("resident set size", [](const auto& moment) { return moment.rss_bytes; }, std::string(), std::string());
  return table;
}

Table MakeCreatedOperatorsTable(const MemoryReport& memory) {
  Table table{
      .id = "packed_weights",
      .columns = {NameColumn("operator", "created operator"),
                  Right("delegate").WithVisibility(Visibility::kPage),
                  Left("function", "created by").WithVisibility(Visibility::kPage),
                  Right("bytes", "allocated"), Right("largest", "largest block").WithDropPriority(3)}};
  for (const auto* const op :
       SortByDecreasing(memory.operators, [](const auto& created) { return created.bytes; })) {
    table.AddRow(KnownTextCell(op->name), Count{op->delegate}, op->function, Size{op->bytes},
                 Size{op->largest});
  }
  table.screen_rows = kScreenMemoryRows;
  table.hidden_rows_hint = "in its `_watch.json`";
  return table;
}

constexpr NamedValue<protocol::LoadPart> kLoadPartNames[] = {
    {protocol::LoadPart::kProgram, "read and verify the program"},
    {protocol::LoadPart::kPlan, "allocate planned memory"},
    {protocol::LoadPart::kGraph, "XNNPACK's graphs"},
    {protocol::LoadPart::kCreate, "XNNPACK's operators, own packing"},
    {protocol::LoadPart::kPack, "packing by KleidiAI"},
    {protocol::LoadPart::kOther, "rest"}};

Table MakeLoadTable(const protocol::LoadTimes& load) {
  Table table{.id = "load_time", .columns = {Left("part", "load time"), Right("time"), Right("share")}};
  const auto add = [&](std::string_view name, std::int64_t ns, Row::Role role) {
    table.AddRow(std::string(name), Time{ns}, ShareCell(ns, load.total_ns)).role = role;
  };
  for (const protocol::LoadTime& part : load.parts) {
    if (part.part == protocol::LoadPart::kPack && part.ns == 0) continue;  // 0 on CPUs without KleidiAI
    add(FindName(kLoadPartNames, part.part), part.ns, Row::Role::kPart);
  }
  add("load", load.total_ns, Row::Role::kSum);
  return table;
}

// Shows which of several delegates share memory.
Table MakeDelegateMemoryTable(const MemoryReport& memory) {
  Table table{.id = "delegate_memory",
              .columns = {Right("delegate"), Right("workspace"), Right("workspace_bytes", "its size"),
                          Left("shared_with", "shared with"), Left("packed_weights", "packed weights")}};
  const auto number = [](std::int64_t value) { return value < 0 ? Cell() : Cell(Count{value}); };
  for (std::size_t i = 0; i < memory.delegates.size(); ++i) {
    const protocol::DelegateMemory& delegate = memory.delegates[i];
    std::vector<std::string> sharing_delegates;
    for (std::size_t j = 0; j < memory.delegates.size(); ++j) {
      if (j != i && delegate.workspace >= 0 && memory.delegates[j].workspace == delegate.workspace)
        sharing_delegates.push_back(std::to_string(j));
    }
    table.AddRow(Count{i}, number(delegate.workspace),
                 delegate.workspace_bytes < 0 ? Cell() : Size{delegate.workspace_bytes},
                 sharing_delegates.empty() ? Cell("none")
                                           : Cell(fmt::format("{}", fmt::join(sharing_delegates, ", "))),
                 delegate.weights_cache < 0 ? Cell("its own")
                                            : Cell(fmt::format("in cache {}", delegate.weights_cache)));
  }
  table.screen_rows = kScreenMemoryRows;
  table.hidden_rows_hint = "in its `_watch.json`";
  return table;
}

// A note if the file's pages are still in memory next to the packed weights.
std::string FileAndPackedText(const MemoryReport& memory) {
  const protocol::MemorySnapshot& last = memory.snapshots.back();
  const std::int64_t file = last.ResidentBytes(MemoryOwner::kProgram),
                     packed = last.ResidentBytes(MemoryOwner::kWeights);
  if (packed == 0 || file < packed / 10) return "";  // ExecuTorch released the packed part of the file
  return fmt::format(
      "{} of the program's file are in memory next to {} of packed weights. The system can take the file's "
      "pages back, not the packed ones.",
      FormatBytes(static_cast<double>(file)), FormatBytes(static_cast<double>(packed)));
}

// A note about weights that are in memory more than once.
std::string CopiesText(const MemoryReport& memory) {
  std::int64_t copies = 0, bytes = 0;
  const protocol::CreatedOperator* largest = nullptr;
  for (const protocol::CreatedOperator& op : memory.operators) {
    if (op.copy_of < 0) continue;
    ++copies;
    bytes += op.largest;
    if (largest == nullptr || op.largest > largest->largest) largest = &op;
  }
  if (largest == nullptr) return "";
  const protocol::CreatedOperator& original = memory.operators[static_cast<std::size_t>(largest->copy_of)];
  return fmt::format(
      "{} packed the same weights as an earlier operator, which takes {} more memory. The largest: {} of "
      "delegate {} and {} of delegate {}. The option weight_cache_enabled of XNNPACK's delegate shares them.",
      CountedText(copies, "operator"), FormatBytes(static_cast<double>(bytes)), largest->NameOrFunction(),
      largest->delegate, original.NameOrFunction(), original.delegate);
}

Cell SizeChange(std::int64_t baseline, std::int64_t candidate) {
  const char* const sign = candidate > baseline ? "+" : candidate < baseline ? "−" : "";
  return {sign + FormatBytes(std::abs(static_cast<double>(candidate - baseline)))};
}

Section MakeMemoryChangeSection(const ReportComparison& pair, const MemoryReport& baseline,
                                const MemoryReport& candidate) {
  const Comparison& comparison = pair.comparison;
  const auto columns = [&](const char* id, const char* title) {
    return std::vector<Table::Column>{
        {.id = id, .title = title, .truncation = Table::Truncation::kKeepNameEnds},
        VariantColumn("baseline", comparison.baseline_label),
        VariantColumn("candidate", comparison.candidate_label),
        Right("change")};
  };
  Section section{fmt::format("{} compared with {}", comparison.candidate_label, comparison.baseline_label),
                  Visibility::kDefault};
  Table owners{"memory_change", "", columns("owner", "resident")};
  const auto add = [](Table& table, std::string_view name, std::int64_t before, std::int64_t after) {
    table.AddRow(std::string(name), Size{before}, Size{after}, SizeChange(before, after));
  };
  const protocol::MemorySnapshot &before = baseline.snapshots.back(), &after = candidate.snapshots.back();
  for (const auto& [owner, name] : kOwners)
    add(owners, name, before.ResidentBytes(owner), after.ResidentBytes(owner));
  add(owners, "resident set size", before.rss_bytes, after.rss_bytes);
  section.parts.emplace_back(std::move(owners));
  const auto changes = ChangedAllocations(baseline, candidate);
  if (!changes) {
    section.AddText(
        "XNNPACK created different operators in the two variants, so their memory is not compared "
        "one by one.");
  } else if (changes->empty()) {
    section.AddText("Every operator allocated the same memory in both variants when it was created.");
  } else {
    Table operators{"packed_weights_change", "", columns("operator", "created operator")};
    for (const AllocationChange& change : *changes)
      add(operators, change.name, change.baseline, change.candidate);
    operators.screen_rows = kScreenMemoryRows;
    section.parts.emplace_back(std::move(operators));
  }
  return section;
}

}  // namespace

std::vector<Section> MakeMemorySections(const Report& report) {
  std::vector<Section> sections;
  for (const WatchedExperiment& watched : report.watched) {
    if (!watched.memory) continue;
    const ProgramJoin* join = nullptr;
    for (const ReportExperiment& experiment : report.experiments) {
      if (experiment.profile && experiment.profile->program &&
          FindWatched(report.watched, experiment.Data(report)) == &watched)
        join = &*experiment.profile->program;
    }
    Section section{watched.label, {MakeOwnersTable(*watched.memory, join)}};
    if (watched.memory->load) section.parts.emplace_back(MakeLoadTable(*watched.memory->load));
    section.AddText(FileAndPackedText(*watched.memory));
    section.AddText(CopiesText(*watched.memory));
    if (watched.memory->delegates.size() > 1)
      section.parts.emplace_back(MakeDelegateMemoryTable(*watched.memory));
    if (!watched.memory->operators.empty())
      section.parts.emplace_back(MakeCreatedOperatorsTable(*watched.memory));
    sections.push_back(std::move(section));
  }
  for (const ReportComparison& pair : report.comparisons) {
    const auto find_memory = [&](std::size_t experiment) -> const MemoryReport* {
      const auto& data = report.DataAt(experiment);
      const WatchedExperiment* const watched = FindWatched(report.watched, data);
      return watched != nullptr && watched->memory ? &*watched->memory : nullptr;
    };
    const MemoryReport* const baseline = find_memory(pair.baseline);
    const MemoryReport* const candidate = find_memory(pair.candidate);
    if (baseline != nullptr && candidate != nullptr && baseline != candidate)
      sections.push_back(MakeMemoryChangeSection(pair, *baseline, *candidate));
  }
  if (!sections.empty()) {
    sections.front().AddText(
        "Resident: the pages in memory, of a process that only loads the model and runs it. Each byte has "
        "one owner, by the function of XNNPACK that was called last before it was allocated. Rest: "
        "ExecuTorch, the runner, other stacks, and free blocks. At least: computed from the program alone.");
  }
  return sections;
}

}  // namespace etprof::show
