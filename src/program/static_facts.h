#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>

#include "core/units.h"

// What a program shows without being run, as numbers that a gate can hold against limits and other programs.
// What etprof cannot read (the payload of a delegate that is not XNNPACK's) leaves a number between two
// bounds.
namespace etprof {

// A sum, of which some may not be known.
struct Tally {
  std::int64_t known = 0;
  bool more = false;  // any number may have to be added

  void Add(std::optional<std::int64_t> count);  // absent: not known
  std::optional<std::int64_t> Exact() const;
  bool operator==(const Tally&) const = default;
};

// From the least to the most that a number may be: equal where it is certain.
struct FactRange {
  double low = 0, high = 0;

  bool IsExact() const { return low == high; }
  bool operator==(const FactRange&) const = default;
};

// What has a property, what has not, and of what that is not known.
struct Split {
  Tally with, without, unknown;

  std::optional<std::int64_t> Whole() const;  // absent: not known
  // Of `with` in the whole; absent where that is not known, or nothing.
  std::optional<double> ExactShare() const;
  // The same with its bounds. Of nothing 1: there is nothing without the property.
  FactRange Share() const;
  bool operator==(const Split&) const = default;
};

// Of a method. Summarize() counts them (summary.h).
struct StaticFacts {
  Split operators;                    // delegated: nodes of delegates, and portable kernels, by calls
  Split macs;                         // delegated: of all instructions, each once (work.h)
  Split matrix_macs;                  // of what multiplies matrices: with kernels of SME2 (kleidiai.h)
  std::int64_t matrix_operators = 0;  // that multiply matrices
  std::int64_t delegates = 0;
  Bytes planned = 0;  // of all planned buffers; saturated
  Tally packed;       // bytes of weights that XNNPACK packs, at least (xnn/memory_estimate.h)

  Tally AllMacs() const;
};

// Of a program's file, in bytes.
struct FileFacts {
  Bytes size = 0;
  Bytes delegated = 0;  // payloads and named data of delegates, what is shared once
};

// One of these numbers as options, files, and formats have it.
struct FactInfo {
  enum class Unit { kShare, kCount, kBytes };
  const char* key;    // "delegated_macs"
  const char* name;   // for people: "delegated MACs"
  const char* limit;  // the option without its dashes: "require-delegated-macs"
  const char* help;   // of that option
  Unit unit;
  bool is_least;     // whether the limit is the least that it may be, else the most
  bool of_file;      // not of each method
  double tolerance;  // relative change for the worse that is none
  FactRange (*range)(const StaticFacts& facts, const FileFacts& file);

  std::string FileKey() const;  // of the limit: "require_delegated_macs"
  // Of a limit: "95%" of a share (at most 100%), "3" of a count, "2 MB" or "1.5 MiB" of bytes. Absent: it is
  // none. Expects() says what it has to be.
  std::optional<double> Parse(const std::string& text) const;
  const char* Expects() const;
};

// All of them, in the order in which they are shown.
std::span<const FactInfo> AllFacts();

// What a program has to keep, without being run. By FactInfo::key; what is not there is not checked.
struct StaticLimits {
  std::map<std::string, double> limits;      // the least or the most that a fact may be
  std::map<std::string, double> tolerances;  // relative changes that are none, instead of the facts' own
};

// "2%" is 0.02; "-5 %" is −0.05. Absent: it is no percentage.
std::optional<double> ParsePercent(const std::string& text);

}  // namespace etprof
