#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

#include "core/file/descriptor.h"

namespace etprof {

// Returns whether no process with this id exists, as far as this process can see.
bool ProcessIsGone(pid_t process);

// A folder of this process in the system's temporary folder that only this user can access. The destructor
// removes the folder. If the process is killed, the folder stays, and FindAbandonedFolders finds it.
class ProcessFolder {
 public:
  // The folder's name begins with `prefix`, a hyphen, and the process id. `description` is for messages: "a
  // folder for a checkout". Throws Error (kDeviceFailed).
  ProcessFolder(const std::string& prefix, const std::string& description);
  ProcessFolder(ProcessFolder&&) = delete;
  ~ProcessFolder();

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  Descriptor lock_;  // a locked file in the folder
};

// This user's folders whose names begin with `prefix` and whose process is gone.
std::vector<std::filesystem::path> FindAbandonedFolders(const std::string& prefix);

}  // namespace etprof
