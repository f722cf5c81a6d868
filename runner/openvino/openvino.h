#pragma once

#include <executorch/runtime/core/event_tracer.h>

#include <filesystem>
#include <string>
#include <vector>

// ExecuTorch's OpenVINO backend reports no events, and looks up the functions of libopenvino_c by dlsym. The
// runner replaces some of them (the list is in ExecuTorch's backends/openvino/runtime/OpenvinoBackend.cpp).
// - OpenVINO gets as many threads as the runner's thread pool, and computes in the program's data type
// (EXECUTION_MODE_HINT=ACCURACY), so that etprof reports both correctly. By default, OpenVINO uses every
// core, and bf16 on CPUs that have it.
// - In traced runs, OpenVINO's layers become events of the delegate call, with host times (layer_clock.h).
// Performance counters are on in all runs, since they cannot be switched after a model is compiled.
namespace etprof::runner {

inline constexpr const char* kOpenvinoBackend = "OpenvinoBackend";

// Loads the backend and OpenVINO's runtime: $OPENVINO_LIB_PATH, or else the Python package openvino in the
// environment of `backend`, which is ExecuTorch's library. Only programs for OpenVINO load it. Throws Error
// (kDeviceFailed).
void LoadOpenvino(const std::filesystem::path& backend);

// Logs the layers of every later inference to `tracer`; nullptr: stops logging.
void LogLayersTo(executorch::runtime::EventTracer* tracer);

// Warnings about the models loaded since the last call.
std::vector<std::string> TakeOpenvinoWarnings();

}  // namespace etprof::runner
