#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace etprof::runner {

// Loads the XNNPACK backend, which is not linked: it reads the CPU's features when it is loaded, so the ISA
// mask must stand before (isa_mask.h). Looked for in $ETPROF_BACKEND_DIR, beside ExecuTorch's
// other libraries, and beside this program. A runner without it still runs what is not delegated to XNNPACK;
// then the reason is kept for MissingBackend. Returns which operator clock is in force from now on
// (protocol::kExactClock or kXnnpackClock); `exact` asks for the first.
std::string LoadXnnpack(bool exact);

// Loads a library of custom operators or another backend, which registers itself.
// Throws Error (kBadInput) with the loader's reason.
void LoadLibrary(const std::string& path);

// Loads the library of a backend that a program names and that is loaded for such programs only: OpenVINO's
// (openvino/openvino.h), where ExecuTorch has it. Throws Error (kDeviceFailed).
void LoadBackendOf(const std::string& backend);

// What names of ExecuTorch's operators for LLMs begin with: "llama::custom_sdpa.out".
inline constexpr std::string_view kLlmOperators = "llama::";

// Loads ExecuTorch's kernels for LLMs, once, without PyTorch and Python, which their library is linked to:
// what it asks of them while it is loaded is in torch-stand-ins beside this program (llm/torch_stand_ins.cc).
// Looked for in $ETPROF_BACKEND_DIR, in ExecuTorch's wheel, and beside this program. If it cannot be loaded,
// the operators are missing, and the reason is kept for MissingLlmKernelsRemedy.
void LoadLlmKernels();

// What to do about operators for LLMs that nobody registered: the remedy of an Error.
std::string MissingLlmKernelsRemedy();

// How a library is given: the runner's option, and how it gets there from etprof.
inline constexpr const char* kWithLoad = "with --load (in a configuration, \"load\": \"LIBRARY\")";

// What to do about a backend that a model asks for and nobody registered: the remedy of an Error.
std::string MissingBackendRemedy(const std::string& backend);

// Names of all registered backends.
std::vector<std::string> RegisteredBackends();

}  // namespace etprof::runner
