#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "device/local/local.h"
#ifdef __linux__
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#endif

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <mutex>
#include <thread>

#include "core/error.h"
#include "core/file/descriptor.h"
#include "core/process/cpus.h"
#include "device/executable.h"

extern char** environ;  // declared in the program, as POSIX requires

namespace etprof {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMaxLineBytes = std::size_t{64} << 20U;  // a burst of 100,000 runs is about 2 MB
constexpr std::size_t kMaxErrorBytes = 4096;
constexpr std::size_t kDrainBytes = std::size_t{1} << 20U;  // bytes that one Drain() reads
constexpr double kOutputAfterExitSeconds = 1;
constexpr int kPollMs = 200;  // bounds the delay of an interruption that arrives between check and poll

struct Pipe {
  bool Open() {
    std::array<int, 2> ends{};
#ifdef __linux__
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) return false;
#else
    if (::pipe(ends.data()) != 0) return false;
    for (const int end : ends) ::fcntl(end, F_SETFD, FD_CLOEXEC);
#endif
    read = MoveAboveStandardStreams(Descriptor(ends[0]));
    write = MoveAboveStandardStreams(Descriptor(ends[1]));
    return read && write;
  }

  Descriptor read, write;

 private:
  // In a host process that closed its descriptors 0 to 2, as daemons do, new files get these numbers. The
  // child's dup2 onto 0 to 2 would then close other ends of its pipes.
  static Descriptor MoveAboveStandardStreams(Descriptor end) {
    if (end.number() > STDERR_FILENO) return end;
    return Descriptor(::fcntl(end.number(), F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
  }
};

// Calls write(2) on a pipe. A pipe without a reader is an error (EPIPE) whatever the process does on SIGPIPE.
// The SIGPIPE handler stays unchanged, since the process may belong to a host such as Python.
ssize_t WriteWithoutSigpipe(int descriptor, const void* data, std::size_t size) {
  sigset_t sigpipe, previous_mask, pending;
  sigemptyset(&sigpipe);  // without ::, since the sig*set functions are macros on macOS
  sigaddset(&sigpipe, SIGPIPE);
  sigpending(&pending);
  const bool was_pending = sigismember(&pending, SIGPIPE) == 1;
  ::pthread_sigmask(SIG_BLOCK, &sigpipe, &previous_mask);
  const ssize_t count = ::write(descriptor, data, size);
  const int error = errno;
  if (count < 0 && error == EPIPE && !was_pending) {
    sigpending(&pending);
    int signal = 0;
    if (sigismember(&pending, SIGPIPE) == 1) ::sigwait(&sigpipe, &signal);
  }
  ::pthread_sigmask(SIG_SETMASK, &previous_mask, nullptr);
  errno = error;
  return count;
}

// Calls read(2), again after EINTR. Async-signal-safe.
ssize_t ReadFrom(int descriptor, void* buffer, std::size_t size) {
  ssize_t count = 0;
  do {
    count = ::read(descriptor, buffer, size);
  } while (count < 0 && errno == EINTR);
  return count;
}

// The message that the child writes to a pipe if it fails before or in exec.
struct ChildFailure {
  int step = 0;  // index into kChildSteps
  int error = 0;
};
constexpr std::array kChildSteps = {"redirect its streams", "restrict it to its CPUs", "execute it"};

// Runs in the child between fork and exec, so it makes only async-signal-safe calls. It waits for a byte from
// `guard_ready`, so that the GroupGuard exists before the program starts.
[[noreturn]] void BecomeProgram(char* const* arguments, char* const* environment,
                                const std::vector<int>& cpus, int input, int output, int errors, int failure,
                                Pipe& guard_ready) {
  const auto fail = [&](int step) {
    const ChildFailure message{step, errno};
    [[maybe_unused]] const ssize_t written = ::write(failure, &message, sizeof message);
    ::_exit(127);
  };
  ::setpgid(0, 0);
#ifdef __linux__
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // ends the child if etprof is killed
#endif
  guard_ready.write.Close();
  char byte = 0;
  if (ReadFrom(guard_ready.read.number(), &byte, 1) != 1) ::_exit(127);  // no byte: etprof was killed
  ::signal(SIGPIPE, SIG_DFL);
  ::signal(SIGINT, SIG_DFL);
  ::signal(SIGTERM, SIG_DFL);
  sigset_t empty_mask;
  sigemptyset(&empty_mask);  // without ::, since it is a macro on macOS
  ::sigprocmask(SIG_SETMASK, &empty_mask, nullptr);
  if (::dup2(input, 0) < 0 || ::dup2(output, 1) < 0 || ::dup2(errors, 2) < 0) fail(0);
#ifdef __linux__
  if (!cpus.empty()) {
    cpu_set_t set;
    CPU_ZERO(&set);
    for (const int cpu : cpus) CPU_SET(static_cast<unsigned>(cpu), &set);
    if (::sched_setaffinity(0, sizeof set, &set) != 0) fail(1);
  }
#else
  static_cast<void>(cpus);
#endif
  ::execve(arguments[0], arguments, environment);
  fail(2);
  ::_exit(127);
}

// Closes all descriptors but one. Async-signal-safe.
void CloseAllExcept(int kept_descriptor) {
#ifdef SYS_close_range
  if (::syscall(SYS_close_range, 0, static_cast<unsigned>(kept_descriptor) - 1, 0) == 0 &&
      ::syscall(SYS_close_range, static_cast<unsigned>(kept_descriptor) + 1, ~0U, 0) == 0)
    return;
#endif
  struct rlimit limit {};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  const int end = static_cast<int>(std::min<rlim_t>(limit.rlim_cur, 65536));
  for (int descriptor = 0; descriptor < end; ++descriptor) {
    if (descriptor != kept_descriptor) ::close(descriptor);
  }
}

// Kills a process group when this process ends in any way. PR_SET_PDEATHSIG reaches only the group's leader,
// but not the leader's children (the runner of a wrapper). The guard is a forked process that waits until
// this process's end of a pipe is closed.
class GroupGuard {
 public:
  explicit GroupGuard(pid_t group) {
    if (!lifetime_pipe_.Open()) return;
    guard_ = ::fork();
    if (guard_ == 0) Watch(lifetime_pipe_.read.number(), group);
    lifetime_pipe_.read.Close();
  }
  GroupGuard(GroupGuard&&) = delete;
  ~GroupGuard() {
    if (guard_ <= 0) return;
    ::kill(guard_, SIGKILL);
    while (::waitpid(guard_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }

 private:
  [[noreturn]] static void Watch(int lifetime_end, pid_t group) {
    ::setsid();
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) ::signal(signal, SIG_IGN);
    CloseAllExcept(lifetime_end);
    char byte = 0;
    ReadFrom(lifetime_end, &byte, 1);
    ::kill(-group, SIGKILL);
    ::_exit(0);
  }

  Pipe lifetime_pipe_;
  pid_t guard_ = -1;
};

class LocalProcess : public Process {
 public:
  LocalProcess(pid_t pid, Descriptor input, Descriptor output, Descriptor errors, Device::Sink on_stderr,
               std::function<bool()> interrupted, std::unique_ptr<GroupGuard> guard)
      : pid_(pid),
        input_(std::move(input)),
        output_(std::move(output)),
        errors_(std::move(errors)),
        on_stderr_(std::move(on_stderr)),
        interrupted_(std::move(interrupted)),
        guard_(std::move(guard)) {
    for (const int descriptor : {input_.number(), output_.number(), errors_.number()}) {
      ::fcntl(descriptor, F_SETFL, ::fcntl(descriptor, F_GETFL) | O_NONBLOCK);
    }
  }
  LocalProcess(LocalProcess&&) = delete;

  ~LocalProcess() override {
    CloseInput();
    if (!status_) {
      Kill();
      Reap(0);
    } else {
      ::kill(-pid_, SIGKILL);  // children that the process left running; there may be none
    }
  }

  bool Send(std::string_view line, double timeout_seconds) override {
    if (!input_) return false;
    std::string data(line);
    data += '\n';
    std::size_t sent_bytes = 0;
    const auto deadline = Clock::now() + std::chrono::duration<double>(timeout_seconds);
    while (sent_bytes < data.size()) {
      const ssize_t count =
          WriteWithoutSigpipe(input_.number(), data.data() + sent_bytes, data.size() - sent_bytes);
      if (count > 0) {
        sent_bytes += static_cast<std::size_t>(count);
      } else if (errno == EAGAIN) {
        if (Clock::now() >= deadline) return false;
        struct pollfd ready = {input_.number(), POLLOUT, 0};
        ::poll(&ready, 1, kPollMs);
        DrainErrors();
      } else if (errno != EINTR) {
        return false;
      }
    }
    return true;
  }

  ReadResult ReadLine(std::string& line, double timeout_seconds) override {
    const auto deadline = Clock::now() + std::chrono::duration<double>(timeout_seconds);
    while (true) {
      const std::size_t newline = buffer_.find('\n', searched_end_);
      if (newline != std::string::npos) {
        line.assign(buffer_, returned_end_, newline - returned_end_);
        returned_end_ = searched_end_ = newline + 1;
        return ReadResult::kLine;
      }
      // Erase all returned lines at once, so that many short lines take linear time.
      buffer_.erase(0, std::exchange(returned_end_, 0));
      searched_end_ = buffer_.size();
      if (buffer_.size() > kMaxLineBytes) return ReadResult::kTooLong;
      if (!output_) {
        if (buffer_.empty()) return ReadResult::kEnd;
        line = std::exchange(buffer_, {});
        searched_end_ = 0;
        return ReadResult::kLine;
      }
      if (interrupted_ && interrupted_()) return ReadResult::kInterrupted;
      const double remaining_seconds = std::chrono::duration<double>(deadline - Clock::now()).count();
      if (remaining_seconds <= 0) return ReadResult::kTimeout;
      const bool has_exited = HasExited();
      std::array<struct pollfd, 2> ready = {{{output_.number(), POLLIN, 0}, {errors_.number(), POLLIN, 0}}};
      ::poll(ready.data(), ready.size(), std::min(kPollMs, static_cast<int>(remaining_seconds * 1000) + 1));
      DrainErrors();
      DrainOutput();
      // The output of an exited process is in the pipe, but its children may keep the pipe open.
      if (has_exited) {
        if (!exit_seen_) exit_seen_ = Clock::now();
        if (Clock::now() - *exit_seen_ >= std::chrono::duration<double>(kOutputAfterExitSeconds))
          output_.Close();
      }
    }
  }

  void CloseInput() override { input_.Close(); }

  std::optional<ExitStatus> Wait(double timeout_seconds) override {
    const auto deadline = Clock::now() + std::chrono::duration<double>(timeout_seconds);
    while (!status_) {
      DrainErrors();
      Reap(WNOHANG);
      if (status_) break;
      if (Clock::now() >= deadline) return std::nullopt;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    DrainErrors();
    return status_;
  }

  void Kill() override {
    ::kill(-pid_, SIGKILL);
    if (!status_) ::kill(pid_, SIGKILL);  // the group does not exist before the child's setpgid
  }

  void Terminate() override {
    if (::kill(-pid_, SIGTERM) != 0 && !status_) ::kill(pid_, SIGTERM);
  }

  std::string LastErrors() const override { return last_errors_; }

 private:
  // Reads the main thread's run delay after its end, which is possible until the process is reaped. The delay
  // is the second number of /proc/PID/schedstat (Linux's Documentation/scheduler/sched-stats.rst).
  std::optional<Nanoseconds> ReadFinalRunDelay([[maybe_unused]] int flags) const {
#ifdef __linux__
    siginfo_t info{};
    int failed = 0;
    do {
      failed = ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT | flags);
    } while (failed != 0 && errno == EINTR);
    if (failed != 0 || info.si_pid != pid_) return std::nullopt;
    std::ifstream file(fmt::format("/proc/{}/schedstat", pid_));
    Nanoseconds running = 0, delay = -1;
    if (file >> running >> delay && delay >= 0) return delay;
#endif
    return std::nullopt;
  }

  void Reap(int flags) {
    int status = 0;
    struct rusage usage {};
    pid_t pid = 0;
    const std::optional<Nanoseconds> run_delay = ReadFinalRunDelay(flags);
    do {
      pid = ::wait4(pid_, &status, flags, &usage);
    } while (pid < 0 && errno == EINTR);
    if (pid != pid_) return;
    ExitStatus result;
    result.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    result.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    const auto nanoseconds = [](const struct timeval& time) {
      return static_cast<Nanoseconds>(time.tv_sec) * 1'000'000'000 +
             static_cast<Nanoseconds>(time.tv_usec) * 1000;
    };
    result.cpu_time = nanoseconds(usage.ru_utime) + nanoseconds(usage.ru_stime);
    result.run_delay = run_delay;
#ifdef __APPLE__
    result.peak_rss = usage.ru_maxrss;
#else
    result.peak_rss = usage.ru_maxrss * 1024;
#endif
    status_ = result;
  }

  // True if the process has exited. The process stays unreaped, so that its PID and process group are not
  // reused.
  bool HasExited() const {
    if (status_) return true;
    siginfo_t info{};
    return ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT | WNOHANG) == 0 &&
           info.si_pid == pid_;
  }

  // Reads available bytes without waiting, up to about `max_bytes`, and passes them to `consume`. Closes the
  // descriptor at its end.
  template <typename Consume>
  static void Drain(Descriptor& descriptor, std::size_t max_bytes, Consume consume) {
    std::array<char, 65536> chunk;
    for (std::size_t total = 0; descriptor && total < max_bytes;) {
      const ssize_t count = ::read(descriptor.number(), chunk.data(), chunk.size());
      if (count > 0) {
        consume(std::string_view(chunk.data(), static_cast<std::size_t>(count)));
        total += static_cast<std::size_t>(count);
      } else if (count == 0) {
        descriptor.Close();
      } else if (errno != EINTR) {
        if (errno != EAGAIN) descriptor.Close();
        return;
      }
    }
  }
  void DrainOutput() {
    Drain(output_, kDrainBytes, [this](std::string_view text) { buffer_ += text; });
  }
  void DrainErrors() {
    Drain(errors_, kDrainBytes, [this](std::string_view text) {
      last_errors_ += text;
      if (last_errors_.size() > kMaxErrorBytes) last_errors_.erase(0, last_errors_.size() - kMaxErrorBytes);
      if (on_stderr_) on_stderr_(text);
    });
  }

  pid_t pid_;
  Descriptor input_, output_, errors_;
  Device::Sink on_stderr_;
  std::function<bool()> interrupted_;
  std::string buffer_;            // stdout that was read
  std::size_t returned_end_ = 0;  // ReadLine returned the lines before this offset
  std::size_t searched_end_ = 0;  // there is no newline between `returned_end_` and this offset
  std::optional<Clock::time_point> exit_seen_;
  std::string last_errors_;
  std::optional<ExitStatus> status_;
  std::unique_ptr<GroupGuard> guard_;
};

Error StartError(const std::string& program, const ChildFailure& failure, const Command& command) {
  if (failure.step == 1) {
    return Error(ExitCode::kBadInput, fmt::format("cannot run on CPUs {}: {}", CpusText(command.cpus),
                                                  std::strerror(failure.error)))
        .InFile(program)
        .Remedy("choose CPUs that this machine has and this process may use");
  }
  if (failure.step == 2) return NotExecutableError(program, failure.error);
  return Error(ExitCode::kDeviceFailed,
               fmt::format("cannot {}: {}", kChildSteps[static_cast<std::size_t>(failure.step)],
                           std::strerror(failure.error)))
      .InFile(program)
      .Remedy(kLimitsRemedy);
}

std::vector<char*> MakeArgv(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

std::unique_ptr<Process> StartLocalProcess(const Command& command, Device::Sink on_stderr,
                                           std::function<bool()> interrupted) {
  std::vector<std::string> arguments = command.arguments;
  arguments.at(0) = FindProgram(arguments.at(0));

  std::vector<std::string> environment;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::string_view name = text.substr(0, text.find('='));
    bool replaced = false;
    for (const auto& [key, value] : command.environment) replaced = replaced || key == name;
    if (!replaced) environment.emplace_back(text);
  }
  for (const auto& [key, value] : command.environment) environment.push_back(key + "=" + value);

#ifndef __linux__
  // Without pipe2, another thread could fork between pipe and FD_CLOEXEC, and its child would keep these
  // pipes open.
  static std::mutex mutex;
  std::unique_lock start_lock(mutex);
#endif
  Pipe input, output, errors, failure, guard_ready;
  if (!input.Open() || !output.Open() || !errors.Open() || !failure.Open() || !guard_ready.Open()) {
    throw Error(ExitCode::kDeviceFailed, fmt::format("cannot open a pipe to it: {}", std::strerror(errno)))
        .InFile(arguments[0])
        .Remedy(kLimitsRemedy);
  }
  std::vector<char*> argument_pointers = MakeArgv(arguments);
  std::vector<char*> environment_pointers = MakeArgv(environment);
  const pid_t pid = ::fork();
  if (pid < 0) {
    throw Error(ExitCode::kDeviceFailed, fmt::format("cannot start it: {}", std::strerror(errno)))
        .InFile(arguments[0])
        .Remedy(kLimitsRemedy);
  }
  if (pid == 0) {
    BecomeProgram(argument_pointers.data(), environment_pointers.data(), command.cpus, input.read.number(),
                  output.write.number(), errors.write.number(), failure.write.number(), guard_ready);
  }
#ifndef __linux__
  start_lock.unlock();
#endif
  input.read.Close();
  for (Pipe* pipe : {&output, &errors, &failure}) pipe->write.Close();
  auto guard = std::make_unique<GroupGuard>(pid);
  while (WriteWithoutSigpipe(guard_ready.write.number(), "", 1) < 0 && errno == EINTR) {
  }

  ChildFailure message;
  // The read ends without a message when exec closes the child's end of the pipe.
  if (ReadFrom(failure.read.number(), &message, sizeof message) == static_cast<ssize_t>(sizeof message)) {
    ::waitpid(pid, nullptr, 0);
    throw StartError(arguments[0], message, command);
  }
  return std::make_unique<LocalProcess>(pid, std::move(input.write), std::move(output.read),
                                        std::move(errors.read), std::move(on_stderr), std::move(interrupted),
                                        std::move(guard));
}

}  // namespace etprof
