#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/error.h"

namespace etprof {

// The path of a program of this machine: as it is when it has a slash, else looked up in PATH. Throws Error
// (kBadInput) when it is not there, is a folder, or may not be executed.
std::string FindProgram(const std::string& program);

// The architecture that a program of ELF is for, as uname -m names it ("x86_64", "aarch64"); empty: another
// or none, or the file cannot be read.
std::string ProgramArchitecture(const std::string& program);

// The libraries that a 64-bit ELF file is linked against (its DT_NEEDED entries), as it names them; empty:
// none, or it is no such file, or cut short.
std::vector<std::string> NeededLibraries(const std::filesystem::path& program);

// Why the system would not execute a file that is there (`error` is execve's errno): a script without an
// interpreter, a program for another architecture, an empty file, a missing loader.
Error WhyNotExecutable(const std::string& program, int error);

}  // namespace etprof
