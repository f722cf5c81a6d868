#include "analysis/neighbours.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "program/dataflow.h"

namespace etprof {
namespace {

// Follows the values of a method through its runs.
class Connector {
 public:
  Connector(const Profile& profile, const Method& method, const std::vector<AlignedCall>& calls,
            std::vector<OperatorSource>& operators)
      : profile_(profile), method_(method), calls_(calls), operators_(operators) {
    for (const AlignedCall& call : calls) {
      for (const std::size_t op : call.operators) call_of_[op] = flows_.size();
      flows_.push_back(FlowOf(call));
      for (const auto& [value, origin] : flows_.back().given) written_.insert(value);
      followed_.insert(call.instruction);
    }
    written_.insert(method.inputs.begin(), method.inputs.end());
    for (const Instruction& instruction : method.instructions) {
      instructions_[{instruction.chain, instruction.index}] = &instruction;
      const std::vector<std::size_t> values = DataflowOf(instruction, method_).written;
      written_.insert(values.begin(), values.end());
    }
    for (const Instruction& instruction : method.instructions) NoteHidden(instruction);
  }

  void Run() {
    for (const std::vector<std::int32_t>& layout : profile_.layouts) FollowRun(layout);
    for (OperatorSource& source : operators_) {
      for (std::vector<std::size_t>* list : {&source.producers, &source.consumers}) {
        std::sort(list->begin(), list->end());
        list->erase(std::unique(list->begin(), list->end()), list->end());
      }
    }
  }

 private:
  // The bytes of a planned buffer that a tensor has.
  struct Place {
    std::uint32_t buffer = 0;
    std::uint64_t offset = 0;
    Bytes bytes = 0;
    auto operator<=>(const Place&) const = default;
  };
  std::optional<Place> PlaceOf(std::size_t value) const {
    const std::optional<ProgramTensor>& tensor = method_.values[value].tensor;
    if (!tensor || !tensor->memory_id || !tensor->memory_offset) return std::nullopt;
    const std::optional<Bytes> bytes = BytesOf(tensor->type, tensor->shape);
    if (!bytes) return std::nullopt;
    return Place{*tensor->memory_id, *tensor->memory_offset, *bytes};
  }

  // What a move writes, and a delegate that could not be followed: any of its arguments that nobody else
  // does.
  void NoteHidden(const Instruction& instruction) {
    std::vector<std::size_t> values;
    if (instruction.kind == Instruction::Kind::kMove && !instruction.arguments.empty()) {
      values = {instruction.arguments.back()};
    } else if (instruction.kind == Instruction::Kind::kDelegate && !followed_.contains(&instruction)) {
      for (const std::size_t value : instruction.arguments) {
        if (!written_.contains(value)) values.push_back(value);
      }
    }
    for (const std::size_t value : values) {
      written_.insert(value);
      hidden_.insert(value);
      if (const auto place = PlaceOf(value)) hidden_places_.insert(*place);
    }
  }

  // Operators end in the order in which they ran: what one reads was written before.
  void FollowRun(const std::vector<std::int32_t>& layout) {
    written_by_.clear();
    placed_by_.clear();
    std::set<std::size_t> called;
    for (const std::int32_t event : layout) {
      if (event < 0) continue;
      const auto op = static_cast<std::size_t>(event);
      if (operators_[op].join == OperatorSource::Join::kKernel) {
        FollowKernel(op);
      } else if (const auto call = call_of_.find(op); call != call_of_.end()) {
        if (called.insert(call->second).second) FollowCall(call->second);
      }
    }
  }

  void FollowKernel(std::size_t op) {
    const OperatorKey& key = profile_.operators[op].key;
    const auto instruction = instructions_.find({key.chain, key.instruction});
    if (instruction == instructions_.end()) return;
    const ReadAndWritten<std::size_t> flow = DataflowOf(*instruction->second, method_);
    for (const std::size_t value : flow.read) ConnectWriter(value, op);
    for (const std::size_t value : flow.written) Write(value, op);
  }

  void FollowCall(std::size_t index) {
    const AlignedCall& call = calls_[index];
    const CallFlow& flow = flows_[index];
    for (std::size_t i = 0; i < call.operators.size(); ++i) {
      for (const Origin& origin : flow.read[i]) {
        if (origin.op) Connect(call.operators[*origin.op], call.operators[i]);
        if (origin.value) ConnectWriter(*origin.value, call.operators[i]);
      }
    }
    std::map<std::size_t, std::optional<std::size_t>> written;
    for (const auto& [value, origin] : flow.given) {
      if (origin.op) written[value] = call.operators[*origin.op];
      if (origin.value) written[value] = WriterOf(*origin.value);
      if (!origin.op && !origin.value) written[value] = std::nullopt;
    }
    for (const auto& [value, op] : written) Write(value, op);
  }

  void Write(std::size_t value, std::optional<std::size_t> op) {
    const bool known = op && !hidden_.contains(value);
    Set(written_by_, value, known ? op : std::nullopt);
    if (const auto place = PlaceOf(value)) Set(placed_by_, *place, known ? op : std::nullopt);
  }

  template <typename Key>
  static void Set(std::map<Key, std::size_t>& map, const Key& key, std::optional<std::size_t> op) {
    if (op) {
      map[key] = *op;
    } else {
      map.erase(key);
    }
  }

  // ExecuTorch takes views out (exir/passes/replace_view_copy_with_view_pass.py): a tensor that nothing
  // writes is one of what was last written to its place.
  std::optional<std::size_t> WriterOf(std::size_t value) const {
    if (const auto found = written_by_.find(value); found != written_by_.end()) return found->second;
    if (written_.contains(value)) return std::nullopt;
    const std::optional<Place> place = PlaceOf(value);
    if (!place || hidden_places_.contains(*place)) return std::nullopt;
    const auto found = placed_by_.find(*place);
    return found == placed_by_.end() ? std::nullopt : std::optional(found->second);
  }

  void ConnectWriter(std::size_t value, std::size_t reader) {
    if (const auto writer = WriterOf(value)) Connect(*writer, reader);
  }

  void Connect(std::size_t writer, std::size_t reader) {
    if (writer == reader) return;
    operators_[writer].consumers.push_back(reader);
    operators_[reader].producers.push_back(writer);
  }

  const Profile& profile_;
  const Method& method_;
  const std::vector<AlignedCall>& calls_;
  std::vector<OperatorSource>& operators_;
  std::map<std::pair<int, int>, const Instruction*> instructions_;
  std::set<const Instruction*> followed_;  // calls
  std::set<std::size_t> written_;          // values that an instruction writes, or may, and the inputs
  // Of these, and where they are: what moves and delegates without a graph write, whenever that is.
  std::set<std::size_t> hidden_;
  std::set<Place> hidden_places_;
  std::vector<CallFlow> flows_;                 // as calls_
  std::map<std::size_t, std::size_t> call_of_;  // operator: in calls_
  // In this run so far, the last operator that wrote a value, and a place.
  std::map<std::size_t, std::size_t> written_by_;
  std::map<Place, std::size_t> placed_by_;
};

}  // namespace

void ConnectNeighbours(const Profile& profile, const Method& method, const std::vector<AlignedCall>& calls,
                       std::vector<OperatorSource>& operators) {
  Connector(profile, method, calls, operators).Run();
}

}  // namespace etprof
