#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>

#include "core/units.h"

// Numbers read from a program without running it, for comparison with limits and other programs. If etprof
// cannot read a part (such as the payload of a delegate other than XNNPACK's), a number has a lower and an
// upper bound.
namespace etprof {

// A sum whose terms may be partly unknown.
struct Tally {
  std::int64_t known = 0;
  bool has_unknown = false;  // some terms are unknown, and may have any size

  void Add(std::optional<std::int64_t> count);  // absent: an unknown term
  std::optional<std::int64_t> Exact() const;
  bool operator==(const Tally&) const = default;
};

// The smallest and the largest possible value of a number; equal if it is exact.
struct FactRange {
  double low = 0, high = 0;

  bool IsExact() const { return low == high; }
  bool operator==(const FactRange&) const = default;
};

// An amount in three parts: with a property, without the property, and not known.
struct Split {
  Tally with_property, without_property, unknown;

  std::optional<std::int64_t> Total() const;  // absent: unknown
  // The share of `with_property` in the whole; absent if it is unknown or the whole is 0.
  std::optional<double> ExactShare() const;
  // The share with its bounds. If the whole is 0, the share is 1, because nothing lacks the property.
  FactRange Share() const;
  bool operator==(const Split&) const = default;
};

// Facts about a method, counted by Summarize() (summary.h).
struct StaticFacts {
  Split operators;    // delegated or not: nodes of delegates and portable kernels, weighted by calls
  Split macs;         // delegated or not: MACs of all instructions, each once (work.h)
  Split matrix_macs;  // with SME2 kernels or not: MACs of matrix products (kleidiai.h)
  std::int64_t matrix_operators = 0;  // number of operators that multiply matrices
  std::int64_t delegates = 0;
  Bytes planned_bytes = 0;    // size of all planned buffers; saturated
  Tally packed_weight_bytes;  // lower bound for weights that XNNPACK packs (xnn/memory_estimate.h)

  Tally AllMacs() const;
};

// Facts about a program's file, in bytes.
struct FileFacts {
  Bytes size = 0;
  Bytes delegated_bytes = 0;  // payloads and named data of delegates; shared data counts once
};

// Describes a fact for options, files, and formats.
struct FactInfo {
  enum class Unit { kShare, kCount, kBytes };
  const char* key;    // "delegated_macs"
  const char* name;   // name in reports: "delegated MACs"
  const char* limit;  // option name without dashes: "require-delegated-macs"
  const char* help;
  Unit unit;
  bool is_minimum;    // whether the limit is a minimum; otherwise it is a maximum
  bool is_file_fact;  // a fact of the file, not of each method
  double tolerance;   // relative change for the worse that is still accepted
  FactRange (*range)(const StaticFacts& facts, const FileFacts& file);

  std::string FileKey() const;  // key of the limit in files: "require_delegated_macs"
  // Parses a limit: "95%" for a share (at most 100%), "3" for a count, "2 MB" or "1.5 MiB" for bytes. Absent
  // if it is invalid. ValidValues() describes the valid values.
  std::optional<double> Parse(const std::string& text) const;
  const char* ValidValues() const;
};

// All facts, in the order in which they are shown.
std::span<const FactInfo> AllFacts();

// The limits that a program must meet, by FactInfo::key. Facts without an entry are not checked.
struct StaticLimits {
  std::map<std::string, double> limits;      // minimum or maximum of the fact
  std::map<std::string, double> tolerances;  // replace the tolerances of the facts
};

// Parses a percentage: "2%" is 0.02, "-5 %" is −0.05. Absent if the text is not a percentage.
std::optional<double> ParsePercent(const std::string& text);

}  // namespace etprof
