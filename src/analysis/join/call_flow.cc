#include "analysis/join/call_flow.h"

#include <algorithm>
#include <map>

#include "program/dataflow.h"

namespace etprof {
namespace {

// Within a part of an alignment: an operator of it, a value that was there before it, or neither.
struct Source {
  std::optional<std::size_t> op;
  std::optional<std::uint32_t> id;
  bool operator==(const Source&) const = default;
};

// What an operator is in one way through a part.
struct Role {
  enum class Kind : std::uint8_t { kUnknown, kNode, kInserted } kind = Kind::kUnknown;
  std::vector<Source> read;  // kNode: each once, in the order of the arguments, without constants
  bool operator==(const Role&) const = default;
};

struct WayFlow {
  std::map<std::size_t, Role> roles;        // by operator
  std::map<std::uint32_t, Source> written;  // by value
};

// Drops from `known` what `other` has not, or has otherwise.
template <typename Key, typename Value>
void KeepAgreed(std::map<Key, Value>& known, const std::map<Key, Value>& other) {
  std::erase_if(known, [&](const auto& entry) {
    const auto found = other.find(entry.first);
    return found == other.end() || found->second != entry.second;
  });
}

class Flow {
 public:
  explicit Flow(const AlignedCall& call)
      : call_(call), graph_(*call.graph), inserted_(call.operators.size(), false) {
    result_.read.resize(call.operators.size());
  }

  CallFlow Run() {
    for (const std::uint32_t id : graph_.inputs)
      origins_[id] = {std::nullopt, ArgumentOf(*graph_.Find(id), *call_.instruction)};
    for (const Alignment::Part& part : call_.alignment.parts) FollowPart(part);
    for (std::size_t op = 0; op < inserted_.size(); ++op) {
      if (inserted_[op] && (op == 0 || !inserted_[op - 1])) PlaceInserted(op);
    }
    for (const std::uint32_t id : graph_.outputs) {
      if (const auto value = ArgumentOf(*graph_.Find(id), *call_.instruction))
        result_.given.emplace_back(*value, OriginOf(id));
    }
    return std::move(result_);
  }

 private:
  Origin OriginOf(std::uint32_t id) const {
    const auto found = origins_.find(id);
    return found == origins_.end() ? Origin{} : found->second;
  }
  Origin OriginOf(const Source& source) const {
    return source.id ? OriginOf(*source.id) : Origin{source.op, std::nullopt};
  }

  void FollowPart(const Alignment::Part& part) {
    if (part.ways.empty()) return;
    WayFlow agreed = Follow(part.ways.front());
    for (std::size_t way = 1; way < part.ways.size(); ++way) {
      const WayFlow other = Follow(part.ways[way]);
      KeepAgreed(agreed.roles, other.roles);
      KeepAgreed(agreed.written, other.written);
    }
    for (const auto& [op, role] : agreed.roles) {
      inserted_[op] = role.kind == Role::Kind::kInserted;
      for (const Source& source : role.read) result_.read[op].push_back(OriginOf(source));
    }
    std::map<std::uint32_t, Origin> written;
    for (const auto& [id, source] : agreed.written) written[id] = OriginOf(source);
    for (const auto& [id, origin] : written) origins_[id] = origin;
  }

  WayFlow Follow(const std::vector<AlignmentStep>& way) const {
    WayFlow flow;
    const auto source_of = [&](std::uint32_t id) {
      const auto found = flow.written.find(id);
      return found == flow.written.end() ? Source{std::nullopt, id} : found->second;
    };
    for (const AlignmentStep& step : way) {
      if (!step.node) {
        flow.roles[step.op].kind = step.explained ? Role::Kind::kInserted : Role::Kind::kUnknown;
        continue;
      }
      const XnnNode& node = graph_.nodes[*step.node];
      Source writer;
      if (step.count > 0) {
        Role& role = flow.roles[step.op];
        role.kind = Role::Kind::kNode;
        for (const std::uint32_t id : DataflowOf({*step.node}, graph_).read) {
          if (graph_.Find(id)->constant) continue;
          const Source source = source_of(id);
          if (std::ranges::find(role.read, source) == role.read.end()) role.read.push_back(source);
        }
        for (std::size_t more = 1; more < step.count; ++more)
          flow.roles[step.op + more] = {Role::Kind::kNode, {{step.op + more - 1, std::nullopt}}};
        writer.op = step.op + step.count - 1;
      } else if (step.explained && !node.inputs.empty()) {
        writer = source_of(node.inputs[0]);  // it gives on what it takes
      }
      for (const std::uint32_t id : node.outputs) flow.written[id] = writer;
    }
    return flow;
  }

  // Operators that XNNPACK inserted, one after the other from `first` on. They make an input ready for the
  // next operator, or the output of the one before where there is no next.
  void PlaceInserted(std::size_t first) {
    std::size_t next = first;
    while (next < inserted_.size() && inserted_[next]) ++next;
    if (next == inserted_.size()) return PlaceBehind(first);
    for (std::size_t op = first; op < next; ++op) {
      Origin* input = MadeReady(first, op, next);
      if (input == nullptr) continue;
      result_.read[op] = {*input};
      *input = {op, std::nullopt};
    }
  }

  // The input of `next` that `op` makes ready; null: not known. XNNPACK packs the first factor of a product
  // (xnn_insert_pack_lh_node of its subgraph.c). What else it inserts is known where the next operator has
  // one input and takes that from the operator before, so that it stands between the two in either case.
  Origin* MadeReady(std::size_t first, std::size_t op, std::size_t next) {
    std::vector<Origin>& inputs = result_.read[next];
    if (inputs.empty()) return nullptr;
    if (call_.stems[op] == "Pack LH") return &inputs.front();
    const bool from_before = first == 0 || (inputs.front().op && *inputs.front().op + 1 >= first);
    return inputs.size() == 1 && from_before ? &inputs.front() : nullptr;
  }

  void PlaceBehind(std::size_t first) {
    if (first == 0) return;
    const std::size_t before = first - 1;
    std::vector<std::uint32_t> outputs;
    for (const std::uint32_t id : graph_.outputs) {
      if (OriginOf(id).op == before) outputs.push_back(id);
    }
    if (outputs.size() != 1) return;
    for (std::size_t op = first; op < inserted_.size(); ++op)
      result_.read[op] = {Origin{op - 1, std::nullopt}};
    origins_[outputs.front()].op = inserted_.size() - 1;
  }

  const AlignedCall& call_;
  const XnnGraph& graph_;
  std::map<std::uint32_t, Origin> origins_;
  std::vector<bool> inserted_;  // by operator: in all of the best alignments
  CallFlow result_;
};

}  // namespace

CallFlow FlowOf(const AlignedCall& call) { return Flow(call).Run(); }

}  // namespace etprof
