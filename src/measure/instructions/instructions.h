#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "core/json/describe.h"
#include "protocol/counters.h"
#include "protocol/emulator_counts.h"

namespace etprof {

struct ExperimentData;

// The number of instructions that an operator or the whole method executes in one run with one thread: a row
// of `<stem>_instructions.csv` (docs/guides/instructions.md).
struct InstructionsRow {
  std::string key;  // the operator's key in the analysis (KeyText)
  std::string name;
  protocol::CounterSourceKind source = protocol::CounterSourceKind::kProcessor;
  double instructions = 0;         // mean over the processes that counted
  double lowest = 0, highest = 0;  // counts of a single process
  // Counts by kind (protocol::kEmulatorCounters without the first); empty: the source does not distinguish
  // kinds.
  std::map<std::string, double, std::less<>> kinds = {};

  std::optional<double> CountOfKind(std::string_view kind) const {
    const auto found = kinds.find(kind);
    return found == kinds.end() ? std::nullopt : std::optional(found->second);
  }

  std::string_view SourceText() const {
    return source == protocol::CounterSourceKind::kCallgrind  ? "Callgrind"
           : source == protocol::CounterSourceKind::kEmulator ? "QEMU"
                                                              : "the processor";
  }

  static void Describe(auto& v) {
    using R = InstructionsRow;
    v("key", &R::key, {.meaning = "as `key` of an operator"});
    v("name", &R::name, {.meaning = "as in traces"});
    v("source", &R::source, {.meaning = "what counted: `processor`, `callgrind`, or `emulator` (QEMU)"});
    v("instructions", &R::instructions, {.meaning = "executed in one run, of one thread", .min = 0});
    v("lowest", &R::lowest, {.meaning = "of the processes that counted", .min = 0});
    v("highest", &R::highest, {.meaning = "of the processes that counted", .min = 0});
    for (std::size_t i = 1; i < protocol::kEmulatorCounters.size(); ++i) {
      const char* const kind = protocol::kEmulatorCounters[i];
      v.Converted(
          kind, [kind](const R& row) { return row.CountOfKind(kind); },
          [kind](R& row, const std::optional<double>& count) {
            if (count) row.kinds[kind] = *count;
          },
          {.meaning = "of these; only an emulator tells", .min = 0});
    }
  }
};

// Merges the counts of several processes that ran the same runs into rows for the method and its operators.
// `method` completes the keys. Spans that only contain other spans (delegate calls) have no row: their own
// instructions only name the delegate's operators, which is a cost of tracing.
std::vector<InstructionsRow> MergeInstructions(const std::vector<protocol::CountersReply>& processes,
                                               const std::string& method);

void WriteInstructions(const std::vector<InstructionsRow>& rows, std::ostream& out);
// Reads the counts of an experiment in a results directory; empty if there are none. Throws Error (kBadInput)
// with file and line.
std::vector<InstructionsRow> LoadInstructions(const ExperimentData& data);
// "<stem>_instructions.csv" next to the log; empty: the experiment has no log.
std::filesystem::path InstructionsFile(const ExperimentData& data);

// The instructions of the whole method in one process; 0: not counted.
double MethodInstructionCount(const protocol::CountersReply& reply);
// The row of the whole method; null: there is none.
const InstructionsRow* MethodInstructions(const std::vector<InstructionsRow>& rows);

}  // namespace etprof
