#pragma once

#include <filesystem>
#include <string>

namespace etprof {

// The ExecuTorch version that a model was exported with, from the `.pte.json` beside it; empty: not known.
// `text` gets that file's JSON, where there is one.
std::string ExportVersion(const std::filesystem::path& model, std::string* text);

}  // namespace etprof
