#pragma once

#include <filesystem>

namespace etprof {

// Files of a folder that are named by something that is not trusted (a manifest). `name` is relative to
// `root`; links in it are not followed, and neither is "..", so that nothing outside of the real path of
// `root` is reached, whoever changes the folder meanwhile.

// Whether it is a regular file, reached without links.
bool IsFileBeneath(const std::filesystem::path& root, const std::filesystem::path& name);

// Whether it is a folder, reached without links.
bool IsFolderBeneath(const std::filesystem::path& root, const std::filesystem::path& name);

// Removes the regular file, and the folder that it leaves empty (not `root`). Nothing where it is no such
// file.
void RemoveFileBeneath(const std::filesystem::path& root, const std::filesystem::path& name);

// Whether `path`, once its links are followed, lies in what `root` is; what is not there yet counts as where
// it would be.
bool LiesBeneath(const std::filesystem::path& root, const std::filesystem::path& path);

}  // namespace etprof
