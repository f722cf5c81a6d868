#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "measure/run_data.h"
#include "protocol/counters.h"

namespace etprof {

// What the counters gave for one operator, a delegate call or the whole method: a row of `_counters.csv`
// (docs/counters.md).
struct CountersRow {
  std::string key;  // as KeyText of the operator in the analysis
  std::string name;
  std::int64_t runs = 0;
  std::map<std::string, double, std::less<>> means;  // of a run, by protocol::kCounterNames; absent: closed

  std::optional<double> Mean(std::string_view counter) const;
  // Cycles per second of processor time, hertz: of all threads, while they ran.
  std::optional<double> EffectiveFrequency() const;
  std::optional<double> InstructionsPerCycle() const;
  std::optional<double> CacheMissesPerThousand() const;   // instructions
  std::optional<double> BranchMissesPerThousand() const;  // instructions
};

// `method` completes the keys.
std::vector<CountersRow> RowsOf(const protocol::CountersReply& reply, const std::string& method);

// What is to be said of the reply, a line each: counters that are closed, with what would open them; those
// that see user space only, or had their turns; delegate calls that could not be told apart.
std::vector<std::string> RemarksOn(const protocol::CountersReply& reply);

// RFC 4180; an empty field where a counter is closed.
void WriteCounters(const std::vector<CountersRow>& rows, std::ostream& out);
// Throws Error (kBadInput) with file and line.
std::vector<CountersRow> ParseCounters(std::string_view text, const std::string& file_name);

// The counters of an experiment of a run directory; empty where there are none. Throws as ParseCounters.
std::vector<CountersRow> LoadCounters(const ExperimentData& data);
// "<stem>_counters.csv" beside its log; empty: it has no log.
std::filesystem::path CountersFile(const ExperimentData& data);

}  // namespace etprof
