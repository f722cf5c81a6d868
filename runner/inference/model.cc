#include "inference/model.h"

#include <executorch/extension/module/module.h>
#include <executorch/runtime/backend/interface.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <iterator>
#include <set>
#include <string_view>

#include "core/error.h"
#include "core/file/file.h"
#include "core/file/file_kind.h"
#include "core/text/text.h"
#include "core/views.h"
#include "inference/backends.h"
#include "inference/dtypes.h"
#include "inference/libraries.h"
#include "machine/conditions.h"
#include "openvino/openvino.h"
#include "platform.h"
#include "timing/layout.h"
#include "timing/operator_clock.h"
#include "timing/waiting.h"

namespace etprof::runner {

using executorch::extension::Module;

// Gives access to a loaded method and its planned memory, which Module shows only to subclasses.
class Model::ModuleAccess final : public Module {
 public:
  ModuleAccess(const std::string& path, std::vector<std::string> data, std::unique_ptr<OperatorTracer> tracer)
      : Module(path, std::move(data), LoadMode::Mmap, std::move(tracer)) {}
  et::Method& loaded_method(const std::string& name) { return *methods_.at(name).method; }
  const auto& planned_spans(const std::string& name) const {
    return methods_.at(name).planned_memory->planned_spans;
  }
  const auto& planned_buffers(const std::string& name) const {
    return methods_.at(name).planned_memory->planned_buffers;
  }
};

// A Module of ExecuTorch 1.3 is never destroyed: the layout of some of its objects (HierarchicalAllocator)
// differs from the headers, so the destructors compiled here would corrupt memory.
void Model::DestroyModule::operator()(ModuleAccess* module) const {
  if (!MappedExecutorchVersion(MappedExecutorchLibraries()).starts_with("1.3.")) delete module;
}

// Module takes the value at its construction, before the program is known.
struct ShareMemoryArenasTag {
  using Pointer = bool Module::*;
  friend Pointer PointerTo(ShareMemoryArenasTag);
};
template struct ExposeMember<ShareMemoryArenasTag, &Module::share_memory_arenas_>;

namespace {

// Returns true if the program's methods share their state. ExecuTorch's export plans shared state for the
// second buffer, which is otherwise empty (exir/capture/_config.py, share_mutable_buffers). The methods of a
// program without shared state would overwrite each other's state in shared buffers.
bool SharesState(Module& module, const std::vector<std::string>& methods) {
  return std::ranges::count_if(methods, [&](const std::string& name) {
           const auto meta = module.method_meta(name);
           if (!meta.ok() || meta->num_instructions() == 0 || meta->num_memory_planned_buffers() < 2)
             return false;
           const auto size = meta->memory_planned_buffer_size(1);
           return size.ok() && *size > 0;
         }) >= 2;
}

constexpr std::size_t kMinProgramBytes = 64;

// Distinguishes files of other formats from truncated programs, before ExecuTorch reads the file. Returns
// true if the program names operators for LLMs. The layout is that of ExecuTorch's
// runtime/executor/program.cpp and schema/extended_header.h: a FlatBuffer with identifier "ET12" at byte 4
// and, at byte 8, an extended header "eh00", u32 length, u64 program size, u64 offset of the segments, u64
// size of the segments.
bool CheckFile(const std::string& path) {
  const MappedFile file = MappedFile::Open(path);
  const ByteView bytes = file.bytes();
  const char* const remedy = "give a program that `etprof export` or ExecuTorch wrote";
  if (bytes.empty()) throw Error(ExitCode::kBadInput, "is empty").InFile(path).Remedy(remedy);
  if (bytes.size() < 8 || !HasTextAt(bytes, 4, "ET")) {
    throw WrongFileKind(bytes, path, "an ExecuTorch program", "no ET12 identifier", 4, remedy);
  }
  const Error truncated_error =
      Error(ExitCode::kBadInput, fmt::format("is cut short: it has {} bytes", bytes.size()))
          .InFile(path)
          .Remedy("copy or export it again");
  if (bytes.size() < kMinProgramBytes) throw Error(truncated_error);
  std::string_view program = AsText(bytes);
  if (HasTextAt(bytes, 8, "eh00")) {
    const std::uint64_t header_size = LittleEndian(bytes.subspan(12, 4));
    const std::uint64_t program_size = LittleEndian(bytes.subspan(16, 8));
    const std::uint64_t segments = LittleEndian(bytes.subspan(24, 8));
    const std::uint64_t segments_size = header_size >= 32 ? LittleEndian(bytes.subspan(32, 8)) : 0;
    if (program_size > bytes.size() || segments > bytes.size() || segments_size > bytes.size() - segments)
      throw Error(truncated_error);
    program = program.substr(0, program_size);  // the program without its weights
  }
  return program.find(kLlmOperators) != std::string_view::npos;
}

std::string LoggedCause() {
  const std::vector<std::string> lines = TakeLoggedErrors();
  // The first line is closest to the cause; later lines repeat it on the way up the call stack.
  return lines.empty() ? "" : ": " + lines.front();
}

Error CannotLoad(const std::string& path, et::Error error) {
  const bool is_machine_failure =
      error == et::Error::MemoryAllocationFailed || error == et::Error::OutOfResources;
  const std::string code = et::to_string(error), logged = LoggedCause();
  const char* const remedy = is_machine_failure ? "free memory, or use a device with more"
                             : logged.find("OpenVINO:") != std::string::npos
                                 ? "export it again with the version of OpenVINO that runs it"
                                 : "export it again with the ExecuTorch version of this "
                                   "runner, if it is whole";
  return Error(is_machine_failure ? ExitCode::kDeviceFailed : ExitCode::kBadInput,
               fmt::format("ExecuTorch cannot load it ({}){}", code, logged))
      .InFile(path)
      .Remedy(remedy);
}

// ExecuTorch resolves all operators before it fails, and logs "Missing operator: [4] my_ops::foo.out" for
// each without a kernel (runtime/executor/method.cpp, resolve_operator).
Error MissingOperators(const std::string& path) {
  std::set<std::string> operator_names;
  for (const std::string& line : TakeLoggedErrors()) {
    const std::size_t at = line.find("issing operator");
    if (at == std::string::npos) continue;
    const std::size_t bracket = line.find("] ", at);
    if (bracket != std::string::npos) operator_names.insert(line.substr(bracket + 2));
  }
  std::string problem = "an operator of it is not registered";
  if (!operator_names.empty()) {
    problem = fmt::format("operator{} {} {} not registered", operator_names.size() > 1 ? "s" : "",
                          fmt::join(operator_names, ", "), operator_names.size() > 1 ? "are" : "is");
  }
  const bool is_llm_operator = std::ranges::any_of(
      operator_names, [](const std::string& name) { return name.starts_with(kLlmOperators); });
  const std::string release = MappedExecutorchVersion(MappedExecutorchLibraries());
  const bool is_other_release = !release.empty() && release != ETPROF_EXECUTORCH_VERSION;
  return Error(ExitCode::kDeviceFailed, problem)
      .InFile(path)
      .Remedy(is_other_release
                  ? fmt::format("ExecuTorch {} has no kernels for them: delegate them, or run {}", release,
                                ETPROF_EXECUTORCH_VERSION)
              : is_llm_operator
                  ? MissingLlmKernelsRemedy()
                  : fmt::format("give the library that has the kernels {}; this runner has ExecuTorch's "
                                "optimized, portable, and quantized ones",
                                kLoadLibraryHint));
}

// Checks the sizes before ExecuTorch allocates them, since a damaged program may plan any size.
void CheckPlannedMemory(const std::string& path, const et::MethodMeta& meta) {
  const std::uint64_t physical_bytes = static_cast<std::uint64_t>(std::max(::sysconf(_SC_PHYS_PAGES), 0L)) *
                                       static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < meta.num_memory_planned_buffers(); ++i) {
    const auto size = meta.memory_planned_buffer_size(i);
    if (!size.ok()) throw CannotLoad(path, size.error());
    if (*size < 0)
      throw Error(ExitCode::kBadInput, fmt::format("plans a buffer of {} bytes", *size))
          .InFile(path)
          .Remedy("copy or export it again");
    total += std::min(static_cast<std::uint64_t>(*size), physical_bytes + 1);  // no overflow
    if (physical_bytes > 0 && total > physical_bytes) {
      throw Error(ExitCode::kDeviceFailed,
                  fmt::format("plans for a buffer of {} bytes; this device has {} bytes of memory in all",
                              *size, physical_bytes))
          .InFile(path)
          .Remedy("use a device with more memory, or export it again if the file may be damaged");
    }
  }
}

std::vector<protocol::TensorInfo> Outputs(const et::MethodMeta& meta) {
  std::vector<protocol::TensorInfo> infos;
  for (std::size_t i = 0; i < meta.num_outputs(); ++i) {
    const auto tag = meta.output_tag(i);
    const auto tensor = meta.output_tensor_meta(i);
    protocol::TensorInfo info;
    if (tensor.ok()) {
      info = {Name(tensor->scalar_type()), {tensor->sizes().begin(), tensor->sizes().end()}};
    } else if (tag.ok()) {
      info.dtype = *tag == et::Tag::Int      ? "int"
                   : *tag == et::Tag::Double ? "double"
                   : *tag == et::Tag::Bool   ? "bool"
                   : *tag == et::Tag::String ? "string"
                   : *tag == et::Tag::None   ? "none"
                                             : "list";
    }
    infos.push_back(std::move(info));
  }
  TakeLoggedErrors();  // discard the errors logged for outputs that are not tensors
  return infos;
}

}  // namespace

Model::Model(const protocol::LoadRequest& request) : path_(request.model), data_path_(request.data) {
  if (CheckFile(path_)) LoadLlmKernels();
  std::vector<std::string> data;
  if (!request.data.empty()) {
    static_cast<void>(MappedFile::Open(request.data));  // throws a clear error for an unreadable file
    data.push_back(request.data);
  }
  description_.rss_before_bytes = ResidentBytes();
  const CrashContext during("loading " + path_, ExitCode::kBadInput);
  // Shift again, so that later addresses do not depend on the lengths of the request and the path.
  ShiftHeap();
  auto tracer = std::make_unique<OperatorTracer>();
  tracer_ = tracer.get();
  module_.reset(new ModuleAccess(path_, std::move(data), std::move(tracer)));
  ShiftHeap();  // also randomize the distance between the tracer's memory and the method's
  const WaitMeter meter;
  const WaitReading wait_before = meter.Read();
  std::int64_t start = MonotonicNow();
  // Verify the whole FlatBuffer, so that a damaged program is an error here instead of a crash later. This
  // takes microseconds.
  const et::Error load_error = module_->load(et::Program::Verification::InternalConsistency);
  if (load_error != et::Error::Ok) throw CannotLoad(path_, load_error);
  program_ns_ = MonotonicNow() - start;

  std::vector<std::string> methods;
  for (std::size_t i = 0; i < module_->program()->num_methods(); ++i) {
    const auto name = module_->program()->get_method_name(i);
    if (name.ok()) methods.emplace_back(*name);
  }
  method_name_ = request.method.empty() && !methods.empty() ? methods.front() : request.method;
  std::vector<std::string> names = {method_name_};
  for (const std::string& other : request.methods) AppendUnique(other, names);
  for (const std::string& name : names) {
    if (std::ranges::find(methods, name) != methods.end()) continue;
    throw Error(ExitCode::kBadInput, fmt::format("has no method '{}'", name))
        .InFile(path_)
        .Remedy(methods.empty() ? "it has none at all" : fmt::format("it has {}", fmt::join(methods, ", ")));
  }
  module_.get()->*PointerTo(ShareMemoryArenasTag{}) = SharesState(*module_, methods);
  std::set<std::string> backends;
  for (const std::string& name : names) {
    const std::vector<std::string> method_backends = CheckMethod(name, start);
    backends.insert(method_backends.begin(), method_backends.end());
  }
  // Module allocates the planned memory before the method's own load, which begins a block of the trace.
  const std::int64_t method_start = MonotonicNow();
  for (const std::string& name : names) {
    const et::Error method_error = module_->load_method(name);
    if (method_error == et::Error::OperatorMissing) throw MissingOperators(path_);
    if (method_error != et::Error::Ok) throw CannotLoad(path_, method_error);
    if (name == method_name_)
      plan_ns_ = std::max<std::int64_t>(0, this->tracer().block_began_ns() - method_start);
  }
  description_.load_ns = MonotonicNow() - start;
  description_.load_wait_ns = WaitedTime(wait_before, meter.Read());

  for (const std::string& name : names) PrepareMethod(name, request.inputs, names.size() == 1);
  Select(names.front());
  static_cast<protocol::MethodReply&>(description_) = DescribeSelectedMethod();
  description_.backends.assign(backends.begin(), backends.end());
  std::ranges::move(TakeOpenvinoWarnings(), std::back_inserter(description_.warnings));
  description_.rss_bytes = ResidentBytes();
}

std::vector<std::string> Model::CheckMethod(const std::string& name, std::int64_t& start) {
  const auto meta = module_->method_meta(name);
  if (!meta.ok()) throw CannotLoad(path_, meta.error());
  std::vector<std::string> backends;
  for (std::size_t i = 0; i < meta->num_backends(); ++i) {
    const auto backend = meta->get_backend_name(i);
    if (!backend.ok()) throw CannotLoad(path_, backend.error());
    backends.emplace_back(*backend);
    const std::int64_t before_library = MonotonicNow();
    LoadOptionalBackend(*backend);
    start += MonotonicNow() - before_library;  // the model's load time excludes backends' libraries
    if (et::get_backend_class(*backend) == nullptr) {
      throw Error(ExitCode::kDeviceFailed,
                  fmt::format("is delegated to the backend {}, which is not registered", *backend))
          .InFile(path_)
          .Remedy(MissingBackendRemedy(*backend));
    }
  }
  CheckPlannedMemory(path_, *meta);
  return backends;
}

void Model::PrepareMethod(const std::string& name, std::optional<protocol::InputSpec> inputs,
                          bool is_only_method) {
  et::Method& method = module_->loaded_method(name);
  // An encoder of a language model takes other inputs than tokens.
  if (inputs && inputs->kind == "tokens" && !is_only_method && !Inputs::DetectStep(method)) inputs.reset();
  LoadedMethod& prepared =
      methods_.emplace(name, LoadedMethod{&method, Inputs::Make(method, path_, inputs)}).first->second;
  prepared.inputs.ApplyTo(method);  // reports inputs that do not fit while loading
  AttachTracer(method, nullptr);
  LogLayersTo(nullptr);
}

std::vector<std::string> Model::methods() const {
  return MapEach(methods_, [](const auto& entry) { return entry.first; });
}

std::optional<StepShape> Model::step_shape(const std::string& method) const {
  const auto found = methods_.find(method);
  return found == methods_.end() ? std::nullopt : found->second.inputs.step();
}

void Model::Select(const std::string& method) {
  const auto found = methods_.find(method);
  if (found == methods_.end()) {
    throw Error(ExitCode::kUsage, fmt::format("the method '{}' is not loaded", method))
        .Remedy(fmt::format("loaded are {}", fmt::join(methods(), ", ")));
  }
  if (selected_ == &found->second) return;
  const bool tracing = tracing_;
  if (tracing) SetTracing(false);
  selected_ = &found->second;
  method_name_ = method;
  if (tracing) SetTracing(true);
}

protocol::MethodReply Model::DescribeSelectedMethod() const {
  const Inputs& inputs = selected_->inputs;
  return {inputs.infos(), Outputs(selected_->method->method_meta()), inputs.origin(), inputs.warnings()};
}

void Model::SetFeatures(const Rows& rows) {
  for (auto& [name, method] : methods_) {
    if (const auto& step = method.inputs.step(); step && step->features) method.inputs.SetFeatures(rows);
  }
}

bool Model::NeedsFeatures() const {
  return std::ranges::any_of(methods_, [](const auto& entry) { return entry.second.inputs.NeedsFeatures(); });
}

Model::~Model() { LogLayersTo(nullptr); }

void Model::SetInputs() {
  if (state_) state_->Restore();
  selected_->inputs.ApplyTo(*selected_->method);
}

void Model::SaveState() {
  // Methods that share their memory have the same spans.
  std::map<std::byte*, std::size_t> arenas;
  for (const auto& [name, method] : methods_) {
    for (const auto& span : module_->planned_spans(name)) {
      if (span.data() == nullptr) continue;
      std::size_t& size = arenas[reinterpret_cast<std::byte*>(span.data())];
      size = std::max(size, span.size());
    }
  }
  state_.emplace(std::vector<SavedState::Arena>(arenas.begin(), arenas.end()));
}

std::int64_t Model::Run() {
  const std::int64_t start = MonotonicNow();
  const et::Error error = selected_->method->execute();
  const std::int64_t end = MonotonicNow();
  if (error != et::Error::Ok) {
    throw Error(ExitCode::kDeviceFailed,
                fmt::format("running '{}' failed ({}){}", method_name_, et::to_string(error), LoggedCause()))
        .InFile(path_)
        .Remedy("check the inputs (" + selected_->inputs.origin() + "), and the model in Python");
  }
  has_run_ = true;
  if (state_) state_->RecordRun({method_name_, step_.first, step_.second});
  return end - start;
}

void Model::SetTracing(bool on) {
  tracing_ = on;
  et::EventTracer* const tracer = on ? tracer_ : nullptr;
  AttachTracer(*selected_->method, tracer);
  LogLayersTo(tracer);
}

void Model::SelectTracer(const protocol::StepPlace& key) {
  OperatorTracer*& tracer = tracers_[key];
  if (tracer == nullptr && tracers_.size() > 1)
    tracer = extra_tracers_.emplace_back(std::make_unique<OperatorTracer>()).get();
  if (tracer == nullptr) tracer = tracer_;
  tracer_ = tracer;
}

const et::Method& Model::method() const { return *selected_->method; }

const et::Method& Model::method(const std::string& name) const { return *methods_.at(name).method; }

std::vector<std::pair<const void*, std::size_t>> Model::PlannedMemory() const {
  return MapEach(module_->planned_buffers(method_name_), [](const auto& buffer) {
    return std::pair<const void*, std::size_t>(buffer.data(), buffer.size());
  });
}

bool Model::IsFile(const std::string& path) const {
  std::error_code error;
  return std::ranges::any_of(std::array{path_, data_path_}, [&](const std::string& file) {
    return !file.empty() && std::filesystem::equivalent(path, file, error);
  });
}

}  // namespace etprof::runner
