#pragma once

#include <filesystem>

namespace etprof {

// Access to files of a folder whose names come from an untrusted source (a manifest). `name` is relative to
// `root`. Symbolic links and ".." in `name` are refused, so that nothing outside of the real path of `root`
// is reached, even if somebody changes the folder at the same time.

// Returns whether `name` is a regular file, reached without links.
bool IsFileBeneath(const std::filesystem::path& root, const std::filesystem::path& name);

// Returns whether `name` is a folder, reached without links.
bool IsFolderBeneath(const std::filesystem::path& root, const std::filesystem::path& name);

// Removes the regular file `name`, and then its folder if that is empty (never `root`). Does nothing if
// `name` is not a regular file.
void RemoveFileBeneath(const std::filesystem::path& root, const std::filesystem::path& name);

// Returns whether `path`, with its links resolved, is within `root`. A path that does not exist yet counts as
// if it existed.
bool LiesBeneath(const std::filesystem::path& root, const std::filesystem::path& path);

}  // namespace etprof
