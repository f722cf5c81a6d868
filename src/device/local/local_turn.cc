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

// As remote.cc and kHomeFolder say it to the shell. Empty: not known.
fs::path FolderHere() {
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

// When this process began, as the shell's `since` says it (remote.cc). Empty: not known.
std::string SinceOfThisProcess() {
  std::string stat, boot;
  std::getline(std::ifstream("/proc/self/stat"), stat);
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), boot);
  const std::size_t name_end = stat.rfind(')');  // the name may have blanks
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

bool AloneIn(const fs::path& runs, const fs::path& run) {
  std::error_code error;
  for (fs::directory_iterator entry(runs, error), end; !error && entry != end; entry.increment(error)) {
    if (entry->path().filename() != run.filename()) return false;
  }
  return !error;
}

}  // namespace

std::unique_ptr<LocalTurn> LocalTurn::TakeIfAlone(const std::string& who) {
  const fs::path folder = FolderHere(), runs = folder / "runs";
  const std::string since = SinceOfThisProcess();
  std::error_code error;
  if (folder.empty() || since.empty() || !fs::exists(folder / ".etprof", error) || !AloneIn(runs, {}))
    return nullptr;
  const fs::path run = runs / NewRunId();
  if (!fs::create_directory(run, error) || error) return nullptr;
  std::unique_ptr<LocalTurn> turn(new LocalTurn(run));
  // This process is its own guard. From its number on whoever comes waits for it; who came before that is
  // seen now.
  if (!WriteLine(run / "since", since) || !WriteLine(run / "guard", std::to_string(::getpid())) ||
      !WriteLine(run / "choosing", "") || !AloneIn(runs, run) ||
      !WriteLine(run / "turn.part", "1 " + OneLine(who)))
    return nullptr;
  fs::rename(run / "turn.part", run / "turn", error);
  if (error || !fs::remove(run / "choosing", error) || !AloneIn(runs, run)) return nullptr;
  return turn;
}

LocalTurn::~LocalTurn() {
  std::error_code ignored;
  fs::remove(run_ / "turn", ignored);
  fs::remove_all(run_, ignored);
}

}  // namespace etprof
