#pragma once

#include <filesystem>
#include <functional>
#include <ostream>

namespace etprof {

// Writes a file that a user named. The command line uses WriteOutput, for which "-" is the standard output.
using Output =
    std::function<void(const std::filesystem::path& file, const std::function<void(std::ostream&)>& write)>;

// The Output of the Python module, which writes nothing to the standard output: throws Error (kUsage) for
// "-", else as WriteOutput.
void WriteNamedFile(const std::filesystem::path& file, const std::function<void(std::ostream&)>& write);

}  // namespace etprof
