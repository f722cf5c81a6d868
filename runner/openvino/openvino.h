#pragma once

#include <executorch/runtime/core/event_tracer.h>

#include <filesystem>
#include <string>
#include <vector>

// ExecuTorch's OpenVINO backend. It logs nothing, and it takes the functions of libopenvino_c by dlsym: the
// runner answers for some of them (ExecuTorch's backends/openvino/runtime/OpenvinoBackend.cpp has the list).
// - OpenVINO gets as many threads as the runner's thread pool has, and computes in the program's data type
//   (EXECUTION_MODE_HINT=ACCURACY), so that both are what a report says. By itself it takes every core, and
//   bf16 on CPUs that have it.
// - Its layers become events of the delegate's call in traced runs, with host times (layer_clock.h). Counters
//   are on in all runs: they cannot be switched once a model is compiled.
namespace etprof::runner {

inline constexpr const char* kOpenvinoBackend = "OpenvinoBackend";

// Loads the backend and OpenVINO's runtime: $OPENVINO_LIB_PATH, else the Python package openvino of the
// environment that `backend`, ExecuTorch's library, is in. Nothing of it is loaded for other programs.
// Throws Error (kDeviceFailed).
void LoadOpenvino(const std::filesystem::path& backend);

// From now on the layers of every inference are logged there; nullptr: nowhere.
void LogLayersTo(executorch::runtime::EventTracer* tracer);

// What to know of the models that were loaded since the last call.
std::vector<std::string> TakeOpenvinoWarnings();

}  // namespace etprof::runner
