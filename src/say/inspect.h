#pragma once

#include <string>

#include "program/data_file.h"
#include "program/program.h"
#include "say/document.h"

namespace etprof::say {

// What is in a .pte: sizes, then each method's inputs, outputs and steps in program order. `data`: the .ptd
// that may have what it expects there; null: none was given.
Document SayInspect(const Program& program, const std::string& file, const DataFile* data);
// What is in a .ptd: its size and every piece of data, by its name.
Document SayInspect(const DataFile& data, const std::string& file);

}  // namespace etprof::say
