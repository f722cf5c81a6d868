#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "format/program/program.h"
#include "format/program/static_facts.h"
#include "format/program/xnn/kleidiai.h"

namespace etprof {

// Names with their number of occurrences: most frequent first, then by name.
using Counts = std::vector<std::pair<std::string, std::size_t>>;

// The contents of a delegate of a method. Absent members: the backend's payload cannot be read.
struct DelegateSummary {
  std::size_t calls = 0;             // instructions that call the delegate
  std::optional<std::int64_t> macs;  // per call (work.h)
  std::optional<std::size_t> nodes;
  Counts node_types;
  std::optional<Bytes> constants;         // weights, biases and scales; shared data counts in each delegate
  std::vector<std::string> tensor_types;  // distinct types of computed tensors, sorted
  std::vector<std::string> weight_types;  // distinct types of constants, sorted
};

// A step of a method: a call of a delegate, or consecutive instructions that are not delegated.
struct Step {
  std::size_t first = 0, last = 0;      // indices into Method::instructions
  std::optional<std::size_t> delegate;  // index into Method::delegates
  Counts instruction_counts;            // if not delegated: operators and runtime instructions
  std::optional<std::int64_t> macs;
};

// A portable kernel, and the reason why it is not delegated.
struct PortableOperator {
  std::string name;    // "aten::add.out"
  std::string reason;  // one clause; "": unknown (delegable.h). A kernel has an entry per reason
  std::size_t calls = 0;
  std::size_t between_delegates = 0;  // calls with a delegate call before and after them
  std::optional<std::int64_t> macs;   // MACs of all its calls

  static void Describe(auto& v) {
    v("name", &PortableOperator::name, {.meaning = "name and overload: \"aten::add.out\""});
    v("calls", &PortableOperator::calls, {.meaning = "instructions that call it", .min = 1});
    v("macs", &PortableOperator::macs, {.meaning = "of all calls"});
    v("why_not_delegated", &PortableOperator::reason, {.meaning = "null: not known", .or_null = true});
    v("between_delegates", &PortableOperator::between_delegates,
      {.meaning = "calls with a delegate before them and one after"});
  }
};

// Nodes and portable kernels that multiply matrices, by the microkernels that they would run on an Arm CPU
// with SME2 (kleidiai.h).
struct KleidiaiCount {
  KleidiaiUsage usage;
  std::size_t count = 0;
  std::optional<std::int64_t> macs;
};

struct MethodSummary {
  Split traffic;                           // bytes that operators read and write at least (work.h), per call
  std::vector<DelegateSummary> delegates;  // one per entry of Method::delegates
  std::vector<Step> steps;
  std::vector<PortableOperator> operators;  // most frequent first, then by name
  std::vector<KleidiaiCount> kleidiai;      // KleidiAI's kernels first, then by descending MACs
  StaticFacts facts;
  bool has_branches = false;  // the method branches, so not every instruction runs once
  bool dynamic = false;       // a tensor's shape is an upper bound, and so are the MACs
};

MethodSummary Summarize(const Method& method, const Program& program);

// The size of the payloads of all delegates, where shared payloads count once. Saturated.
Bytes PayloadBytes(const Program& program);
// The size of the FlatBuffer without the payloads and constants in it.
Bytes InstructionBytes(const Program& program);
// The size of the segments that contain named data. Saturated.
Bytes NamedDataBytes(const Program& program);
FileFacts GetFileFacts(const Program& program);

// The text of a stored number, truth value, or text: "512", "true", "0.5". Absent for other values.
std::optional<std::string> ConstantText(const ProgramValue& value);

// part / whole; absent if one is unknown or the whole is 0.
std::optional<double> Share(std::optional<std::int64_t> part, std::optional<std::int64_t> whole);

}  // namespace etprof
