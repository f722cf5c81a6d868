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

// How many instructions an operator or the whole method executes in one run, of one thread: a row of
// `<stem>_instructions.csv` (docs/guides/instructions.md).
struct InstructionsRow {
  std::string key;  // as KeyText of the operator in the analysis
  std::string name;
  protocol::CounterSourceKind source = protocol::CounterSourceKind::kProcessor;
  double instructions = 0;         // mean over the processes that counted
  double lowest = 0, highest = 0;  // of these processes
  // By protocol::kEmulatorCounters, but the first; empty: the source does not tell kinds apart.
  std::map<std::string, double, std::less<>> kinds = {};

  std::optional<double> Kind(std::string_view kind) const {
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
    v("instructions", &R::instructions, {.meaning = "executed in one run, of one thread", .least = 0});
    v("lowest", &R::lowest, {.meaning = "of the processes that counted", .least = 0});
    v("highest", &R::highest, {.meaning = "of the processes that counted", .least = 0});
    for (std::size_t i = 1; i < protocol::kEmulatorCounters.size(); ++i) {
      const char* const kind = protocol::kEmulatorCounters[i];
      v.Converted(
          kind, [kind](const R& row) { return row.Kind(kind); },
          [kind](R& row, const std::optional<double>& count) {
            if (count) row.kinds[kind] = *count;
          },
          {.meaning = "of these; only an emulator tells", .least = 0});
    }
  }
};

// The method and its operators, of what several processes counted of the same runs. `method` completes the
// keys. A row of a kind of span that only contains others (a call) is left out: it has what naming the
// delegate's operators takes.
std::vector<InstructionsRow> MergeInstructions(const std::vector<protocol::CountersReply>& processes,
                                               const std::string& method);

void WriteInstructions(const std::vector<InstructionsRow>& rows, std::ostream& out);
// The counts of an experiment of a results directory; empty where there are none. Throws Error (kBadInput)
// with file and line.
std::vector<InstructionsRow> LoadInstructions(const ExperimentData& data);
// "<stem>_instructions.csv" beside its log; empty: it has no log.
std::filesystem::path InstructionsFile(const ExperimentData& data);

// Of the whole method in one process; 0: it was not counted.
double CountOfMethod(const protocol::CountersReply& reply);
// The row of the whole method; null: there is none.
const InstructionsRow* MethodInstructions(const std::vector<InstructionsRow>& rows);

}  // namespace etprof
