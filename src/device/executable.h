#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "core/error.h"

namespace etprof {

// Looks up a program of this machine in PATH, unless its name contains a slash. Throws Error (kBadInput) if
// the program does not exist, is a folder, or is not executable.
std::string FindProgram(const std::string& program);

// The architecture of an ELF program as uname -m names it ("x86_64", "aarch64"); empty: another architecture,
// not an ELF file, or unreadable.
std::string ProgramArchitecture(const std::string& program);

// The DT_NEEDED entries of a 64-bit ELF file; empty: no entries, not a 64-bit ELF file, or a truncated file.
std::vector<std::string> NeededLibraries(const std::filesystem::path& program);

// The message for execve failing with errno `error` on an existing file: a script without an interpreter, a
// program for another architecture, an empty file, a missing loader.
Error NotExecutableError(const std::string& program, int error);

}  // namespace etprof
