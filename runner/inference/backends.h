#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace etprof::runner {

// Loads the XNNPACK backend, which is not linked: it reads the CPU features when it is loaded, so the ISA
// mask must be applied before (isa_mask.h). Searches $ETPROF_BACKEND_DIR, or else the folder of ExecuTorch's
// libraries and that of this program. Without the backend, the runner still runs programs that are not
// delegated to XNNPACK; MissingBackendRemedy() then gives the reason. Returns the operator clock in use
// (protocol::kExactClock or kXnnpackClock); `exact` requests kExactClock.
std::string LoadXnnpack(bool exact);

// Sets the options in $ETPROF_XNNPACK_OPTIONS, such as "workspace_sharing_mode=0,weight_cache_enabled=1", for
// programs that are loaded later. Does nothing if the variable is not set. `release` is the release of
// ExecuTorch's libraries. Throws Error (kUsage) for an invalid option, and (kDeviceFailed) if the backend
// refuses an option.
void SetXnnpackOptions(const std::string& release);

// Loads a library of custom operators or another backend, which registers itself.
// Throws Error (kBadInput) with the loader's reason.
void LoadLibrary(const std::string& path);

// Loads the library of a backend that a program names, if it is only loaded on demand: OpenVINO's
// (openvino/openvino.h), if ExecuTorch has it. Throws Error (kDeviceFailed).
void LoadOptionalBackend(const std::string& backend);

// The prefix of ExecuTorch's operators for LLMs: "llama::custom_sdpa.out".
inline constexpr std::string_view kLlmOperators = "llama::";

// Loads ExecuTorch's kernels for LLMs, once. Their library is linked to PyTorch and Python, but needs
// neither: the symbols that it uses while loading are in torch-stand-ins next to this program
// (llm/torch_stand_ins.cc). Searches $ETPROF_BACKEND_DIR, or else ExecuTorch's wheel and the folder of this
// program. If loading fails, the operators are missing, and MissingLlmKernelsRemedy() gives the reason.
void LoadLlmKernels();

// The remedy for missing operators for LLMs.
std::string MissingLlmKernelsRemedy();

// Ends messages about missing libraries: the runner's option, and the configuration's key.
inline constexpr const char* kLoadLibraryHint = "with --load (in a configuration, \"load\": \"LIBRARY\")";

// The remedy for a backend that a model needs and that is not registered.
std::string MissingBackendRemedy(const std::string& backend);

std::vector<std::string> RegisteredBackends();

}  // namespace etprof::runner
