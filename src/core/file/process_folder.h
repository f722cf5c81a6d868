#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

namespace etprof {

// Whether there is no process of this number, as far as this one can see.
bool ProcessIsGone(pid_t process);

// A folder among the system's temporary files that this process uses, for this user alone, and that goes with
// the object. After a kill it stays, and AbandonedFolders finds it.
class ProcessFolder {
 public:
  // Its name begins with `start`, a hyphen, and the process's number. `what` is for people: "a folder for a
  // checkout". Throws Error (kDeviceFailed).
  ProcessFolder(const std::string& start, const std::string& what);
  ProcessFolder(ProcessFolder&&) = delete;
  ~ProcessFolder();

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  int lock_ = -1;  // on a file in it, for as long as this lives
};

// Such folders of that start that are this user's and whose process is gone.
std::vector<std::filesystem::path> AbandonedFolders(const std::string& start);

}  // namespace etprof
