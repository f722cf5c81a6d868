#pragma once

#include <filesystem>
#include <functional>
#include <ostream>

#include "core/file.h"

namespace etprof {

// Takes a file that an analysis makes: its place, and what writes its contents.
using FileSink =
    std::function<void(const std::filesystem::path&, const std::function<void(std::ostream&)>& contents)>;

// Writes it there.
inline void ToDisk(const std::filesystem::path& file, const std::function<void(std::ostream&)>& contents) {
  WriteFileAtomically(file, contents);
}

}  // namespace etprof
