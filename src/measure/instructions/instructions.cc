#include "measure/instructions/instructions.h"

#include <algorithm>
#include <limits>

#include "core/file/file.h"
#include "core/text/csv_members.h"
#include "measure/store/run_data.h"
#include "measure/store/run_files.h"

namespace etprof {
namespace {

bool IsCountedKind(const protocol::OperatorPlace& place) {
  return place.kind == "method" || place.kind == "kernel" || place.kind == "backend";
}

void AddCounts(const protocol::CountersReply& reply, const protocol::OperatorCounts& counts,
               InstructionsRow& row) {
  for (std::size_t i = 0; i < reply.counters.size(); ++i) {
    const std::string& counter = reply.counters[i].name;
    const double count = counts.means[i];
    if (counter == protocol::kEmulatorCounters.front()) {
      row.lowest = std::min(row.lowest, count);
      row.highest = std::max(row.highest, count);
      row.instructions += count;
    } else if (std::ranges::find(protocol::kEmulatorCounters, counter) != protocol::kEmulatorCounters.end()) {
      row.kinds[counter] += count;
    }
  }
}

}  // namespace

std::vector<InstructionsRow> MergeInstructions(const std::vector<protocol::CountersReply>& processes,
                                               const std::string& method) {
  std::vector<InstructionsRow> rows;
  if (processes.empty()) return rows;
  const auto count = static_cast<double>(processes.size());
  for (const protocol::OperatorCounts& first : processes.front().operators) {
    if (!IsCountedKind(first.place)) continue;
    InstructionsRow row{first.place.KeyText(method), first.name, processes.front().source};
    row.lowest = std::numeric_limits<double>::infinity();
    std::size_t processes_with_operator = 0;
    for (const protocol::CountersReply& reply : processes) {
      const auto found = std::ranges::find(reply.operators, first.place, &protocol::OperatorCounts::place);
      if (found == reply.operators.end()) continue;
      AddCounts(reply, *found, row);
      ++processes_with_operator;
    }
    if (processes_with_operator != processes.size()) continue;  // not every process ran this operator
    row.instructions /= count;
    for (auto& [kind, sum] : row.kinds) sum /= count;
    rows.push_back(std::move(row));
  }
  return rows;
}

void WriteInstructions(const std::vector<InstructionsRow>& rows, std::ostream& out) {
  CsvWriter<InstructionsRow> table(out);
  for (const InstructionsRow& row : rows) table.Row(row);
}

std::filesystem::path InstructionsFile(const ExperimentData& data) {
  return data.PathNextToLog(kInstructionsSuffix);
}

std::vector<InstructionsRow> LoadInstructions(const ExperimentData& data) {
  const std::filesystem::path file = InstructionsFile(data);
  if (!Exists(file)) return {};
  return ReadCsvFile<InstructionsRow>(ReadTextFile(file), file.string(), "instruction counts");
}

double MethodInstructionCount(const protocol::CountersReply& reply) {
  for (const protocol::OperatorCounts& counts : reply.operators) {
    if (counts.place.kind != "method") continue;
    const auto counter = std::ranges::find(reply.counters, protocol::kEmulatorCounters.front(),
                                           &protocol::AvailableCounter::name);
    if (counter != reply.counters.end())
      return counts.means[static_cast<std::size_t>(counter - reply.counters.begin())];
  }
  return 0;
}

const InstructionsRow* MethodInstructions(const std::vector<InstructionsRow>& rows) {
  const auto found = std::ranges::find_if(
      rows, [](const InstructionsRow& row) { return row.key.find("/method/") != std::string::npos; });
  return found == rows.end() ? nullptr : &*found;
}

}  // namespace etprof
