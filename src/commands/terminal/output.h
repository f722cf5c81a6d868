#pragma once

#include <filesystem>
#include <functional>
#include <ostream>

#include "core/error.h"
#include "core/file/file.h"

namespace etprof {

// Writes a file: `write` writes its contents. For a file that a user named, the command line uses
// WriteOutput, for which "-" is the standard output.
using FileWriter =
    std::function<void(const std::filesystem::path& file, const std::function<void(std::ostream&)>& write)>;

// The Python module's FileWriter, which writes nothing to the standard output: throws Error (kUsage) for
// "-", and otherwise calls WriteOutput.
inline void WriteOutputRejectingStdout(const std::filesystem::path& file,
                                       const std::function<void(std::ostream&)>& write) {
  if (file == "-")
    throw Error(ExitCode::kUsage, "is the command line's standard output").InFile("-").Remedy("name a file");
  WriteOutput(file, write);
}

}  // namespace etprof
