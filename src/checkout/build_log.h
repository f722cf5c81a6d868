#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace etprof {

// Whether the output of a failed cmake or git says that something could not be downloaded (FetchContent,
// ExternalProject, git, curl), so that trying again may help.
bool IsDownloadFailure(std::string_view output);

// The last `count` lines, without what is empty at the end.
std::string LastLines(std::string_view text, std::size_t count);

// What a build's log (lines of commands begin with "$ ") says of the failure of its last command, in at most
// `count` lines: CMake's errors, the first of them first, since what CMake prints behind them says nothing of
// it. Without such errors the last lines.
std::string FailureIn(std::string_view log, std::size_t count);

// "[12/345] Building ...": how far Ninja is.
struct NinjaProgress {
  int done = 0;
  int total = 0;
};
std::optional<NinjaProgress> ParseNinjaProgress(std::string_view line);

}  // namespace etprof
