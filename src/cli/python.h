#pragma once

#include <string>
#include <vector>

namespace etprof {

// What PyTorch makes necessary is Python: this process becomes `python -m MODULE ARGUMENTS...`, by the Python
// of $ETPROF_PYTHON (the wheel's own command sets it), else of the checkout's environment, else by python3.
// Throws Error (kDeviceFailed) where it cannot be started; else it does not return.
[[noreturn]] void BecomePython(const std::string& module, const std::vector<std::string>& arguments);

}  // namespace etprof
