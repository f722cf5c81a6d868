#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "program/program.h"
#include "program/static_facts.h"
#include "program/xnn/kleidiai.h"

namespace etprof {

// Names with how often each occurs: the most frequent first, then by name.
using Counts = std::vector<std::pair<std::string, std::size_t>>;

// What one delegate of a method holds. Without a value: its backend's payload is not one that is read.
struct DelegateSummary {
  std::size_t calls = 0;             // instructions that call it
  std::optional<std::int64_t> macs;  // of one call (work.h)
  std::optional<std::size_t> nodes;
  Counts node_types;
  std::optional<Bytes> constants;         // weights, biases and scales; what delegates share counts in each
  std::vector<std::string> tensor_types;  // of what it computes, each once, in order
  std::vector<std::string> weight_types;  // of constants, likewise
};

// A method's instructions in order. Neighbors that are not delegated are one step.
struct Step {
  std::size_t first = 0, last = 0;      // in Method::instructions
  std::optional<std::size_t> delegate;  // in Method::delegates
  Counts what;                          // not delegated: operators and the runtime's own instructions
  std::optional<std::int64_t> macs;
};

// A portable kernel, and why it is not delegated.
struct PortableOperator {
  std::string name;  // "aten::add.out"
  std::string why;   // one clause; "": not known (delegable.h). Each is an entry of its own
  std::size_t calls = 0;
  std::size_t between = 0;           // of them, with a delegate before them and one after
  std::optional<std::int64_t> macs;  // of all its calls

  static void Describe(auto& v) {
    v("name", &PortableOperator::name, {.meaning = "name and overload: \"aten::add.out\""});
    v("calls", &PortableOperator::calls, {.meaning = "instructions that call it", .least = 1});
    v("macs", &PortableOperator::macs, {.meaning = "of all calls"});
    v("why_not_delegated", &PortableOperator::why, {.meaning = "null: not known", .or_null = true});
    v("between_delegates", &PortableOperator::between,
      {.meaning = "calls with a delegate before them and one after"});
  }
};

// The nodes and portable kernels that multiply matrices, by which microkernels they would run on an Arm CPU
// with SME2 (kleidiai.h).
struct KleidiaiCount {
  KleidiaiUse use;
  std::size_t count = 0;
  std::optional<std::int64_t> macs;
};

struct MethodSummary {
  std::vector<DelegateSummary> delegates;  // as Method::delegates
  std::vector<Step> steps;
  std::vector<PortableOperator> operators;  // the most frequent first, then by name
  std::vector<KleidiaiCount> kleidiai;      // by `use`: KleidiAI's first, then by falling MACs
  StaticFacts facts;
  bool jumps = false;    // it has a branch, so that not every instruction runs once
  bool dynamic = false;  // a tensor's shape is an upper bound, and so are MACs
};

MethodSummary Summarize(const Method& method, const Program& program);

// Of all delegates, what is shared once; of the segments that hold named data. At most the largest Bytes.
Bytes PayloadBytes(const Program& program);
// The FlatBuffer without the payloads and constants that lie within it.
Bytes InstructionBytes(const Program& program);
Bytes NamedDataBytes(const Program& program);
FileFacts FactsOfFile(const Program& program);

// "512", "true", "0.5", a text: what the program stores of a number, truth value, or text. Absent: it stores
// none.
std::optional<std::string> ConstantText(const ProgramValue& value);

// The share of `part` in `whole`, of what both are known and not 0.
std::optional<double> Share(std::optional<std::int64_t> part, std::optional<std::int64_t> whole);

}  // namespace etprof
