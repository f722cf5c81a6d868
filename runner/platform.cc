#include "platform.h"

#include <executorch/extension/threadpool/threadpool_guard.h>
#include <executorch/runtime/platform/platform.h>
#include <executorch/runtime/platform/runtime.h>
#include <fmt/format.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <deque>
#include <mutex>

#include "core/process/cpus.h"
#include "core/sanitizer.h"
#include "timing/operator_clock.h"

#if defined(__linux__)
#include <sched.h>
#endif

// The wheel exports these functions but has no header that declares them (ExecuTorch's
// extension/threadpool/threadpool.h and cpuinfo_utils.h).
namespace executorch::extension {
namespace threadpool {
class ThreadPool {
 public:
  std::size_t get_thread_count() const;
  bool _unsafe_reset_threadpool(std::uint32_t num_threads);
};
ThreadPool* get_threadpool();
}  // namespace threadpool
namespace cpuinfo {
std::uint32_t get_num_performant_cores();
}  // namespace cpuinfo
}  // namespace executorch::extension

namespace etprof::runner {
namespace {

std::mutex log_mutex;
std::deque<std::string>& LoggedErrors() {
  static std::deque<std::string> lines;
  return lines;
}
bool log_is_verbose = false;

// The data that a signal handler may read: fixed memory, written before the work begins.
std::array<char, 512> current_work{};
volatile sig_atomic_t current_exit_code = static_cast<int>(ExitCode::kDeviceFailed);

void SetCurrentWork(const std::string& work, int exit_code) {
  const std::size_t length = std::min(work.size(), current_work.size() - 1);
  std::memcpy(current_work.data(), work.data(), length);
  current_work[length] = '\0';
  current_exit_code = exit_code;
}

void EmitLog(et_timestamp_t, et_pal_log_level_t level, const char* filename, const char*, size_t line,
             const char* message, size_t length) {
  const std::string text(message, length);
  const std::lock_guard lock(log_mutex);
  if (level == kError || level == kFatal) {
    LoggedErrors().push_back(text);
    if (LoggedErrors().size() > 100) LoggedErrors().pop_front();
  }
  if (log_is_verbose) {
    std::fprintf(stderr, "%c executorch:%s:%zu] %s\n", static_cast<char>(level), filename, line,
                 text.c_str());
  }
}

// Async-signal-safe: reads only fixed memory.
void WriteCrashMessage(const char* failure) {
  const auto write = [](const char* text) {
    if (::write(STDERR_FILENO, text, std::strlen(text)) < 0) return;
  };
  write("etprof-runner: ExecuTorch ");
  write(failure);
  if (current_work[0] != '\0') {
    write(" while ");
    write(current_work.data());
  }
  write(current_exit_code == static_cast<int>(ExitCode::kBadInput)
            ? "; the file is damaged, or made for another version\n"
            : "\n");
}

void OnAbort() {
  std::string last;
  {
    const std::lock_guard lock(log_mutex);
    if (!LoggedErrors().empty()) last = ": " + LoggedErrors().back();
  }
  WriteCrashMessage(("gave up" + last).c_str());
  ::_exit(current_exit_code);
}

void OnCrash(int signal) {
  WriteCrashMessage(signal == SIGBUS    ? "crashed (SIGBUS: a file was cut short while in use, or bad memory)"
                    : signal == SIGSEGV ? "crashed (SIGSEGV)"
                    : signal == SIGILL  ? "crashed (SIGILL: an instruction that this CPU lacks)"
                    : signal == SIGFPE  ? "crashed (SIGFPE)"
                                        : "crashed (SIGABRT)");
  ::_exit(current_exit_code);
}

et_timestamp_t Ticks() { return static_cast<et_timestamp_t>(MonotonicNow()); }
et_tick_ratio_t TickRatio() { return {1, 1}; }

}  // namespace

void InstallPlatform(bool verbose) {
  log_is_verbose = verbose;
  const bool accepted = executorch::runtime::register_pal(executorch::runtime::PalImpl::create(
      nullptr, [] { OnAbort(); }, &Ticks, &TickRatio, &EmitLog, nullptr, nullptr, __FILE__));
  if (!accepted) throw Error(ExitCode::kDeviceFailed, "ExecuTorch refused etprof-runner's platform layer");
  executorch::runtime::runtime_init();
  if (kHasAddressSanitizer) return;  // AddressSanitizer reports crashes itself
  // An alternative stack, so that a stack overflow can be reported, too.
  static std::array<char, 64 * 1024> stack;
  stack_t alternative{};  // the order of its fields differs between systems
  alternative.ss_sp = stack.data();
  alternative.ss_size = stack.size();
  ::sigaltstack(&alternative, nullptr);
  struct sigaction action {};
  action.sa_handler = &OnCrash;
  action.sa_flags = static_cast<int>(SA_ONSTACK | SA_RESETHAND);
  for (const int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT}) ::sigaction(signal, &action, nullptr);
}

std::vector<std::string> TakeLoggedErrors() {
  const std::lock_guard lock(log_mutex);
  std::vector<std::string> lines(LoggedErrors().begin(), LoggedErrors().end());
  LoggedErrors().clear();
  return lines;
}

CrashContext::CrashContext(const std::string& work, ExitCode exit_code)
    : outer_work_(current_work.data()), outer_exit_code_(current_exit_code) {
  TakeLoggedErrors();
  SetCurrentWork(work, static_cast<int>(exit_code));
}

CrashContext::~CrashContext() { SetCurrentWork(outer_work_, outer_exit_code_); }

int SetThreads(int threads) {
  namespace pool = executorch::extension::threadpool;
  if (threads == -1) threads = static_cast<int>(executorch::extension::cpuinfo::get_num_performant_cores());
  if (threads <= 0) threads = 1;
  pool::ThreadPool* const thread_pool = pool::get_threadpool();
  if (thread_pool == nullptr || !thread_pool->_unsafe_reset_threadpool(static_cast<std::uint32_t>(threads))) {
    throw Error(ExitCode::kDeviceFailed, fmt::format("ExecuTorch could not start {} threads", threads));
  }
  pool::NoThreadPoolGuard::set_enabled(threads == 1);
  return PoolThreads();
}

int PoolThreads() {
  namespace pool = executorch::extension::threadpool;
  return pool::NoThreadPoolGuard::is_enabled() ? 1
                                               : static_cast<int>(pool::get_threadpool()->get_thread_count());
}

void SetCpus([[maybe_unused]] const std::string& cpus) {
#if defined(__linux__)
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int cpu : ParseCpus(cpus)) CPU_SET(static_cast<unsigned>(cpu), &set);
  if (::sched_setaffinity(0, sizeof(set), &set) != 0) {
    throw Error(ExitCode::kDeviceFailed,
                fmt::format("--cpus: cannot run on CPUs {}: {}", cpus, std::strerror(errno)))
        .Remedy("choose CPUs that are online and allowed to this process");
  }
#else
  throw Error(ExitCode::kUsage, "--cpus: this system cannot tie a process to CPUs")
      .Remedy("leave --cpus out");
#endif
}

}  // namespace etprof::runner
