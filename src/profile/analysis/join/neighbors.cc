#include "profile/analysis/join/neighbors.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "format/program/dataflow.h"

namespace etprof {
namespace {

// The origin of a value: an operator of the call (index into AlignedCall::operators), a value of the method
// that is passed to the call, or (both absent) not known.
struct ValueOrigin {
  std::optional<std::size_t> op, value;
  bool operator==(const ValueOrigin&) const = default;
};

// The values that pass between the operators of a call, and out of the call.
struct CallFlow {
  std::vector<std::vector<ValueOrigin>> read;                // inputs by operator, without constants
  std::vector<std::pair<std::size_t, ValueOrigin>> outputs;  // index into Method::values, and its origin
};

// The source of a value within a part of an alignment: an operator of the part, a value from before the part,
// or not known.
struct Source {
  std::optional<std::size_t> op;
  std::optional<std::uint32_t> id;
  bool operator==(const Source&) const = default;
};

// The role of an operator in one alternative of a part.
struct Role {
  enum class Kind : std::uint8_t { kUnknown, kNode, kInserted } kind = Kind::kUnknown;
  std::vector<Source> read;  // inputs if kNode: distinct, without constants, in the order of the arguments
  bool operator==(const Role&) const = default;
};

struct PartFlow {
  std::map<std::size_t, Role> roles;        // keyed by operator
  std::map<std::uint32_t, Source> written;  // keyed by value
};

// Erases entries of `entries` that are missing or different in `other`.
template <typename Key, typename Value>
void EraseDifferences(std::map<Key, Value>& entries, const std::map<Key, Value>& other) {
  std::erase_if(entries, [&](const auto& entry) {
    const auto found = other.find(entry.first);
    return found == other.end() || found->second != entry.second;
  });
}

// Computes the dataflow on which all best alignments agree. An operator that XNNPACK inserted is placed
// between the producer and the consumer of the value that it converts.
class CallFlowTracer {
 public:
  explicit CallFlowTracer(const AlignedCall& call)
      : call_(call), graph_(*call.graph), inserted_(call.operators.size(), false) {
    result_.read.resize(call.operators.size());
  }

  CallFlow Run() {
    for (const std::uint32_t id : graph_.inputs)
      origins_[id] = {std::nullopt, FindArgument(*graph_.Find(id), *call_.instruction)};
    for (const Alignment::Part& part : call_.alignment.parts) FollowPart(part);
    for (std::size_t op = 0; op < inserted_.size(); ++op) {
      if (inserted_[op] && (op == 0 || !inserted_[op - 1])) ConnectInserted(op);
    }
    for (const std::uint32_t id : graph_.outputs) {
      if (const auto value = FindArgument(*graph_.Find(id), *call_.instruction))
        result_.outputs.emplace_back(*value, FindOrigin(id));
    }
    return std::move(result_);
  }

 private:
  ValueOrigin FindOrigin(std::uint32_t id) const {
    const auto found = origins_.find(id);
    return found == origins_.end() ? ValueOrigin{} : found->second;
  }
  ValueOrigin FindOrigin(const Source& source) const {
    return source.id ? FindOrigin(*source.id) : ValueOrigin{source.op, std::nullopt};
  }

  void FollowPart(const Alignment::Part& part) {
    if (part.alternatives.empty()) return;
    PartFlow agreed = FollowAlternative(part.alternatives.front());
    for (std::size_t alternative = 1; alternative < part.alternatives.size(); ++alternative) {
      const PartFlow other = FollowAlternative(part.alternatives[alternative]);
      EraseDifferences(agreed.roles, other.roles);
      EraseDifferences(agreed.written, other.written);
    }
    for (const auto& [op, role] : agreed.roles) {
      inserted_[op] = role.kind == Role::Kind::kInserted;
      for (const Source& source : role.read) result_.read[op].push_back(FindOrigin(source));
    }
    std::map<std::uint32_t, ValueOrigin> written;
    for (const auto& [id, source] : agreed.written) written[id] = FindOrigin(source);
    for (const auto& [id, origin] : written) origins_[id] = origin;
  }

  PartFlow FollowAlternative(const std::vector<AlignmentStep>& alternative) const {
    PartFlow flow;
    const auto find_source = [&](std::uint32_t id) {
      const auto found = flow.written.find(id);
      return found == flow.written.end() ? Source{std::nullopt, id} : found->second;
    };
    for (const AlignmentStep& step : alternative) {
      if (!step.node) {
        flow.roles[step.op].kind = step.explained ? Role::Kind::kInserted : Role::Kind::kUnknown;
        continue;
      }
      const XnnNode& node = graph_.nodes[*step.node];
      Source writer;
      if (step.count > 0) {
        Role& role = flow.roles[step.op];
        role.kind = Role::Kind::kNode;
        for (const std::uint32_t id : FindDataflow({*step.node}, graph_).read) {
          if (graph_.Find(id)->constant) continue;
          const Source source = find_source(id);
          if (std::ranges::find(role.read, source) == role.read.end()) role.read.push_back(source);
        }
        for (std::size_t i = 1; i < step.count; ++i)
          flow.roles[step.op + i] = {Role::Kind::kNode, {{step.op + i - 1, std::nullopt}}};
        writer.op = step.op + step.count - 1;
      } else if (step.explained && !node.inputs.empty()) {
        writer = find_source(node.inputs[0]);  // a fused node's output has the source of its input
      }
      for (const std::uint32_t id : node.outputs) flow.written[id] = writer;
    }
    return flow;
  }

  // Connects consecutive operators that XNNPACK inserted, from `first` on. They convert an input of the next
  // operator, or the output of the previous operator if there is no next.
  void ConnectInserted(std::size_t first) {
    std::size_t next = first;
    while (next < inserted_.size() && inserted_[next]) ++next;
    if (next == inserted_.size()) return ConnectInsertedAtEnd(first);
    for (std::size_t op = first; op < next; ++op) {
      ValueOrigin* input = FindConvertedInput(first, op, next);
      if (input == nullptr) continue;
      result_.read[op] = {*input};
      *input = {op, std::nullopt};
    }
  }

  // The input of `next` that `op` converts; null: not known. XNNPACK packs the first factor of a product
  // (xnn_insert_pack_lh_node of its subgraph.c). For other inserted operators, the input is known if it is
  // the only input of `next`, and comes from the operator before `op` (or `first` is 0).
  ValueOrigin* FindConvertedInput(std::size_t first, std::size_t op, std::size_t next) {
    std::vector<ValueOrigin>& inputs = result_.read[next];
    if (inputs.empty()) return nullptr;
    if (call_.stems[op] == "Pack LH") return &inputs.front();
    const bool is_from_previous = first == 0 || (inputs.front().op && *inputs.front().op + 1 >= first);
    return inputs.size() == 1 && is_from_previous ? &inputs.front() : nullptr;
  }

  void ConnectInsertedAtEnd(std::size_t first) {
    if (first == 0) return;
    const std::size_t last_regular = first - 1;
    std::vector<std::uint32_t> outputs;
    for (const std::uint32_t id : graph_.outputs) {
      if (FindOrigin(id).op == last_regular) outputs.push_back(id);
    }
    if (outputs.size() != 1) return;
    for (std::size_t op = first; op < inserted_.size(); ++op)
      result_.read[op] = {ValueOrigin{op - 1, std::nullopt}};
    origins_[outputs.front()].op = inserted_.size() - 1;
  }

  const AlignedCall& call_;
  const XnnGraph& graph_;
  std::map<std::uint32_t, ValueOrigin> origins_;
  std::vector<bool> inserted_;  // indexed by operator: inserted in all best alignments
  CallFlow result_;
};

// Follows the values of a method through the runs of a profile.
class Connector {
 public:
  Connector(const Profile& profile, const Program& program, const Method& method,
            const std::vector<AlignedCall>& calls, std::vector<OperatorSource>& operators)
      : profile_(profile), calls_(calls), operators_(operators), dataflow_(FindDataflow(method, program)) {
    std::set<const Instruction*> followed;
    for (const AlignedCall& call : calls) {
      for (const std::size_t op : call.operators) call_index_[op] = flows_.size();
      flows_.push_back(CallFlowTracer(call).Run());
      followed.insert(call.instruction);
    }
    for (std::size_t i = 0; i < method.instructions.size(); ++i) {
      const Instruction& instruction = method.instructions[i];
      instructions_[{instruction.chain, instruction.index}] = i;
      const std::vector<std::size_t>& written = dataflow_.instructions[i].written;
      if (instruction.kind != Instruction::Kind::kKernel && !followed.contains(&instruction))
        untracked_values_.insert(written.begin(), written.end());
    }
  }

  void Run() {
    for (const std::vector<std::int32_t>& layout : profile_.layouts) FollowRun(layout);
    for (OperatorSource& source : operators_) {
      for (std::vector<std::size_t>* list : {&source.producers, &source.consumers}) {
        std::ranges::sort(*list);
        list->erase(std::unique(list->begin(), list->end()), list->end());
      }
    }
  }

 private:
  // Operators end in execution order, so a value is written before it is read.
  void FollowRun(const std::vector<std::int32_t>& layout) {
    written_by_.clear();
    std::set<std::size_t> called;
    for (const std::int32_t event : layout) {
      if (event < 0) continue;
      const auto op = static_cast<std::size_t>(event);
      if (operators_[op].join == OperatorSource::Join::kKernel) {
        FollowKernel(op);
      } else if (const auto call = call_index_.find(op); call != call_index_.end()) {
        if (called.insert(call->second).second) FollowCall(call->second);
      }
    }
  }

  void FollowKernel(std::size_t op) {
    const OperatorKey& key = profile_.operators[op].key;
    const auto instruction = instructions_.find({key.chain, key.instruction});
    if (instruction == instructions_.end()) return;
    const ReadWriteSet<std::size_t>& flow = dataflow_.instructions[instruction->second];
    for (const std::size_t value : flow.read) ConnectWriter(value, op);
    for (const std::size_t value : flow.written) written_by_[value] = op;
  }

  void FollowCall(std::size_t index) {
    const AlignedCall& call = calls_[index];
    const CallFlow& flow = flows_[index];
    for (std::size_t i = 0; i < call.operators.size(); ++i) {
      for (const ValueOrigin& origin : flow.read[i]) {
        if (origin.op) Connect(call.operators[*origin.op], call.operators[i]);
        if (origin.value) ConnectWriter(*origin.value, call.operators[i]);
      }
    }
    std::map<std::size_t, std::optional<std::size_t>> written;
    for (const auto& [value, origin] : flow.outputs) {
      if (origin.op) written[value] = call.operators[*origin.op];
      if (origin.value) written[value] = FindWriter(*origin.value);
      if (!origin.op && !origin.value) written[value] = std::nullopt;
    }
    for (const auto& [value, op] : written) {
      written_by_.erase(value);
      if (op) written_by_[value] = *op;
    }
  }

  std::optional<std::size_t> FindWriter(std::size_t value) const {
    const std::size_t holder = dataflow_.BackingValue(value);
    const auto found = written_by_.find(holder);
    if (found == written_by_.end() || untracked_values_.contains(holder)) return std::nullopt;
    return found->second;
  }

  void ConnectWriter(std::size_t value, std::size_t reader) {
    if (const auto writer = FindWriter(value)) Connect(*writer, reader);
  }

  void Connect(std::size_t writer, std::size_t reader) {
    if (writer == reader) return;
    operators_[writer].consumers.push_back(reader);
    operators_[reader].producers.push_back(writer);
  }

  const Profile& profile_;
  const std::vector<AlignedCall>& calls_;
  std::vector<OperatorSource>& operators_;
  MethodDataflow dataflow_;
  std::map<std::pair<int, int>, std::size_t> instructions_;  // from chain and index to position in the method
  std::set<std::size_t> untracked_values_;         // values that moves or untraceable calls may write
  std::vector<CallFlow> flows_;                    // indexed like calls_
  std::map<std::size_t, std::size_t> call_index_;  // from operator to index into calls_
  std::map<std::size_t, std::size_t> written_by_;  // keyed by value: the last writer so far in this run
};

}  // namespace

void ConnectNeighbors(const Profile& profile, const Program& program, const Method& method,
                      const std::vector<AlignedCall>& calls, std::vector<OperatorSource>& operators) {
  Connector(profile, program, method, calls, operators).Run();
}

}  // namespace etprof
