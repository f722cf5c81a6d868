#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace etprof {

// The Python that PyTorch is expected in: $ETPROF_PYTHON (the wheel's own command sets it), else that of the
// environment of `checkout`, else python3.
std::string PythonProgram(const std::optional<std::filesystem::path>& checkout);

// What PyTorch makes necessary is Python: this process becomes `PythonProgram() -m MODULE ARGUMENTS...`.
// Throws Error (kDeviceFailed) where it cannot be started; else it does not return.
[[noreturn]] void BecomePython(const std::string& module, const std::vector<std::string>& arguments);

}  // namespace etprof
