#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace etprof {

// etprof's own file: that of the running program, or what a process of another program named.
std::filesystem::path ExecutablePath();
void SetExecutablePath(const std::filesystem::path& etprof);

// What an etprof that was started said last on stderr: "Problem. Remedy." of its error and hint, else the
// last line.
std::string LastError(const std::string& text);

// etprof-runner: $ETPROF_RUNNER, or the one beside this program. Throws Error (kBadInput) where neither is
// there.
std::filesystem::path DefaultRunner();

// Where `etprof build --target` leaves a target's bundle, unless told otherwise.
std::filesystem::path BundleFolder(const std::string& target);

// The checkout that this program was built in (it holds python/etprof); absent when it was installed
// elsewhere.
std::optional<std::filesystem::path> CheckoutRoot();

// The Python that PyTorch is expected in: $ETPROF_PYTHON (the wheel's own command sets it), else that of the
// environment of `checkout`, else python3.
std::string PythonProgram(const std::optional<std::filesystem::path>& checkout);

}  // namespace etprof
