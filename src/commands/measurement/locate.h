#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace etprof {

// The path of the etprof program: the running program, or the path that Python has set.
std::filesystem::path ExecutablePath();
void SetExecutablePath(const std::filesystem::path& etprof);

// Returns the last error in the stderr of an etprof process: "Problem. Remedy." of its error and hint, or the
// last line if there is no error.
std::string LastError(const std::string& text);

// Returns $ETPROF_RUNNER, or the etprof-runner next to this program. Throws Error (kBadInput) if neither
// exists.
std::filesystem::path DefaultRunner();

// The folder in which `etprof build --target` puts a target's bundle by default.
std::filesystem::path BundleFolder(const std::string& target);

// The checkout that this program was built in (it holds python/etprof); absent if etprof was installed
// elsewhere.
std::optional<std::filesystem::path> CheckoutRoot();

// The Python in which PyTorch is expected: $ETPROF_PYTHON (the wheel's own command sets it), else the Python
// of `checkout`, else python3.
std::string PythonProgram(const std::optional<std::filesystem::path>& checkout);

}  // namespace etprof
