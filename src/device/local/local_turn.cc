#include "device/local/local_turn.h"

#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <vector>

#include "core/text/escape.h"
#include "core/text/text.h"
#include "device/remote/turns.h"

namespace etprof {
namespace {

namespace fs = std::filesystem;

// etprof's folder on this machine, which the shell scripts of remote.cc find in the same way. Empty: not
// known.
fs::path LocalDeviceFolder() {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value == nullptr ? "" : value);
  };
  if (const std::string given = variable("ETPROF_DEVICE_DIR"); !given.empty())
    return fs::path(given) / "etprof";
  if (const std::string cache = variable("XDG_CACHE_HOME"); !cache.empty()) return fs::path(cache) / "etprof";
  const std::string home = variable("HOME");
  return home.empty() ? fs::path() : fs::path(home) / ".cache" / "etprof";
}

// The start time of this process in the format of the shell function `since` (remote.cc). Empty: not known.
std::string ProcessStartTime() {
  std::string stat, boot;
  std::getline(std::ifstream("/proc/self/stat"), stat);
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), boot);
  const std::size_t name_end = stat.rfind(')');  // the process name may contain blanks
  if (name_end == std::string::npos) return "";
  const std::vector<std::string> fields = Words(stat.substr(name_end + 1));
  return fields.size() < 20 ? "" : fields[19] + " " + boot;
}

bool WriteLine(const fs::path& file, const std::string& line) {
  std::ofstream out(file);
  out << line << '\n';
  out.close();
  return out.good();
}

// Whether `runs` has no folder except `run` (which may be empty).
bool HasNoOtherRun(const fs::path& runs, const fs::path& run) {
  std::error_code error;
  for (fs::directory_iterator entry(runs, error), end; !error && entry != end; entry.increment(error)) {
    if (entry->path().filename() != run.filename()) return false;
  }
  return !error;
}

}  // namespace

std::unique_ptr<LocalDeviceLock> LocalDeviceLock::TryAcquire(const std::string& who) {
  const fs::path folder = LocalDeviceFolder(), runs = folder / "runs";
  const std::string since = ProcessStartTime();
  std::error_code error;
  if (folder.empty() || since.empty() || !fs::exists(folder / ".etprof", error) || !HasNoOtherRun(runs, {}))
    return nullptr;
  const fs::path run = runs / NewRunId();
  if (!fs::create_directory(run, error) || error) return nullptr;
  std::unique_ptr<LocalDeviceLock> lock(new LocalDeviceLock(run));
  // This process is its own guard. Runs that start after this run wrote its ticket wait for it; runs that
  // started earlier are found by the last check.
  if (!WriteLine(run / "since", since) || !WriteLine(run / "guard", std::to_string(::getpid())) ||
      !WriteLine(run / "choosing", "") || !HasNoOtherRun(runs, run) ||
      !WriteLine(run / "turn.part", "1 " + EscapeToOneLine(who)))
    return nullptr;
  fs::rename(run / "turn.part", run / "turn", error);
  if (error || !fs::remove(run / "choosing", error) || !HasNoOtherRun(runs, run)) return nullptr;
  return lock;
}

LocalDeviceLock::~LocalDeviceLock() {
  std::error_code ignored;
  fs::remove(run_ / "turn", ignored);
  fs::remove_all(run_, ignored);
}

}  // namespace etprof
