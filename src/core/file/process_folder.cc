#include "core/file/process_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "core/file/file.h"
#include "core/text/text.h"

namespace etprof {
namespace {

constexpr const char* kOwnerLock = ".owner";

Descriptor OpenOwnerLock(const std::filesystem::path& folder, int flags) {
  const std::string file = folder / kOwnerLock;
  return Descriptor(::open(file.c_str(), flags | O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600));
}

// Returns whether a process still uses the folder: the process in its name exists, or the owner lock is held.
// A process in another container has a process id that means nothing here, but it holds the lock.
bool IsInUse(const std::filesystem::path& folder, pid_t process) {
  if (!ProcessIsGone(process)) return true;
  const Descriptor lock = OpenOwnerLock(folder, 0);
  if (!lock) return errno != ENOENT;
  return ::flock(lock.number(), LOCK_EX | LOCK_NB) != 0;
}

}  // namespace

bool ProcessIsGone(pid_t process) { return ::kill(process, 0) != 0 && errno == ESRCH; }

ProcessFolder::ProcessFolder(const std::string& prefix, const std::string& description)
    : path_(MakeTemporaryFolder(fmt::format("{}-{}", prefix, ::getpid()), description)) {
  lock_ = OpenOwnerLock(path_, O_CREAT);
  if (lock_) ::flock(lock_.number(), LOCK_EX | LOCK_NB);
}

ProcessFolder::~ProcessFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::vector<std::filesystem::path> FindAbandonedFolders(const std::string& prefix) {
  namespace fs = std::filesystem;
  std::vector<fs::path> folders;
  std::error_code error;
  for (fs::directory_iterator entry(fs::temp_directory_path(error), error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (!name.starts_with(prefix + "-")) continue;
    const std::string suffix = name.substr(prefix.size() + 1);
    const auto process = AsNumber<pid_t>(suffix.substr(0, suffix.find('-')));
    struct stat status {};
    if (!process || *process <= 0 || ::lstat(entry->path().c_str(), &status) != 0 ||
        !S_ISDIR(status.st_mode) || status.st_uid != ::geteuid())
      continue;
    if (!IsInUse(entry->path(), *process)) folders.push_back(entry->path());
  }
  return folders;
}

}  // namespace etprof
