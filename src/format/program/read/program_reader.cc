#include "format/program/read/program_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "core/file/file_kind.h"
#include "core/text/text.h"
#include "format/program/read/bundled_program.h"
#include "format/program/read/source.h"
#include "format/program/xnn/xnn_graph.h"
#include "program_generated.h"

namespace etprof {
namespace {

namespace pte = executorch_flatbuffer;

using Kind = ProgramValue::Kind;
constexpr std::size_t kMaxDimensions = 16;      // kTensorDimensionLimit of the runtime
constexpr std::size_t kHeaderOffset = 8;        // after the root's offset and the identifier
constexpr std::uint32_t kMinHeaderBytes = 24;   // up to the offset of the first segment
constexpr std::uint32_t kFullHeaderBytes = 32;  // including the size of the segments
constexpr const char* kRemedy = "give a .pte that ExecuTorch's exporter wrote";

struct Header {
  std::uint64_t flatbuffer_bytes = 0;
  std::uint64_t segment_base = 0;
};

Error NotAProgram(const Source& source, const std::string& reason) {
  return WrongFileKind(source.bytes(), source.file(), "an ExecuTorch program", reason, 4, kRemedy);
}

void RequireContents(const Source& source) {
  if (!source.bytes().empty()) return;
  throw Error(ExitCode::kBadInput, "is empty (0 bytes)")
      .InFile(source.file())
      .Remedy("export the model again");
}

std::optional<Header> ReadHeader(const Source& source) {
  const ByteView bytes = source.bytes();
  if (bytes.size() < kHeaderOffset + kMinHeaderBytes || !HasTextAt(bytes, kHeaderOffset, "eh00"))
    return std::nullopt;
  const std::uint64_t length = LittleEndian(bytes.subspan(kHeaderOffset + 4, 4));
  if (length < kMinHeaderBytes) {
    throw source.MakeError(fmt::format("is malformed: its extended header has {} bytes", length),
                           kHeaderOffset + 4);
  }
  Header header;
  header.flatbuffer_bytes = LittleEndian(bytes.subspan(kHeaderOffset + 8, 8));
  header.segment_base = LittleEndian(bytes.subspan(kHeaderOffset + 16, 8));
  std::uint64_t end = header.flatbuffer_bytes;
  if (length >= kFullHeaderBytes && bytes.size() >= kHeaderOffset + kFullHeaderBytes &&
      header.segment_base != 0) {
    const std::uint64_t data = LittleEndian(bytes.subspan(kHeaderOffset + 24, 8));
    if (__builtin_add_overflow(header.segment_base, data, &end))
      throw source.MakeError("is malformed: its segments are larger than a file can be", kHeaderOffset + 24);
  }
  end = std::max(end, header.flatbuffer_bytes);
  if (end > bytes.size()) {
    throw source.MakeError(fmt::format("is cut short: {} of {} bytes are there", bytes.size(), end),
                           bytes.size());
  }
  if (header.segment_base != 0 && header.segment_base < header.flatbuffer_bytes)
    throw source.MakeError("is malformed: its segments begin within the program", kHeaderOffset + 16);
  return header;
}

// Reads the table of constants or initial states: a segment, and the offset of each constant in the segment.
// The first entry is reserved. Returns the size of the segment.
Bytes ReadOffsets(const Source& source, const Buffer& buffer, const pte::SubsegmentOffsets& table,
                  const Program& program) {
  const auto* offsets = table.offsets();
  if (offsets == nullptr || offsets->size() == 0) return 0;
  buffer.RequireAligned(source, *offsets);
  source.RequireSegment(table.segment_index(), program.segments.size(), "constants are", buffer.At(&table));
  const Bytes bytes = program.segments[table.segment_index()].bytes;
  for (const std::uint64_t offset : *offsets) {
    if (offset > static_cast<std::uint64_t>(bytes)) {
      throw source.MakeError(fmt::format("a constant at {} is not in its segment of {} bytes", offset, bytes),
                             buffer.At(offsets));
    }
  }
  return bytes;
}

void ReadConstants(const Source& source, const Buffer& buffer, const pte::Program& file, Program& program) {
  std::size_t entries = 0;
  if (const auto* inline_buffers = file.constant_buffer(); inline_buffers != nullptr) {
    entries = inline_buffers->size();
    for (const auto* constant : *inline_buffers) {
      if (constant->storage() != nullptr) program.inline_constant_bytes += constant->storage()->size();
    }
    program.constant_bytes += program.inline_constant_bytes;
  }
  if (const auto* table = file.constant_segment(); table != nullptr) {
    const Bytes bytes = ReadOffsets(source, buffer, *table, program);
    if (table->offsets() != nullptr && table->offsets()->size() > 0) {
      entries = table->offsets()->size();
      program.constant_bytes += bytes;
    }
  }
  program.constants = entries == 0 ? 0 : entries - 1;
  if (file.mutable_data_segments() == nullptr) return;
  for (const auto* table : *file.mutable_data_segments()) {
    program.mutable_bytes += ReadOffsets(source, buffer, *table, program);
  }
}

std::map<std::string, Bytes> ReadNamedData(Source& source, const Buffer& buffer, const pte::Program& file,
                                           Program& program) {
  std::map<std::string, Bytes> bytes;
  if (file.named_data() == nullptr) return bytes;
  for (const auto* entry : *file.named_data()) {
    source.RequireSegment(entry->segment_index(), program.segments.size(), "named data is", buffer.At(entry));
    source.SpendCopyBudget(sizeof(NamedData));
    program.named_data.push_back({source.Text(entry->key()), entry->segment_index()});
    bytes[program.named_data.back().key] = program.segments[entry->segment_index()].bytes;
  }
  return bytes;
}

// Reads the graphs of XNNPACK delegates. Delegates with the same payload share a graph.
void ReadGraphs(Source& source, const std::map<std::string, Bytes>& named_bytes, Program& program) {
  std::map<std::pair<std::uint64_t, Bytes>, std::size_t> graphs_by_payload;
  for (Method& method : program.methods) {
    for (Delegate& delegate : method.delegates) {
      if (!delegate.IsXnnpack()) continue;
      const auto [entry, is_new] =
          graphs_by_payload.try_emplace({delegate.offset, delegate.payload}, program.xnn_graphs.size());
      if (is_new) {
        program.xnn_graphs.push_back(
            ReadXnnGraph(source, delegate.offset, static_cast<std::uint64_t>(delegate.payload), named_bytes));
      }
      delegate.graph = entry->second;
    }
  }
}

// Reads a plan of a verified Program. `program` contains the data of the whole file. Delegates' payloads are
// located in the file, but not read. Throws the Error of Source::MakeError.
class MethodReader {
 public:
  MethodReader(Source& source, const Buffer& buffer, const pte::Program& file, const pte::ExecutionPlan& plan,
               const Program& program)
      : source_(source), buffer_(buffer), file_(file), plan_(plan), program_(program) {}

  Method Read() {
    method_.name = source_.Text(plan_.name());
    if (plan_.values() != nullptr) {
      values_ = plan_.values()->size();
      for (const auto* value : *plan_.values()) method_.values.push_back(ReadValue(*value));
    }
    method_.inputs = ReadIndices(plan_.inputs(), method_.values.size(), "an input");
    method_.outputs = ReadIndices(plan_.outputs(), method_.values.size(), "an output");
    ReadOperators();
    ReadPlannedBuffers();
    if (plan_.delegates() != nullptr) {
      for (const auto* delegate : *plan_.delegates()) method_.delegates.push_back(ReadDelegate(*delegate));
    }
    if (plan_.chains() != nullptr) {
      int number = 0;
      for (const auto* chain : *plan_.chains()) ReadChain(*chain, number++);
    }
    return std::move(method_);
  }

 private:
  [[noreturn]] void Fail(const std::string& problem, const void* object) const {
    throw source_.MakeError(fmt::format("method {}: {}", method_.name, problem), buffer_.At(object));
  }

  std::size_t CheckIndex(std::int64_t index, std::size_t count, const char* role, const void* object) const {
    if (index < 0 || static_cast<std::uint64_t>(index) >= count)
      Fail(fmt::format("{} is number {} of {}", role, index, count), object);
    return static_cast<std::size_t>(index);
  }

  std::vector<std::size_t> ReadIndices(const flatbuffers::Vector<std::int32_t>* list, std::size_t count,
                                       const char* role, bool skips_absent = false) const {
    std::vector<std::size_t> indices;
    if (list == nullptr) return indices;
    source_.SpendCopyBudget(list->size() * sizeof(std::size_t));
    for (const std::int32_t index : *list) {
      if (index != -1 || !skips_absent) indices.push_back(CheckIndex(index, count, role, list));
    }
    return indices;
  }

  // Reads the items of a list of tensors, without absent items (-1).
  std::vector<std::size_t> ReadItems(const flatbuffers::Vector<std::int32_t>* list) const {
    return ReadIndices(list, values_, "an item of a list", /*skips_absent=*/true);
  }

  // Reads the items of a list of integers. Integers are only used for advice, so a list with an invalid index
  // counts as empty.
  std::vector<std::size_t> ReadIntegers(const flatbuffers::Vector<std::int64_t>* list) const {
    if (list == nullptr) return {};
    source_.SpendCopyBudget(list->size() * sizeof(std::size_t));
    std::vector<std::size_t> integers;
    for (const std::int64_t item : *list) {
      if (item < 0 || static_cast<std::uint64_t>(item) >= values_) return {};
      integers.push_back(static_cast<std::size_t>(item));
    }
    return integers;
  }

  ProgramValue ReadValue(const pte::EValue& value) {
    using Type = pte::KernelTypes;
    using TypeKind = std::pair<Type, Kind>;
    // Other types are from a newer schema.
    static constexpr TypeKind kKinds[] = {{Type::NONE, Kind::kNone},
                                          {Type::Null, Kind::kNone},
                                          {Type::Int, Kind::kInt},
                                          {Type::Bool, Kind::kBool},
                                          {Type::Double, Kind::kDouble},
                                          {Type::String, Kind::kString},
                                          {Type::IntList, Kind::kIntList},
                                          {Type::DoubleList, Kind::kDoubleList},
                                          {Type::BoolList, Kind::kBoolList},
                                          {Type::Tensor, Kind::kTensor},
                                          {Type::TensorList, Kind::kTensorList},
                                          {Type::OptionalTensorList, Kind::kOptionalTensorList}};
    source_.SpendCopyBudget(sizeof(ProgramValue));
    ProgramValue result;
    const auto kind = std::ranges::find(kKinds, value.val_type(), &TypeKind::first);
    result.kind = kind != std::end(kKinds) ? kind->second : Kind::kUnknown;
    if (const auto* integer = value.val_as_Int()) result.integer = integer->int_val();
    if (const auto* boolean = value.val_as_Bool()) result.integer = boolean->bool_val() ? 1 : 0;
    if (const auto* number = value.val_as_Double()) result.number = number->double_val();
    if (const auto* text = value.val_as_String(); text != nullptr && text->string_val() != nullptr) {
      source_.SpendCopyBudget(text->string_val()->size());
      result.text = text->string_val()->str();
    }
    if (const auto* list = value.val_as_IntList()) result.integers = ReadIntegers(list->items());
    if (const auto* list = value.val_as_TensorList()) result.items = ReadItems(list->items());
    if (const auto* list = value.val_as_OptionalTensorList()) result.items = ReadItems(list->items());
    if (const auto* tensor = value.val_as_Tensor()) result.tensor = ReadTensor(*tensor);
    if (result.kind == Kind::kTensor && !result.tensor) Fail("a tensor has no contents", &value);
    return result;
  }

  ProgramTensor ReadTensor(const pte::Tensor& tensor) {
    source_.SpendCopyBudget(sizeof(ProgramTensor));
    ProgramTensor result;
    result.type = ScalarTypeFromCode(static_cast<int>(tensor.scalar_type()));
    if (const auto* sizes = tensor.sizes()) {
      if (sizes->size() > kMaxDimensions)
        Fail(fmt::format("a tensor has {} dimensions", sizes->size()), &tensor);
      result.shape.assign(sizes->begin(), sizes->end());
    }
    if (const auto* order = tensor.dim_order()) {
      if (order->size() > kMaxDimensions)
        Fail(fmt::format("a tensor has an order of {} dimensions", order->size()), &tensor);
      result.dim_order.assign(order->begin(), order->end());
    }
    using Dynamism = pte::TensorShapeDynamism;
    result.dynamism = tensor.shape_dynamism() == Dynamism::STATIC          ? ProgramTensor::Shape::kStatic
                      : tensor.shape_dynamism() == Dynamism::DYNAMIC_BOUND ? ProgramTensor::Shape::kBounded
                                                                           : ProgramTensor::Shape::kUnbounded;
    if (!SizeInBytes(result.type, result.shape) && result.type.bits) {
      Fail(fmt::format("a tensor of [{}] elements cannot be", fmt::join(result.shape, ", ")), &tensor);
    }
    if (tensor.data_buffer_idx() > 0) result.data = ProgramTensor::Data::kFile;
    if (const auto* extra_info = tensor.extra_tensor_info()) {
      result.name = source_.Text(extra_info->fully_qualified_name());
      if (extra_info->location() == pte::TensorDataLocation::EXTERNAL)
        result.data = ProgramTensor::Data::kExternal;
    }
    // The index of a constant counts from 1. For a tensor with planned memory, it is the index of its initial
    // state.
    const auto* allocation = tensor.allocation_info();
    if (result.data == ProgramTensor::Data::kFile && allocation == nullptr)
      CheckIndex(tensor.data_buffer_idx(), program_.constants + 1, "a constant", &tensor);
    if (allocation != nullptr) {
      result.memory_id = allocation->memory_id();
      result.memory_offset = std::uint64_t{allocation->memory_offset_high()} << 32 |
                             std::uint64_t{allocation->memory_offset_low()};
    }
    return result;
  }

  void ReadOperators() {
    if (plan_.operators() == nullptr) return;
    for (const auto* entry : *plan_.operators()) {
      std::string name = source_.Text(entry->name());
      const std::string overload = source_.Text(entry->overload());
      if (!overload.empty()) name += "." + overload;
      method_.operators.push_back(std::move(name));
    }
  }

  void ReadPlannedBuffers() {
    const auto* sizes = plan_.non_const_buffer_sizes();
    if (sizes == nullptr) return;
    buffer_.RequireAligned(source_, *sizes);
    source_.SpendCopyBudget(sizes->size() * sizeof(Bytes));
    for (flatbuffers::uoffset_t i = 1; i < sizes->size(); ++i) {
      if (sizes->Get(i) < 0) Fail(fmt::format("planned buffer {} has {} bytes", i, sizes->Get(i)), sizes);
      method_.planned_buffers.push_back(sizes->Get(i));
    }
  }

  Delegate ReadDelegate(const pte::BackendDelegate& entry) {
    source_.SpendCopyBudget(sizeof(Delegate));
    Delegate delegate;
    delegate.backend = source_.Text(entry.id());
    const auto* reference = entry.processed();
    if (reference == nullptr) Fail("a delegate has no payload", &entry);
    if (reference->location() == pte::DataLocation::SEGMENT) {
      const DataSegment& segment = program_.segments[CheckIndex(reference->index(), program_.segments.size(),
                                                                "a delegate's segment", reference)];
      delegate.in_segment = true;
      delegate.offset = segment.offset;
      delegate.payload = segment.bytes;
    } else {
      const auto* all_data = file_.backend_delegate_data();
      const std::size_t index = CheckIndex(reference->index(), all_data == nullptr ? 0 : all_data->size(),
                                           "a delegate's data", reference);
      const auto* data = all_data->Get(static_cast<flatbuffers::uoffset_t>(index))->data();
      if (data != nullptr) {
        delegate.offset = buffer_.At(data->data());
        delegate.payload = data->size();
      }
    }
    if (entry.compile_specs() == nullptr) return delegate;
    for (const auto* spec : *entry.compile_specs()) {
      source_.SpendCopyBudget(sizeof(Delegate::CompileSpec));
      delegate.compile_specs.push_back(
          {source_.Text(spec->key()),
           spec->value() == nullptr ? 0 : static_cast<Bytes>(spec->value()->size())});
    }
    return delegate;
  }

  void ReadChain(const pte::Chain& chain, int number) {
    if (chain.instructions() == nullptr) return;
    int index = 0;
    for (const auto* entry : *chain.instructions()) {
      source_.SpendCopyBudget(sizeof(Instruction));
      Instruction instruction;
      instruction.chain = number;
      instruction.index = index++;
      ReadArguments(*entry, instruction);
      method_.instructions.push_back(std::move(instruction));
    }
  }

  // Reads what an instruction does. Its kind stays unknown if it is from a newer schema.
  void ReadArguments(const pte::Instruction& entry, Instruction& instruction) {
    if (entry.instr_args() == nullptr) Fail("an instruction is empty", &entry);
    if (const auto* kernel = entry.instr_args_as_KernelCall()) {
      instruction.kind = Instruction::Kind::kKernel;
      instruction.target = CheckIndex(kernel->op_index(), method_.operators.size(), "an operator", kernel);
      instruction.arguments = ReadIndices(kernel->args(), method_.values.size(), "an argument");
    } else if (const auto* call = entry.instr_args_as_DelegateCall()) {
      instruction.kind = Instruction::Kind::kDelegate;
      instruction.target = CheckIndex(call->delegate_index(), method_.delegates.size(), "a delegate", call);
      instruction.arguments = ReadIndices(call->args(), method_.values.size(), "an argument");
    } else if (const auto* move = entry.instr_args_as_MoveCall()) {
      instruction.kind = Instruction::Kind::kMove;
      for (const std::int32_t value : {move->move_from(), move->move_to()})
        instruction.arguments.push_back(CheckIndex(value, method_.values.size(), "a moved value", move));
    } else if (const auto* jump = entry.instr_args_as_JumpFalseCall()) {
      instruction.kind = Instruction::Kind::kJumpFalse;
      instruction.target = static_cast<std::size_t>(std::max(0, jump->destination_instruction()));
    } else if (entry.instr_args_type() == pte::InstructionArguments::FreeCall) {
      instruction.kind = Instruction::Kind::kFree;
    }
  }

  Source& source_;
  const Buffer& buffer_;
  const pte::Program& file_;
  const pte::ExecutionPlan& plan_;
  const Program& program_;
  std::size_t values_ = 0;  // number of the method's values
  Method method_;
};

}  // namespace

void CheckIsProgram(ByteView bytes, const std::string& file_name) {
  const Source source(ExtractProgram(bytes, file_name).program, file_name);
  bytes = source.bytes();
  const auto is_digit = [&](std::size_t at) { return IsDigit(static_cast<char>(bytes[at])); };
  RequireContents(source);
  if (bytes.size() < kHeaderOffset || !HasTextAt(bytes, 4, "ET") || !is_digit(6) || !is_digit(7))
    throw NotAProgram(source, "no ET12 identifier");
  ReadHeader(source);
}

Program ReadProgram(ByteView bytes, const std::string& file_name) {
  BundledProgram bundled = ExtractProgram(bytes, file_name);
  bytes = bundled.program;
  Source source(bytes, file_name);
  RequireContents(source);
  if (bytes.size() < kHeaderOffset)
    throw NotAProgram(source, fmt::format("it ends after {} bytes", bytes.size()));
  if (!HasTextAt(bytes, 4, "ET")) throw NotAProgram(source, "no ET12 identifier");
  if (!HasTextAt(bytes, 4, pte::ProgramIdentifier())) {
    throw NotAProgram(source, fmt::format("its identifier is not {}: another version of the format",
                                          pte::ProgramIdentifier()));
  }
  const std::optional<Header> header = ReadHeader(source);
  Program program;
  program.test_cases = std::move(bundled.test_cases);
  program.file_bytes = static_cast<Bytes>(bytes.size());
  program.extended_header = header.has_value();
  program.segment_base = header ? header->segment_base : 0;
  const ByteView flatbuffer = header ? source.Slice(0, header->flatbuffer_bytes, "the program") : bytes;
  program.flatbuffer_bytes = static_cast<Bytes>(flatbuffer.size());
  const Buffer buffer(source, 0, flatbuffer);
  const pte::Program& file = buffer.VerifyRoot<pte::Program>(source, "the program");
  program.version = file.version();
  // A file with only empty segments has no base.
  program.segments =
      ReadSegments(source, buffer, file.segments(),
                   program.segment_base != 0 ? std::optional(program.segment_base) : std::nullopt);
  ReadConstants(source, buffer, file, program);
  const std::map<std::string, Bytes> named_bytes = ReadNamedData(source, buffer, file, program);
  if (file.execution_plan() != nullptr) {
    for (const auto* plan : *file.execution_plan()) {
      program.methods.push_back(MethodReader(source, buffer, file, *plan, program).Read());
    }
  }
  ReadGraphs(source, named_bytes, program);
  return program;
}

Program ReadProgramFile(const std::filesystem::path& path) {
  return WithFile(path, kMaxProgramBytes, [&](ByteView bytes) { return ReadProgram(bytes, path.string()); });
}

}  // namespace etprof
