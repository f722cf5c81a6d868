#include "profile/analysis/join/neighbours.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "format/program/dataflow.h"

namespace etprof {
namespace {

// Follows the values of a method through the runs of a profile.
class Connector {
 public:
  Connector(const Profile& profile, const Program& program, const Method& method,
            const std::vector<AlignedCall>& calls, std::vector<OperatorSource>& operators)
      : profile_(profile), calls_(calls), operators_(operators), dataflow_(FindDataflow(method, program)) {
    std::set<const Instruction*> followed;
    for (const AlignedCall& call : calls) {
      for (const std::size_t op : call.operators) call_index_[op] = flows_.size();
      flows_.push_back(ComputeCallFlow(call));
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
  std::map<std::pair<int, int>, std::size_t>
      instructions_;                               // from chain and index to position in Method::instructions
  std::set<std::size_t> untracked_values_;         // values that moves or untraceable calls may write
  std::vector<CallFlow> flows_;                    // by calls_
  std::map<std::size_t, std::size_t> call_index_;  // from operator to index into calls_
  std::map<std::size_t, std::size_t> written_by_;  // by value: the last writer so far in this run
};

}  // namespace

void ConnectNeighbors(const Profile& profile, const Program& program, const Method& method,
                      const std::vector<AlignedCall>& calls, std::vector<OperatorSource>& operators) {
  Connector(profile, program, method, calls, operators).Run();
}

}  // namespace etprof
