#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <initializer_list>
#include <map>
#include <random>
#include <sstream>
#include <thread>

#include "core/file/file.h"
#include "core/file/sha256.h"
#include "core/text/escape.h"
#include "core/text/text.h"
#include "core/units.h"
#include "device/bundle.h"
#include "device/local/local.h"
#include "device/local/local_properties.h"
#include "device/remote/connection.h"
#include "device/remote/remote_process.h"
#include "device/remote/remote_properties.h"
#include "device/tool.h"

namespace etprof {
namespace {

namespace fs = std::filesystem;

constexpr double kAnswerTimeoutSeconds = 30;  // time limit for scripts that end at once
constexpr double kDigestTimeoutSeconds = 600;
constexpr double kGuardExitTimeoutSeconds = 30;  // time for the guard to end; it may have settings to restore
constexpr double kUnresponsiveCleanupTimeoutSeconds = 5;  // cleanup on a device that did not answer correctly
constexpr std::string_view kHeldPrefix = "held ";         // prefix of the lock holder in the guard's answer
constexpr const char* kBeginLine = "ETPROF-BEGIN";        // first line of each script's output

// A new name for a run's folder, unique among all hosts that use a device. kDefineIsOwnFolder checks the same
// format.
std::string NewRunId() {
  std::random_device random;
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return fmt::format("{}-{:08x}", std::chrono::duration_cast<std::chrono::seconds>(now).count(), random());
}

// Cleans up after a run: kills its processes and removes the folder. The script runs in the run's folder.
std::string EndRunScript() {
  return kDefineKillGroup + std::string(R"sh(
for f in pids/*; do [ -f "$f" ] && kill_group "$(cat "$f")"; done
d=$(pwd); rm -rf "../../cache/.part-${d##*/}"; [ -f keep ] || { cd /; rm -rf "$d"; })sh");
}

// Defines `is_over FOLDER`, which tests whether the run in that folder is over: its guard is dead. A run that
// has just begun has no `guard` file yet, or an empty one. PIDs are reused, after a restart of the device
// soon, so `start_time PID` prints a process's start time to compare.
constexpr const char* kDefineIsOver =
    R"sh(start_time() {
  if [ -r "/proc/$1/stat" ]; then
    read -r s 2>/dev/null <"/proc/$1/stat" || return 0
    set -- ${s##*)}
    case $1 in Z|X) return 0;; esac
    printf '%s ' "${20}"
    cat /proc/sys/kernel/random/boot_id 2>/dev/null || echo
  else LC_ALL=C ps -o lstart= -p "$1" 2>/dev/null; fi
}
is_over() {
  if [ -s "$1/guard" ]; then
    g=$(cat "$1/guard")
    kill -0 "$g" 2>/dev/null || return 0
    [ -f "$1/since" ] && [ "$(cat "$1/since")" != "$(start_time "$g")" ]
  else [ -n "$(find "$1" -prune -mmin +1 2>/dev/null)" ]; fi
})sh";

// Defines `is_own run|cache FOLDER`, which tests whether the folder has a name that etprof gives to a run or
// to a folder of the cache. etprof removes no other folders.
constexpr const char* kDefineIsOwnFolder =
    R"sh(is_own() {
  [ -d "$2" ] && [ ! -h "$2" ] || return 1
  n=${2##*/}
  n=${n#.part-}
  n=${n#.removed-}
  case $1,$n in
    run,*[!0-9a-f-]*|run,*-*-*) return 1;;
    run,[0-9]*-????????) return 0;;
    cache,*[!0-9a-f]*) return 1;;
    cache,????????????????????) return 0;;
  esac
  return 1
})sh";

// Defines `end_dead_runs`, which cleans up after the runs whose guards are dead. It runs in etprof's folder.
std::string DefineEndDeadRuns() {
  return fmt::format(R"sh(end_dead_runs() {{
  for r in runs/*; do
    is_own run "$r" && [ ! -f "$r/keep" ] && is_over "$r" || continue
    ( cd "$r" || exit 0
{} ) >/dev/null
  done
}})sh",
                     EndRunScript());
}

// Defines `lock`, `unlock`, and `restore_abandoned`, which run in etprof's folder. `lock` tries to acquire
// the device's lock: the kernel's lock (flock(2)) of the file `lock`, which lasts as long as this shell keeps
// descriptor 9. The first waiting process has the lock of the file `next` (descriptor 8), so that no other
// process overtakes it. Systems without flock(1), such as macOS, have perl. `restore_abandoned` restores
// settings that a dead holder has changed.
constexpr const char* kDefineLock =
    R"sh(try() {
  if command -v flock >/dev/null 2>&1; then flock -n "$1"
  elif command -v perl >/dev/null 2>&1; then
    perl -e 'use Fcntl ":flock"; open(F, ">&=", $ARGV[0]) && flock(F, LOCK_EX | LOCK_NB) or exit 1' "$1"
  elif [ "$1" = 9 ]; then echo unlockable; fi
}
lock() {
  [ -n "$queued" ] || exec 8>>next 9>>lock
  queued=1
  try 8 && try 9 || return 1
  exec 8>&-
  queued=
}
unlock() { exec 8>&- 9>&-; queued=; }
restore_abandoned() { [ ! -f settings.before ] || ( lock && restore_power ); })sh";

constexpr std::size_t kCacheNameDigits = 20;  // digits of a digest that name a folder of the cache

class RemoteDevice : public Device {
 public:
  RemoteDevice(std::unique_ptr<Connection> connection, RemoteOptions options)
      : connection_(std::move(connection)), options_(std::move(options)), id_(NewRunId()) {
    RemoteDevice::SetInterrupted(options_.interrupted);
    Open();
  }
  ~RemoteDevice() override {
    try {
      RemoteDevice::CleanUp();
    } catch (const Error&) {
      // The guard cleans up when the connection ends.
    }
  }
  RemoteDevice(RemoteDevice&&) = delete;

  std::string Name() const override { return connection_->Name(); }

  DeviceProperties Properties() override {
    return ParseProperties(RunOrThrow(PropertiesScript(), "say what it is"), Name());
  }

  std::optional<Bytes> AvailableMemory() override {
    return ParseAvailableMemory(RunOrThrow(LimitsScript(), "say how much memory it has"));
  }
  ResourceLimits Limits() override { return ParseLimits(RunOrThrow(LimitsScript(), "say what it may use")); }

  std::string Put(const fs::path& local) override {
    // The runner finds a model's `.inputs` file next to the model.
    std::vector<fs::path> files = {local};
    fs::path inputs = local;
    inputs += ".inputs";
    std::error_code ignored;
    if (fs::is_regular_file(inputs, ignored)) files.push_back(inputs);
    return PutFolder(local, files) + "/" + local.filename().string();
  }

  PowerMode SetPowerMode(const std::string& name) override {
    PowerMode mode = FindPowerMode(name);
    const std::string script =
        fmt::format("cd {} || exit 1\n{}", ShellQuoted(folder_), SetPowerModeScript(mode));
    power_mode_ = name;
    ReadPowerMode(RunOrThrow(script, "be put into the power mode " + name), Name(), mode);
    return mode;
  }

  void AcquireLock(const std::string& owner,
                   const std::function<void(const std::string&)>& on_wait) override {
    lock_owner_ = owner;
    on_lock_wait_ = on_wait;
    std::string holder;
    for (int tenths = 0;; ++tenths) {
      if (interrupted_ && interrupted_()) {
        ReleaseLock();
        throw Error(ExitCode::kInterrupted, "interrupted");
      }
      if (tenths % 10 == 0) {
        const std::string answer =
            RequestFromGuard("lock " + EscapeToOneLine(owner), {"locked", kHeldPrefix});
        if (answer == "locked") return;
        if (on_wait && !answer.empty() && answer != holder)
          on_wait("waiting for " +
                  (answer == kHeldPrefix ? "another etprof" : answer.substr(kHeldPrefix.size())));
        holder = answer;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
  }

  void ReleaseLock() override {
    if (lock_owner_.empty()) return;
    lock_owner_.clear();
    power_mode_.clear();
    RequestFromGuard("unlock", {"unlocked"});
  }

  std::vector<std::string> PutProgram(const fs::path& local,
                                      const std::vector<fs::path>& libraries) override {
    const std::optional<RunnerBundle> bundle = FindBundle(local);
    std::vector<fs::path> files = libraries;
    if (!bundle) {
      files.insert(files.begin(), local);
      return {PutFolder(local, files) + "/" + local.filename().string()};
    }
    for (const BundleManifest::File& file : bundle->manifest.files)
      files.push_back(bundle->folder / file.name);
    return bundle->StartCommand(PutFolder(local, files));
  }

  std::string ReserveOutputPath(const fs::path& local) override {
    return fmt::format("{}/{}_{}", run_, ++reserved_outputs_, local.filename().string());
  }

  bool Get(const std::string& remote, const fs::path& local) override {
    ToolResult probe =
        Run(fmt::format("test -f {0} && wc -c <{0} && {1}", ShellQuoted(remote), DigestScript(remote)),
            kDigestTimeoutSeconds);
    if (!probe.Success()) return false;
    const Bytes size = TakeAnnouncedSize(probe, remote, local);
    const std::string digest = ParseDigest(probe);
    fs::path part = local;
    part += ".part";
    std::string reason;
    const bool copied = connection_->Pull(remote, part, size, reason);
    std::error_code ignored;
    if (!copied || fs::file_size(part) != static_cast<std::uintmax_t>(size) ||
        (!digest.empty() && Sha256HexOfFile(part) != digest)) {
      fs::remove(part, ignored);
      RequireConnection("while it sent " + local.filename().string());
      throw Error(ExitCode::kDeviceFailed,
                  "could not be fetched from the device: " + (copied ? "it arrived changed" : reason))
          .InFile(Name() + " " + remote);
    }
    fs::rename(part, local);
    Run("rm -f " + ShellQuoted(remote), kAnswerTimeoutSeconds);
    return true;
  }

  void CleanUp() override {
    if (!guard_) return;
    if (options_.keep && is_responsive_) Run(": >" + ShellQuoted(run_ + "/keep"), kAnswerTimeoutSeconds);
    guard_->CloseInput();
    // The guard on the device ends by itself even if the device does not answer.
    std::istringstream lines(
        ReadOutput(*guard_, is_responsive_ ? kGuardExitTimeoutSeconds : kUnresponsiveCleanupTimeoutSeconds)
            .text);
    for (std::string line; std::getline(lines, line);) ForwardGuardWarning(line);
    guard_->Wait(kUnresponsiveCleanupTimeoutSeconds);
    guard_.reset();
    connection_->Close();
  }

  StoredFiles GetStoredFiles() override {
    return ParseStoredFiles(RunOrThrow(StoredFilesScript(false), "say what etprof left there"));
  }
  StoredFiles RemoveStoredFiles() override {
    const StoredFiles removed =
        ParseStoredFiles(RunOrThrow(StoredFilesScript(true), "remove what etprof left there"));
    put_folders_.clear();
    return removed;
  }

  bool WaitUntilBack(double timeout_seconds) override {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::duration<double>(timeout_seconds);
    guard_.reset();
    // Starts a new run: the old run's guard may still be cleaning up, or may not have noticed the lost
    // connection.
    old_id_ = std::exchange(id_, NewRunId());
    while (!(interrupted_ && interrupted_())) {
      try {
        Open();
      } catch (const Error&) {
        if (std::chrono::steady_clock::now() >= deadline) return false;
        std::this_thread::sleep_for(std::chrono::milliseconds(500));
        continue;
      }
      try {
        // The lock ended with the old guard, so another run may hold it now.
        if (!lock_owner_.empty()) AcquireLock(std::string(lock_owner_), std::function(on_lock_wait_));
        if (!power_mode_.empty()) SetPowerMode(power_mode_);
        return true;
      } catch (const DeviceLost&) {
        // Connect again.
      } catch (const Error& error) {
        if (error.exit_code() != ExitCode::kInterrupted) throw;
      }
    }
    return false;
  }

  std::unique_ptr<Process> Start(const Command& command, Sink on_stderr) override {
    const std::string tag = std::to_string(++started_processes_);
    auto process = std::make_unique<RemoteProcess>(tag, std::move(on_stderr), [this, tag] {
      try {
        Run(fmt::format("{}\nkill_group $(cat {}/pids/{})", kDefineKillGroup, ShellQuoted(run_), tag),
            kAnswerTimeoutSeconds);
        return true;
      } catch (const DeviceLost&) {
        return false;  // the guard kills the process
      } catch (const Error&) {
        return true;  // the guard kills the process
      }
    });
    Command client;
    client.arguments = connection_->Shell(StartScript(command, run_, tag));
    process->SetClient(StartLocalProcess(client, process->ErrorSink(), interrupted_));
    return process;
  }

  void SetInterrupted(std::function<bool()> interrupted) override {
    interrupted_ = std::move(interrupted);
    connection_->SetInterrupted(interrupted_);
  }

 private:
  void Open() {
    connection_->Open();
    // The script prints the folder's path, which only the device's shell can expand.
    const std::string script = fmt::format(
        R"sh({3}
{5}
{6}
{1}
{7}
d=${{ETPROF_DEVICE_DIR:+"$ETPROF_DEVICE_DIR/etprof"}}
d=${{d:-{0}}}
mkdir -p "$d" && cd "$d" || exit 1
if [ ! -f .etprof ]; then
  for f in * .[!.]*; do
    case $f in cache|executorch|runs|settings.before|settings.lock|lock|next|holder|.etprof|.removed-*|'*'|'.[!.]*') ;; *)
      echo "$d is there already, and not a folder of etprof's: it has $f; set ETPROF_DEVICE_DIR there to another" >&2
      exit 1;; esac
  done
  echo "etprof keeps its files in this folder" >.etprof || exit 1
fi
mkdir -p cache runs || exit 1
mkdir -p runs/{2}/pids || exit 1
[ -d runs/{4} ] && ! is_over runs/{4} && kill -9 "$(cat runs/{4}/guard)" 2>/dev/null
end_dead_runs
restore_abandoned >/dev/null
for p in cache/.part-*; do [ -d "runs/${{p#cache/.part-}}" ] || ! is_own run "$p" || rm -rf "$p"; done
pwd)sh",
        connection_->DefaultFolder(), DefineEndDeadRuns(), id_, kDefineIsOver,
        old_id_.empty() ? "none" : old_id_, kDefineRestorePower, kDefineIsOwnFolder, kDefineLock);
    try {
      const std::string folder = RunOrThrow(script, "make a folder for etprof's files");
      folder_ = folder.substr(0, folder.find('\n'));
      run_ = folder_ + "/runs/" + id_;
      put_folders_.clear();  // the connection may reach another device now, or the cache may be gone
      StartGuard();
    } catch (const DeviceLost&) {
      throw;
    } catch (const Error& error) {
      guard_.reset();
      if (error.exit_code() != ExitCode::kInterrupted) RemoveRun();
      throw;
    }
  }

  // Removes the run's folder on a device whose shell may have made the folder, but whose output is unusable.
  void RemoveRun() {
    try {
      RunTool(connection_->Shell(fmt::format(
                  R"sh(d=${{ETPROF_DEVICE_DIR:+"$ETPROF_DEVICE_DIR/etprof"}}; rm -rf "${{d:-{}}}"/runs/{})sh",
                  connection_->DefaultFolder(), id_)),
              {.timeout_seconds = kUnresponsiveCleanupTimeoutSeconds,
               .limit_output = true,
               .interrupted = interrupted_});
    } catch (const Error&) {
      // The next etprof process removes the folder.
    }
  }

  // Removes the first line of the output, and returns it as the size of the file `remote`, which will be
  // fetched to `local`. Throws Error (kDeviceFailed) if the file is larger than the files that etprof reads,
  // or than the free disk space.
  Bytes TakeAnnouncedSize(ToolResult& answer, const std::string& remote, const fs::path& local) const {
    const std::size_t end = std::min(answer.output.find('\n'), answer.output.size());
    const auto size = AsNumber<Bytes>(Trimmed(answer.output.substr(0, end)));
    const std::string quoted = QuotedStart(answer.output);
    answer.output.erase(0, end + 1);
    const auto error = [&](const std::string& problem) {
      return Error(ExitCode::kDeviceFailed, "could not be fetched from the device: " + problem)
          .InFile(Name() + " " + remote);
    };
    if (!size || *size < 0) throw error("the device says of its size " + quoted);
    std::error_code space_error;
    const fs::space_info disk = fs::space(local.parent_path(), space_error);
    const Bytes max_size = static_cast<Bytes>(kMaxTableBytes);
    if (*size > max_size)
      throw error(fmt::format("it has {}, more than the {} that etprof reads", FormatBytes(double(*size)),
                              FormatBytes(double(max_size))));
    if (!space_error && static_cast<std::uintmax_t>(*size) > disk.available) {
      throw error(fmt::format("it has {}, and {} are free in `{}`", FormatBytes(double(*size)),
                              FormatBytes(double(disk.available)), local.parent_path().string()))
          .Remedy("free some disk space");
    }
    return *size;
  }

  // Prints the sizes of the files of finished runs, "live" for each live run, "cache", and the sizes of the
  // cache's files. With `remove`, also removes these files.
  std::string StoredFilesScript(bool remove) const {
    // Folders of the cache are renamed before they are removed, so that other etprof processes see each
    // folder either complete or not at all.
    return fmt::format(
        R"sh(cd {0} || exit 1
{4}
{5}
size() {{ find "$@" -type f -exec wc -c {{}} + 2>/dev/null; }}
live=
for r in runs/*; do
  is_own run "$r" && [ "$r" != runs/{1} ] || continue
  is_over "$r" || {{ live=1; echo live; continue; }}
  size "$r"{2}
done
echo cache
{3}for c in cache/* .removed-*/*; do
  is_own cache "$c" || continue
  size "$c"{6}
done
for r in .removed-*; do is_own run "$r" && rmdir "$r" 2>/dev/null; done
true)sh",
        ShellQuoted(folder_), id_, remove ? "; rm -rf \"$r\"" : "",
        remove ? fmt::format("[ -z \"$live\" ] || exit 0\nmkdir .removed-{0} || exit 1\nfor c in cache/*; do "
                             "is_own cache \"$c\" && "
                             "mv \"$c\" .removed-{0}/; done\n",
                             id_)
               : "",
        kDefineIsOver, kDefineIsOwnFolder, remove ? "; rm -rf \"$c\"" : "");
  }

  static StoredFiles ParseStoredFiles(const std::string& output) {
    StoredFiles stored;
    Bytes* target = &stored.old_runs;
    std::istringstream lines(output);
    for (std::string line; std::getline(lines, line);) {
      // Lines of `wc -c`: "SIZE PATH", and "SIZE total" after several files.
      std::istringstream fields(line);
      Bytes size = 0;
      std::string path;
      if (line == "live") ++stored.live_runs;
      if (line == "cache") target = &stored.cache;
      if (fields >> size >> path && path != "total") *target += size;
    }
    return stored;
  }

  void StartGuard() {
    Command client;
    client.arguments = connection_->Shell(fmt::format(
        R"sh({0}
{1}
{2}
{3}
{4}
cd {5} || exit 1
trap '' HUP INT TERM PIPE
start_time $$ >runs/{6}/since
echo $$ >runs/{6}/guard
echo ready
locked= queued=
while read -r request who; do
  if [ "$request" = unlock ]; then
    [ -z "$locked" ] || {{ restore_power; : >holder; }}
    unlock
    locked=
    echo unlocked
    continue
  fi
  if [ -z "$locked" ] && lock; then
    locked=1
    end_dead_runs
    restore_power
    printf '%s\n' "$who" >holder
  fi
  if [ -n "$locked" ]; then echo locked; else printf 'held %s\n' "$(cat holder 2>/dev/null)"; fi
done
( cd runs/{6} || exit
{7} )
[ -z "$locked" ] || {{ restore_power; : >holder; }})sh",
        kDefineIsOver, kDefineRestorePower, kDefineIsOwnFolder, DefineEndDeadRuns(), kDefineLock,
        ShellQuoted(folder_), id_, EndRunScript()));
    // The guard outlives a measurement, so it must call the current `interrupted_` function.
    guard_ = StartLocalProcess(client, {}, [this] { return interrupted_ && interrupted_(); });
    std::string line;
    const Process::ReadResult read = guard_->ReadLine(line, kAnswerTimeoutSeconds);
    if (read == Process::ReadResult::kLine && line == "ready") return;
    if (read == Process::ReadResult::kInterrupted) throw Error(ExitCode::kInterrupted, "interrupted");
    is_responsive_ = false;
    const std::string last_errors = guard_->LastErrors();
    const std::string errors = connection_->FindProblem(last_errors);
    throw Error(ExitCode::kDeviceFailed,
                "its shell does not work as expected: " +
                    (read == Process::ReadResult::kLine ? "it printed " + QuotedStart(line)
                     : !errors.empty()                  ? errors
                     : read == Process::ReadResult::kEnd
                         ? "it ended without a message"
                         : fmt::format("it did not answer within {:.0f} s", kAnswerTimeoutSeconds)))
        .InFile(Name());
  }

  void ForwardGuardWarning(const std::string& line) const {
    constexpr std::string_view kUnrestored = "unrestored\t";
    if (options_.notice && line.starts_with(kUnrestored)) {
      options_.notice(
          fmt::format("warning: {}: The setting {} could not be restored. The next etprof tries again.",
                      Name(), line.substr(kUnrestored.size())));
    }
    if (options_.notice && line == "unlockable") {
      options_.notice(fmt::format(
          "warning: {}: It has neither flock nor perl, so another etprof may measure there at the "
          "same time",
          Name()));
    }
  }

  // Sends a request to the guard and returns the line of its answer that begins with one of `answers`; empty
  // if the user interrupts. Throws DeviceLost.
  std::string RequestFromGuard(const std::string& request, std::initializer_list<std::string_view> answers) {
    std::string line;
    auto read = guard_ && guard_->Send(request, kAnswerTimeoutSeconds) ? Process::ReadResult::kLine
                                                                       : Process::ReadResult::kEnd;
    while (read == Process::ReadResult::kLine) {
      read = guard_->ReadLine(line, kGuardExitTimeoutSeconds);
      if (read == Process::ReadResult::kInterrupted) return "";
      const auto begins_with = [&](std::string_view answer) { return line.starts_with(answer); };
      if (read == Process::ReadResult::kLine && std::ranges::any_of(answers, begins_with)) return line;
      ForwardGuardWarning(line);
    }
    throw DeviceLost(Name(), "the connection was lost");
  }

  // Runs a script to its end; its status may be a failure. Throws Error (kDeviceFailed) for unusable output;
  // DeviceLost.
  ToolResult Run(const std::string& script, double timeout_seconds) {
    ToolOptions options;
    options.timeout_seconds = timeout_seconds;
    options.first_line = kBeginLine;
    options.limit_output = true;
    options.interrupted = interrupted_;
    ToolResult result = RunTool(connection_->Shell(fmt::format("echo {}\n( {}\n)\n{}", kBeginLine, script,
                                                               PrintExitMark("tool", "$?"))),
                                options);
    const std::optional<int> code = ExtractExitMark(result.errors, "tool");
    RequireAnswer(result, code.has_value(), timeout_seconds);
    result.status = {};
    result.status.code = *code;
    return result;
  }

  // Removes the line kBeginLine from the output. Throws Error (kDeviceFailed) if the device printed other
  // text before it, or too much; DeviceLost if the script did not end.
  void RequireAnswer(ToolResult& result, bool has_exit_mark, double timeout_seconds) {
    is_responsive_ = has_exit_mark && !result.too_long;
    const std::string begin = std::string(kBeginLine) + "\n";
    const bool has_begin_line = result.output.starts_with(begin);
    if (has_begin_line) result.output.erase(0, begin.size());
    if (!has_begin_line && !result.output.empty()) {
      throw Error(ExitCode::kDeviceFailed, fmt::format("its shell prints text of its own{}: {}",
                                                       is_responsive_ ? "" : " and does not run a command",
                                                       QuotedStart(result.output)))
          .InFile(Name())
          .Remedy("let the files that its login shell reads print text on a terminal only");
    }
    if (result.too_long) {
      throw Error(ExitCode::kDeviceFailed,
                  fmt::format("answered with more than {}, which began with {}",
                              FormatBytes(double(kMaxOutputBytes)), QuotedStart(result.output)))
          .InFile(Name())
          .Remedy("log in, and check what its programs print, such as `uname`");
    }
    if (result.timed_out)
      throw DeviceLost(Name(), fmt::format("did not answer within {:.0f} s", timeout_seconds));
    if (has_exit_mark) return;
    const std::string errors = connection_->FindProblem(result.errors);
    throw DeviceLost(Name(), errors.empty()
                                 ? fmt::format("its shell {} without running a command", result.status.Text())
                                 : "the connection was lost: " + errors);
  }

  // Runs a script and returns its output. Throws Error (kDeviceFailed) if the script fails.
  std::string RunOrThrow(const std::string& script, const std::string& action) {
    ToolResult result = Run(script, kAnswerTimeoutSeconds);
    if (!result.Success()) {
      const std::string last = LastLine(result.errors);
      throw Error(ExitCode::kDeviceFailed,
                  fmt::format("could not {}: {}", action, last.empty() ? result.status.Text() : last))
          .InFile(Name());
    }
    return std::move(result.output);
  }

  // Throws DeviceLost if the connection is broken.
  void RequireConnection(const std::string& activity) {
    try {
      Run("true", kAnswerTimeoutSeconds);
    } catch (const DeviceLost&) {
      throw DeviceLost(Name(), "the connection was lost " + activity);
    }
  }

  // A script that prints the file's SHA-256, or nothing if the device has no tool for it. The tools read
  // stdin, since they print a backslash before the digest of a file with a backslash in its name.
  static std::string DigestScript(const std::string& remote) {
    const std::string file = ShellQuoted(remote);
    return fmt::format(
        "if command -v sha256sum >/dev/null 2>&1; then sha256sum <{0}; "
        "elif command -v shasum >/dev/null 2>&1; then shasum -a 256 <{0}; fi",
        file);
  }

  static std::string ParseDigest(const ToolResult& result) {
    return result.output.substr(0, result.output.find_first_of(" \n"));
  }

  // Returns the folder on the device that has exactly `files`, and pushes them if it does not exist yet.
  // Messages name `named_file`.
  std::string PutFolder(const fs::path& named_file, const std::vector<fs::path>& files) {
    std::string key = fs::absolute(named_file).lexically_normal().string();
    for (const fs::path& file : files) key += "\n" + file.string();  // libraries may differ
    if (const auto pushed = put_folders_.find(key); pushed != put_folders_.end()) return pushed->second;
    std::string text;
    std::vector<std::string> digests;
    double bytes = 0;
    for (const fs::path& file : files) {
      digests.push_back(Sha256HexOfFile(file));
      text += digests.back() + "  " + file.filename().string() + "\n";
      bytes += double(fs::file_size(file));
    }
    const std::string digest = Sha256HexOfText(text).substr(0, kCacheNameDigits);
    const std::string folder = folder_ + "/cache/" + digest;
    if (!Run("test -d " + ShellQuoted(folder), kAnswerTimeoutSeconds).Success()) {
      if (options_.notice && bytes > 1e6)
        options_.notice(
            fmt::format("{}: pushing {}, {}", Name(), named_file.filename().string(), FormatBytes(bytes)));
      PushFolder(named_file, files, digests, folder);
    }
    return put_folders_[key] = folder;
  }

  // Pushes files into a temporary folder and renames it, so that a folder of the cache is complete or absent.
  void PushFolder(const fs::path& named_file, const std::vector<fs::path>& files,
                  const std::vector<std::string>& digests, const std::string& folder) {
    const std::string part = folder_ + "/cache/.part-" + id_;
    RunOrThrow(fmt::format("rm -rf {0}; mkdir {0}", ShellQuoted(part)), "make a folder");
    const auto make_error = [&](const std::string& reason) {
      RequireConnection("while " + named_file.filename().string() + " was pushed");
      Run("rm -rf " + ShellQuoted(part), kAnswerTimeoutSeconds);
      const bool is_disk_full = reason.find("o space left") != std::string::npos;
      return Error(ExitCode::kDeviceFailed, "could not be pushed to the device: " + reason)
          .InFile(named_file.string())
          .Remedy(is_disk_full ? "free some space there: `etprof devices --clean` removes what etprof left"
                               : "");
    };
    for (std::size_t i = 0; i < files.size(); ++i) {
      const std::string remote = part + "/" + files[i].filename().string();
      std::string reason;
      if (!connection_->Push(files[i], remote, reason)) throw make_error(reason);
      const ToolResult check = Run(DigestScript(remote), kDigestTimeoutSeconds);
      const std::string pushed_digest = ParseDigest(check);
      if (!pushed_digest.empty() && pushed_digest != digests[i]) throw make_error("it arrived changed");
    }
    // Another etprof process may create the same folder first, even between test and mv. Then mv moves this
    // folder into the existing one (not every mv has -T), from which `rm` removes it.
    RunOrThrow(fmt::format("chmod -R u+rwX,go+rX {0} && chmod +x {0}/* && {{ test -d {1} || mv {0} {1}; }}; "
                           "rm -rf {0} {1}/.part-{2}; test -d {1}",
                           ShellQuoted(part), ShellQuoted(folder), id_),
               "put a folder into its place");
  }

  std::unique_ptr<Connection> connection_;
  RemoteOptions options_;
  std::string id_, old_id_;
  std::string lock_owner_;  // description of this process for others; empty: it has not requested the lock
  std::function<void(const std::string&)> on_lock_wait_;
  std::string power_mode_;    // power mode of this run; empty: no mode is set
  std::string folder_, run_;  // etprof's folder and the run's folder on the device, absolute
  std::map<std::string, std::string> put_folders_;
  std::unique_ptr<Process> guard_;
  std::function<bool()> interrupted_;
  int reserved_outputs_ = 0, started_processes_ = 0;
  bool is_responsive_ = true;  // the last script ended with its exit mark
};

}  // namespace

std::unique_ptr<Device> MakeRemoteDevice(std::unique_ptr<Connection> connection, RemoteOptions options) {
  return std::make_unique<RemoteDevice>(std::move(connection), std::move(options));
}

}  // namespace etprof
