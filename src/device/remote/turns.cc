#include "device/remote/turns.h"

#include <fmt/format.h>

#include <chrono>
#include <random>
#include <sstream>

#include "core/text/escape.h"
#include "core/text/text.h"
#include "device/device.h"

namespace etprof {

std::string NewRunId() {
  std::random_device random;
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return fmt::format("{}-{:08x}", std::chrono::duration_cast<std::chrono::seconds>(now).count(), random());
}

std::string JoinLockQueueScript(const std::string& run_id, const std::string& who) {
  // The ticket is renamed into place, so other runs find either `choosing` or a complete ticket.
  return fmt::format(R"sh(if [ ! -f runs/{0}/turn ]; then
  : >runs/{0}/choosing || exit 1
  n=0
  for r in runs/*; do
    t=0
    [ -f "$r/turn" ] && read -r t w 2>/dev/null <"$r/turn"
    case $t in ''|*[!0-9]*) t=0;; esac
    [ "$t" -le "$n" ] || n=$t
  done
  printf '%s %s\n' "$((n + 1))" {1} >runs/{0}/turn.part && mv runs/{0}/turn.part runs/{0}/turn || exit 1
  rm -f runs/{0}/choosing
fi)sh",
                     run_id, ShellQuoted(EscapeToOneLine(who)));
}

std::string WaitForLockScript(const std::string& run_id, const std::string& known, int seconds,
                              const std::string& end_run) {
  return fmt::format(R"sh(LC_ALL=C
export LC_ALL
look() {{
  first= least= count=0 after=
  read -r mine w 2>/dev/null <runs/{0}/turn || {{ echo lost; exit 0; }}
  for r in runs/*; do
    [ "$r" != runs/{0} ] || {{ after=1; continue; }}
    [ -f "$r/turn" ] || [ -f "$r/choosing" ] || continue
    if over "$r"; then
      ( cd "$r" || exit 0
{3} ) >/dev/null
      continue
    fi
    if [ -f "$r/choosing" ]; then
      count=$((count + 1)) first=${{first:-another etprof}}
      continue
    fi
    read -r t w 2>/dev/null <"$r/turn" || continue
    case $t in ''|*[!0-9]*) continue;; esac
    if [ "$t" -gt "$mine" ] || {{ [ "$t" -eq "$mine" ] && [ -n "$after" ]; }}; then continue; fi
    count=$((count + 1))
    if [ -z "$least" ] || [ "$t" -lt "$least" ]; then least=$t first=$w; fi
  done
}}
i=0
while :; do
  look
  [ "$count" -gt 0 ] || {{ echo ours; exit 0; }}
  [ "$first" = {1} ] && [ "$i" -lt {2} ] || {{ printf 'before\t%s\t%s\n' "$count" "$first"; exit 0; }}
  i=$((i + 1))
  sleep 1
done)sh",
                     run_id, ShellQuoted(known), seconds, end_run);
}

DeviceLockState ParseLockState(const std::string& printed) {
  DeviceLockState lock;
  std::istringstream lines(printed);
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (line == "ours") lock.acquired = true;
    if (line == "lost") lock.lost = true;
    std::istringstream fields(line);
    std::string kind, count;
    std::getline(fields, kind, '\t');
    if (kind != "before") continue;
    std::getline(fields, count, '\t');
    lock.runs_ahead = AsNumber<int>(count).value_or(1);
    std::getline(fields, lock.holder);
  }
  return lock;
}

std::string ReleaseLockScript(const std::string& run_id) {
  return fmt::format("rm -f runs/{0}/turn runs/{0}/choosing", run_id);
}

}  // namespace etprof
