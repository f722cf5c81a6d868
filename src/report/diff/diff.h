#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/units.h"
#include "format/program/program.h"
#include "format/program/source/source_map.h"
#include "profile/analysis/profile.h"
#include "profile/compare/program_change.h"

namespace etprof {

// A property of both programs: a text ("": the program does not have it) or a number (absent: the program
// does not have it).
struct ProgramProperty {
  enum class Unit { kText, kBytes, kMacs, kCount };
  using Value = std::variant<std::monostate, std::string, std::int64_t>;
  std::string name;
  Unit unit = Unit::kText;
  Value baseline, candidate;
};

// An operator that only one program has, or that changed between the programs.
struct OperatorDifference {
  ProgramChange change;
  std::string line;  // source line, "model.py:12", of the candidate if it has the operator; "": not known
  std::string portable_reason;  // one clause: why the candidate does not delegate it; "": it does, or unknown
  struct Costs {
    std::optional<std::int64_t> macs = {};
    std::optional<Bytes> bytes = {};  // compulsory traffic (format/program/work.h)
    // Mean self time per inference. Absent: not measured, or an operator ran that may be this node or
    // another.
    std::optional<double> ns = {};
  };
  Costs baseline = {}, candidate = {};
};

// A delegate that the other program lacks or delimits differently. Its counterpart in the other program is a
// separate entry.
struct DelegateDifference {
  bool in_baseline = true;  // else in the candidate
  std::string backend;
  std::size_t nodes = 0;
  std::string first, last;  // "stem Conv2d 3→8 3x3"
};

// Different weights of an operator that both programs have.
struct WeightDifference {
  std::string name;  // name of the operator
  Bytes baseline_bytes = 0, candidate_bytes = 0;
};

struct MethodDiff {
  std::string name;
  bool in_baseline = true, in_candidate = true;  // if one is false, all other members are empty
  bool dynamic = false;  // in either program, shapes change at run time; numbers refer to the largest shapes
  std::vector<ProgramProperty> properties;  // properties that differ
  std::vector<OperatorDifference> operators;
  std::size_t matched = 0;  // number of matched operators
  std::size_t renamed = 0;  // matched operators with another module path, ignoring prefixes of wrappers
  std::vector<DelegateDifference> delegates;  // delegates that differ
  std::vector<WeightDifference> weights;      // weights with different contents
  std::size_t equal_weights = 0;              // number of operators with equal weights
  std::size_t unknown_weights = 0;            // number of operators with unknown weights
  struct Time {
    double ns = 0;  // Method::execute
    // Time of unchanged operators of both programs, overheads, operators that XNNPACK inserted, and operators
    // that may be several nodes. Together with the times of `operators`, it adds up to the total.
    double unlisted_ns = 0;
  };
  std::optional<Time> baseline, candidate;  // absent: not measured
};

struct ProgramDiff {
  std::vector<ProgramProperty> properties;  // properties of the files that differ
  std::vector<MethodDiff> methods;          // methods of the baseline, then methods of only the candidate
  bool same_bytes = false;

  // Returns whether no compared property differs; the bytes may still differ.
  bool IsEmpty() const;
};

// A program with its sources and profiles, which may be null. The profiles are of measured methods and joined
// to this program.
struct DiffInput {
  const Program* program = nullptr;
  const SourceMap* sources = nullptr;
  std::vector<const Profile*> profiles;
};

ProgramDiff DiffPrograms(const DiffInput& baseline, const DiffInput& candidate);

}  // namespace etprof
