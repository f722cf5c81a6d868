#pragma once

#include <string>
#include <vector>

namespace etprof {

// What PyTorch makes necessary is Python: this process becomes `PythonProgram() -m MODULE ARGUMENTS...`.
// Throws Error (kDeviceFailed) where it cannot be started; else it does not return.
[[noreturn]] void BecomePython(const std::string& module, const std::vector<std::string>& arguments);

}  // namespace etprof
