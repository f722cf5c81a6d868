#include "openvino/openvino.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <map>
#include <optional>
#include <span>
#include <utility>

#include "core/error.h"
#include "core/file/elf_file.h"
#include "core/file/file.h"
#include "inference/libraries.h"
#include "isa_mask.h"
#include "openvino/layer_clock.h"
#include "platform.h"
#include "watch/library.h"

namespace etprof::runner {
namespace openvino {

namespace fs = std::filesystem;
using Clock = std::chrono::system_clock;

// Declared as in openvino/c (ov_common.h, ov_core.h, ov_infer_request.h).
struct Core;
struct InferRequest;
struct ProfilingInfo {
  int status;
  std::int64_t real_time, cpu_time;  // µs
  const char *node_name, *exec_type, *node_type;
};
struct ProfilingInfos {
  ProfilingInfo* infos;
  std::size_t size;
};
using Status = int;  // 0: success
using CoreCreate = Status (*)(Core**);
using SetProperty = Status (*)(const Core*, const char* device, ...);
using GetProperty = Status (*)(const Core*, const char* device, const char* key, char** value);
using FreeText = void (*)(const char*);
using InferFunction = Status (*)(InferRequest*);
using FreeRequest = void (*)(InferRequest*);
using GetProfilingInfo = Status (*)(const InferRequest*, ProfilingInfos*);
using FreeProfilingInfos = void (*)(ProfilingInfos*);

struct Layer {
  std::string name, metadata;
  LayerReadings readings;
};

struct Request {
  bool has_run = false, has_read_profile = false;
  std::vector<Layer> layers;  // ordered by begin; empty: not known
  std::size_t readings = 0;   // readings per inference
};

struct State {
  void* library = nullptr;  // libopenvino_c
  CoreCreate core_create = nullptr;
  InferFunction infer = nullptr;
  FreeRequest free_request = nullptr;
  Clock::time_point (*now)() = nullptr;
  ReplacedSlots slots;
  LayerClock clock;
  std::map<InferRequest*, Request> requests;
  executorch::runtime::EventTracer* tracer = nullptr;
  std::vector<std::string> warnings;
};

// Created only for programs of OpenVINO. Never destroyed, since OpenVINO's threads may read the clock until
// the process ends.
State* global_state = nullptr;

State& GetState() { return *global_state; }

void Warn(std::string text) {
  if (std::ranges::find(GetState().warnings, text) == GetState().warnings.end())
    GetState().warnings.push_back(std::move(text));
}

template <typename Function>
Function FindFunction(const char* name) {
  return reinterpret_cast<Function>(::dlsym(GetState().library, name));
}

void WarnNoLayers(const char* reason) {
  std::fprintf(stderr, "etprof-runner: warning: OpenVINO's layers are not reported: %s\n", reason);
}

// Replaces the plugin's std::chrono::system_clock::now().
Clock::time_point Now() {
  const auto recorded = GetState().clock.Read();
  return recorded ? Clock::time_point(
                        std::chrono::duration_cast<Clock::duration>(std::chrono::nanoseconds(*recorded)))
                  : GetState().now();
}

// Makes a layer: "Convolution: aten_convolution_default (brgconv_avx512_f32)" for the node
// "aten_convolution_default/aten.convolution.default/Convolution", whose full name is the metadata.
Layer MakeLayer(const ProfilingInfo& info, const LayerReadings& readings) {
  const std::string node = info.node_name;
  return {fmt::format("{}: {} ({})", info.node_type, node.substr(0, node.find('/')), info.exec_type),
          "OpenVINO " + node, readings};
}

// Reads the layers' readings after the first inference, which was numbered, and before the second.
void ReadLayers(InferRequest* handle, Request& request) {
  request.has_read_profile = true;
  if (request.readings == 0) return WarnNoLayers("it counts none, or computes several at a time");
  const auto get = FindFunction<GetProfilingInfo>("ov_infer_request_get_profiling_info");
  const auto free = FindFunction<FreeProfilingInfos>("ov_profiling_info_list_free");
  ProfilingInfos profile{};
  if (get == nullptr || free == nullptr || get(handle, &profile) != 0)
    return WarnNoLayers("it does not give them");
  std::vector<std::int64_t> differences;
  std::transform(profile.infos, profile.infos + profile.size, std::back_inserter(differences),
                 [](const ProfilingInfo& info) { return info.real_time; });
  if (const auto layers = FindLayerReadings(differences, request.readings)) {
    for (std::size_t i = 0; i < profile.size; ++i)
      if ((*layers)[i].end > 0) request.layers.push_back(MakeLayer(profile.infos[i], (*layers)[i]));
    std::ranges::sort(request.layers, {}, [](const Layer& layer) { return layer.readings.begin; });
  } else {
    WarnNoLayers("it reads the clock for more than its layers");
  }
  free(&profile);
}

void LogLayers(const Request& request, std::span<const std::int64_t> times) {
  // If this inference ran differently (another shape, a branch), report nothing instead of wrong times.
  if (times.size() != request.readings) return;
  for (const Layer& layer : request.layers) {
    GetState().tracer->log_profiling_delegate(
        layer.name.c_str(), executorch::runtime::kUnsetDelegateDebugIntId,
        static_cast<et_timestamp_t>(times[layer.readings.begin]),
        static_cast<et_timestamp_t>(times[layer.readings.end]), layer.metadata.data(), layer.metadata.size());
  }
}

Status InferReplacement(InferRequest* handle) {
  State& state = GetState();
  if (state.now == nullptr) return state.infer(handle);  // the plugin's clock could not be replaced
  Request& request = state.requests[handle];
  if (request.has_run && !request.has_read_profile) ReadLayers(handle, request);
  if (request.has_run && state.tracer == nullptr) return state.infer(handle);
  state.clock.Begin(request.has_run ? LayerClock::Mode::kTimes : LayerClock::Mode::kNumbers);
  const Status status = state.infer(handle);
  const auto times = state.clock.End();
  if (status != 0) return status;
  if (!request.has_run) {
    request.has_run = true;
    request.readings = times.size();
    if (state.tracer != nullptr) ReadLayers(handle, request);
  }
  if (state.tracer != nullptr) LogLayers(request, times);
  return status;
}

void FreeReplacement(InferRequest* handle) {
  GetState().requests.erase(handle);
  GetState().free_request(handle);
}

Status CoreCreateReplacement(Core** core) {
  const Status status = GetState().core_create(core);
  if (status != 0) return status;
  if (IsIsaMasked()) Warn("OpenVINO asks the CPU itself what it has: --isa does not apply to it");
  const auto set = FindFunction<SetProperty>("ov_core_set_property");
  const auto get = FindFunction<GetProperty>("ov_core_get_property");
  const auto free = FindFunction<FreeText>("ov_free");
  const std::string threads = std::to_string(PoolThreads());
  bool configured = set != nullptr && set(*core, "CPU", "INFERENCE_NUM_THREADS", threads.c_str()) == 0;
  char* precision = nullptr;
  if (get != nullptr && get(*core, "CPU", "INFERENCE_PRECISION_HINT", &precision) == 0 &&
      precision != nullptr) {
    if (const std::string default_precision = precision; default_precision != "f32") {
      Warn(fmt::format(
          "OpenVINO computes in the program's data type here; in an app it computes in {} on this "
          "CPU unless EXECUTION_MODE_HINT is ACCURACY",
          default_precision));
    }
    if (free != nullptr) free(precision);
  }
  configured = configured && set(*core, "CPU", "EXECUTION_MODE_HINT", "ACCURACY") == 0;
  if (!configured) {
    Warn("this OpenVINO does not take a number of threads and a data type from etprof: it decides itself");
  }
  if (GetState().now != nullptr && (set == nullptr || set(*core, "CPU", "PERF_COUNT", "YES") != 0))
    WarnNoLayers("it has no counters");
  return status;
}

// Replaces dlsym in the backend.
void* DlsymReplacement(void* library, const char* name) {
  void* const real = ::dlsym(library, name);
  const std::string_view function_name = name;
  State& state = GetState();
  if (real == nullptr) return real;
  const auto replace = [&]<typename Function>(Function& original, Function replacement) {
    original = reinterpret_cast<Function>(real);
    return reinterpret_cast<void*>(replacement);
  };
  if (function_name == "ov_core_create") return replace(state.core_create, &CoreCreateReplacement);
  if (function_name == "ov_infer_request_infer") return replace(state.infer, &InferReplacement);
  if (function_name == "ov_infer_request_free") return replace(state.free_request, &FreeReplacement);
  return real;
}

// Opens a library after those it needs in the same folder, since OpenVINO's libraries have no search path for
// each other.
void* OpenWithNeighbors(const fs::path& library) {
  if (const auto file = ElfFile::Open(library.string())) {
    for (const std::string& needed : file->DynamicStrings(ElfFile::kNeeded))
      if (const fs::path neighbor = library.parent_path() / needed; Exists(neighbor))
        OpenWithNeighbors(neighbor);
  }
  return ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
}

Error CannotLoad(const std::string& problem) {
  return Error(ExitCode::kDeviceFailed, problem)
      .Remedy("run `script/bootstrap --openvino`, or name libopenvino_c.so in OPENVINO_LIB_PATH");
}

fs::path FindRuntime(const fs::path& backend) {
  if (const char* override_path = std::getenv("OPENVINO_LIB_PATH");
      override_path != nullptr && *override_path != '\0') {
    if (!Exists(override_path)) throw CannotLoad("no such file").InFile(override_path);
    return override_path;
  }
  // The backend is in site-packages/executorch/lib.
  const fs::path folder =
      fs::weakly_canonical(backend).parent_path().parent_path().parent_path() / "openvino/libs";
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error))
    if (entry.path().filename().string().starts_with("libopenvino_c.so")) return entry.path();
  throw CannotLoad(
      fmt::format("OpenVINO is not installed: there is no libopenvino_c.so in {}", folder.string()));
}

void* Open(const fs::path& library) {
  const CrashContext during("loading " + library.string());
  void* const handle = OpenWithNeighbors(library);
  if (handle == nullptr) throw CannotLoad("cannot be loaded: " + LoaderError()).InFile(library);
  return handle;
}

// ExecuTorch 1.5.1 requires a version from 2025.1 on and before 2026. Version 2026.4.1 crashed in fp32,
// probably because it uses the program's bytes after the backend has freed them.
void CheckVersion(const fs::path& runtime) {
  struct Version {
    const char *build, *description;
  } version{};
  const auto get = FindFunction<Status (*)(Version*)>("ov_get_openvino_version");
  const std::string build =
      get != nullptr && get(&version) == 0 && version.build != nullptr ? version.build : "";
  if (const auto free = FindFunction<void (*)(Version*)>("ov_version_free");
      free != nullptr && !build.empty())
    free(&version);
  if (!build.starts_with("2025.")) {
    throw CannotLoad(fmt::format("is OpenVINO {}, and ExecuTorch's backend needs 2025", build))
        .InFile(runtime);
  }
}

// The slot through which `library` calls the function of this name; nullopt if no such slot can be replaced.
std::optional<LoadedLibrary::Slot> FindSlot(void* code, const char* library, std::string_view function) {
  if (code == nullptr) return std::nullopt;
  for (LoadedLibrary::Slot& slot : LoadedLibrary::Containing(code, library).Slots())
    if (slot.name == function) return std::move(slot);
  return std::nullopt;
}

// Replaces the plugin's clock. If that fails, inferences run without layer times.
void ReplaceClock(const fs::path& runtime) {
  constexpr const char* kSystemClockNowSymbol = "_ZNSt6chrono3_V212system_clock3nowEv";
  const fs::path plugin = runtime.parent_path() / "libopenvino_intel_cpu_plugin.so";
  if (!Exists(plugin)) return WarnNoLayers("its CPU plugin is not next to libopenvino_c.so");
  try {
    const auto slot = FindSlot(::dlsym(Open(plugin), "create_plugin_engine"), "OpenVINO's CPU plugin",
                               kSystemClockNowSymbol);
    if (!slot) return WarnNoLayers("its CPU plugin reads another clock");
    GetState().now = reinterpret_cast<Clock::time_point (*)()>(slot->function);
    GetState().slots.Replace(*slot, reinterpret_cast<void*>(&Now));
  } catch (const Error& error) {
    GetState().now = nullptr;
    WarnNoLayers(error.what());
  }
}

}  // namespace openvino

void LoadOpenvino(const std::filesystem::path& backend) {
  using namespace openvino;
  const fs::path runtime = FindRuntime(backend);
  if (global_state == nullptr) global_state = new State;
  GetState().library = Open(runtime);
  CheckVersion(runtime);
  ::setenv("OPENVINO_LIB_PATH", runtime.c_str(), 1);  // the backend searches for the runtime there
  ReplaceClock(runtime);
  void* const handle = Open(backend);
  const auto dlsym_slot =
      FindSlot(::dlsym(handle, "_ZNK10executorch8backends8openvino15OpenvinoBackend12is_availableEv"),
               "its backend", "dlsym");
  if (!dlsym_slot) throw CannotLoad("is not the backend of this ExecuTorch").InFile(backend);
  GetState().slots.Replace(*dlsym_slot, reinterpret_cast<void*>(&DlsymReplacement));
}

void LogLayersTo(executorch::runtime::EventTracer* tracer) {
  if (openvino::global_state != nullptr) openvino::global_state->tracer = tracer;
}

std::vector<std::string> TakeOpenvinoWarnings() {
  if (openvino::global_state == nullptr) return {};
  return std::exchange(openvino::global_state->warnings, {});
}

}  // namespace etprof::runner
