#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "analysis/profile.h"
#include "compare/program_change.h"
#include "core/units.h"
#include "program/program.h"
#include "program/source/source_map.h"

namespace etprof {

// Both programs' value of one thing: a text, "" where a side has none, or a number, absent where it has none.
struct ProgramProperty {
  enum class Unit { kText, kBytes, kMacs, kCount };
  using Value = std::variant<std::monostate, std::string, std::int64_t>;
  std::string name;
  Unit unit = Unit::kText;
  Value baseline, candidate;
};

// An operator that only one program has, or that changed.
struct OperatorDifference {
  ProgramChange change;
  std::string line;  // of the model's source, "model.py:12", of the candidate where it has it; "": not known
  std::string why_portable;  // why the candidate does not delegate it: one clause; "": it does, or not known
  struct Side {
    std::optional<std::int64_t> macs = {};
    std::optional<Bytes> bytes = {};  // compulsory traffic (program/work.h)
    std::optional<double> ns = {};    // mean self time of an inference
  };
  Side baseline = {}, candidate = {};
};

// A delegate that the other program has not, or has with other borders: its counterpart there is another one
// in the list.
struct DelegateDifference {
  bool in_baseline = true;  // else in the candidate
  std::string backend;
  std::size_t nodes = 0;
  std::string first, last;  // "stem Conv2d 3→8 3x3"
};

// The weights of an operator that both programs have.
struct WeightDifference {
  std::string name;  // of the operator
  Bytes baseline_bytes = 0, candidate_bytes = 0;
};

struct MethodDiff {
  std::string name;
  bool in_baseline = true, in_candidate = true;  // of one program alone nothing else is said
  bool dynamic = false;                     // shapes of either change at run time: numbers are of the largest
  std::vector<ProgramProperty> properties;  // those that differ
  std::vector<OperatorDifference> operators;
  std::size_t matched = 0;                    // pairs of operators
  std::size_t renamed = 0;                    // of them, with another module's path, wrappers' prefixes apart
  std::vector<DelegateDifference> delegates;  // where they differ
  std::vector<WeightDifference> weights;      // other contents
  std::size_t equal_weights = 0;              // operators with weights of equal contents
  std::size_t unknown_weights = 0;            // of which it is not known
  struct Time {
    double ns = 0;  // Method::execute
    // Of operators that are in both and did not change, and of what is no operator's: overheads, what XNNPACK
    // inserted. With those of `operators` it is the whole.
    double rest_ns = 0;
  };
  std::optional<Time> baseline, candidate;  // absent where a side was not measured
};

struct ProgramDiff {
  std::vector<ProgramProperty> properties;  // of the files: those that differ
  std::vector<MethodDiff> methods;          // baseline's, then those of the candidate alone
  bool same_bytes = false;

  // Whether anything that is compared differs; the bytes may differ all the same.
  bool IsEmpty() const;
};

// One side. Sources and profiles may be null: the latter are of the methods that were measured, joined to
// this program.
struct DiffSide {
  const Program* program = nullptr;
  const SourceMap* sources = nullptr;
  std::vector<const Profile*> profiles;
};

ProgramDiff DiffPrograms(const DiffSide& baseline, const DiffSide& candidate);

}  // namespace etprof
