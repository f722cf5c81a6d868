#include "core/file/beneath.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "core/file/descriptor.h"

namespace etprof {
namespace {

namespace fs = std::filesystem;

// Opens the folders of `name` one after the other: root, root/a, root/a/b. Empty if a part is not a folder,
// is a link, or is "..".
std::vector<Descriptor> OpenFolders(const fs::path& root, const fs::path& name) {
  std::vector<Descriptor> folders;
  folders.emplace_back(::open(root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  for (const fs::path& part : name) {
    if (!folders.back() || part == ".." || part == "." || part.empty() || part.is_absolute()) return {};
    const int parent = folders.back().number();
    folders.emplace_back(::openat(parent, part.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  }
  if (!folders.back()) return {};
  return folders;
}

bool IsRegularFile(const Descriptor& folder, const fs::path& name) {
  struct stat status {};
  return ::fstatat(folder.number(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
         S_ISREG(status.st_mode);
}

}  // namespace

bool IsFileBeneath(const fs::path& root, const fs::path& name) {
  const std::vector<Descriptor> folders = OpenFolders(root, name.parent_path());
  return !folders.empty() && name.has_filename() && IsRegularFile(folders.back(), name.filename());
}

bool IsFolderBeneath(const fs::path& root, const fs::path& name) { return !OpenFolders(root, name).empty(); }

void RemoveFileBeneath(const fs::path& root, const fs::path& name) {
  const std::vector<Descriptor> folders = OpenFolders(root, name.parent_path());
  if (folders.empty() || !name.has_filename() || !IsRegularFile(folders.back(), name.filename())) return;
  ::unlinkat(folders.back().number(), name.filename().c_str(), 0);
  if (folders.size() > 1) {
    // Removes the folder only if it is empty now.
    ::unlinkat(folders[folders.size() - 2].number(), name.parent_path().filename().c_str(), AT_REMOVEDIR);
  }
}

bool LiesBeneath(const fs::path& root, const fs::path& path) {
  std::error_code error;
  const fs::path real_root = fs::weakly_canonical(root, error);
  if (error) return false;
  const fs::path real_path = fs::weakly_canonical(path, error);
  if (error) return false;
  const auto [end, ignored] =
      std::mismatch(real_root.begin(), real_root.end(), real_path.begin(), real_path.end());
  return end == real_root.end();
}

}  // namespace etprof
