#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace etprof {

// Returns whether the output of a failed cmake or git shows a failed download (FetchContent, ExternalProject,
// git, curl), so that a retry may help.
bool IsDownloadFailure(std::string_view output);

// The last `count` lines, without empty lines at the end.
std::string LastLines(std::string_view text, std::size_t count);

// Extracts the failure of the last command from a build log (commands begin with "$ "), in at most `count`
// lines: CMake's errors, beginning with the first, since CMake's output after them is unrelated. Without such
// errors, the last lines.
std::string ExtractFailure(std::string_view log, std::size_t count);

// Ninja's progress: 12 of 345 for "[12/345] Building ...".
struct NinjaProgress {
  int done = 0;
  int total = 0;
};
std::optional<NinjaProgress> ParseNinjaProgress(std::string_view line);

}  // namespace etprof
