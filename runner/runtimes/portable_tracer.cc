// An event tracer for ExecuTorch before 1.5, whose wheels are built without event tracing. This library has
// the name of ExecuTorch's own library and precedes the Python extension, so that the functions below are
// called instead of the extension's. They call the extension's functions, and report to Method's tracer what
// ExecuTorch 1.5 reports at the same places
// (its runtime/executor/method.cpp and backends/xnnpack/runtime/profiling/XNNProfiler.cpp). As in 1.5,
// XNNPACK reads the clock after every operator even while nothing is traced.
#include <dlfcn.h>
#include <executorch/runtime/core/event_tracer_hooks.h>
#include <executorch/runtime/executor/method.h>
#include <executorch/runtime/platform/platform.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "program_generated.h"

namespace {

executorch::runtime::EventTracer* running_tracer =
    nullptr;  // tracer of the running method; nullptr: not traced

template <typename Function>
Function* FindNext(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

// The name by which ExecuTorch's generated code logs a kernel: "native_call_add.out". Empty for primitives
// such as executorch_prim::et_view.default, which log nothing.
std::string MakeKernelName(const executorch_flatbuffer::Operator& op) {
  std::string name = op.name()->str();
  if (name.starts_with("executorch_prim::")) return "";
  if (const std::size_t colons = name.find("::"); colons != std::string::npos) name.erase(0, colons + 2);
  if (op.overload() != nullptr && op.overload()->size() > 0) name += "." + op.overload()->str();
  return "native_call_" + name;
}

// XNNPACK's xnnpack.h.
constexpr std::uint32_t kBasicProfiling = 8;
enum ProfileInfo : int { kNumOperators, kOperatorNames, kOperatorMicroseconds };
extern "C" int xnn_get_runtime_profiling_info(void* runtime, ProfileInfo info, std::size_t size, void* value,
                                              std::size_t* needed);

template <typename Value>
std::vector<Value> ReadProfile(void* runtime, ProfileInfo info) {
  std::size_t bytes = 0;
  xnn_get_runtime_profiling_info(runtime, info, 0, nullptr, &bytes);
  std::vector<Value> values(bytes / sizeof(Value));
  if (xnn_get_runtime_profiling_info(runtime, info, bytes, values.data(), &bytes) != 0) values.clear();
  return values;
}

// The names of XNNPACK's operators by runtime, numbered as in XNNProfiler.
std::map<void*, std::vector<std::string>> operator_names;

const std::vector<std::string>& GetOperatorNames(void* runtime) {
  const auto [entry, is_new] = operator_names.try_emplace(runtime);
  if (!is_new) return entry->second;
  const std::vector<char> texts = ReadProfile<char>(runtime, kOperatorNames);
  std::map<std::string, int> counts;
  for (std::size_t at = 0; at < texts.size();) {
    const std::string name = &texts[at];
    at += name.size() + 1;
    entry->second.push_back(name + " #" + std::to_string(++counts[name]));
  }
  return entry->second;
}

}  // namespace

namespace executorch::runtime {

Error Method::execute() {
  static auto* const next = FindNext<Error(Method*)>("_ZN10executorch7runtime6Method7executeEv");
  internal::event_tracer_create_event_block(event_tracer_, "Execute");
  const internal::EventTracerProfileMethodScope span(event_tracer_, "Method::execute");
  running_tracer = event_tracer_;
  const Error error = next(this);
  running_tracer = nullptr;
  return error;
}

Error Method::execute_instruction() {
  static auto* const next = FindNext<Error(Method*)>("_ZN10executorch7runtime6Method19execute_instructionEv");
  if (event_tracer_ == nullptr) return next(this);
  const auto [chain, index] = step_state_;
  const auto& instruction = *serialization_plan_->chains()
                                 ->Get(static_cast<flatbuffers::uoffset_t>(chain))
                                 ->instructions()
                                 ->Get(static_cast<flatbuffers::uoffset_t>(index));
  // Names in the order of the FlatBuffers union InstructionArguments.
  static constexpr std::array kCallNames = {"",          "OPERATOR_CALL", "DELEGATE_CALL",
                                            "MOVE_CALL", "JF_CALL",       "FREE_CALL"};
  const auto* const kernel = instruction.instr_args_as_KernelCall();
  const std::string kernel_name = kernel == nullptr
                                      ? ""
                                      : MakeKernelName(*serialization_plan_->operators()->Get(
                                            static_cast<flatbuffers::uoffset_t>(kernel->op_index())));
  const internal::EventTracerProfileInstructionScope instruction_scope(
      event_tracer_, static_cast<ChainID>(chain), static_cast<DebugHandle>(index));
  const internal::EventTracerProfileOpScope call_scope(
      event_tracer_, kCallNames.at(static_cast<std::size_t>(instruction.instr_args_type())));
  const internal::EventTracerProfileOpScope kernel_scope(kernel_name.empty() ? nullptr : event_tracer_,
                                                         kernel_name.c_str());
  return next(this);
}

}  // namespace executorch::runtime

// The extension initializes XNNPACK while it is loaded, which is when XNNPACK reads the CPU's features: the
// runner must have masked them before.
extern "C" int xnn_initialize(const void* allocator) {
  static auto* const next = FindNext<int(const void*)>("xnn_initialize");
  if (auto* const mask = reinterpret_cast<void (*)()>(::dlsym(RTLD_DEFAULT, "etprof_mask_isa"))) mask();
  return next(allocator);
}

extern "C" int xnn_create_runtime_v4(void* subgraph, void* weights_cache, void* workspace, void* threadpool,
                                     std::uint32_t flags, void** runtime) {
  static auto* const next =
      FindNext<int(void*, void*, void*, void*, std::uint32_t, void**)>("xnn_create_runtime_v4");
  const int status = next(subgraph, weights_cache, workspace, threadpool, flags | kBasicProfiling, runtime);
  if (status == 0) operator_names.erase(*runtime);  // names from a deleted runtime that had this address
  return status;
}

extern "C" int xnn_invoke_runtime(void* runtime) {
  static auto* const next = FindNext<int(void*)>("xnn_invoke_runtime");
  if (running_tracer == nullptr) return next(runtime);
  const et_timestamp_t call_start = executorch::runtime::pal_current_ticks();
  const int status = next(runtime);
  const std::vector<std::string>& names = GetOperatorNames(runtime);
  const std::vector<std::uint64_t> times = ReadProfile<std::uint64_t>(runtime, kOperatorMicroseconds);
  et_timestamp_t start = call_start;
  for (std::size_t i = 0; i < names.size() && i < times.size(); ++i) {
    const et_timestamp_t end = start + times[i] * 1000;  // etprof-runner's ticks are nanoseconds
    running_tracer->log_profiling_delegate(names[i].c_str(), executorch::runtime::kUnsetDelegateDebugIntId,
                                           start, end, nullptr, 0);
    start = end;
  }
  return status;
}
