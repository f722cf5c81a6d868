#include "core/parallel.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <latch>
#include <memory>
#include <mutex>
#include <new>
#include <system_error>
#include <utility>

namespace etprof {
namespace {

// One ParallelFor: whoever runs it takes the next index until there is none.
class Job {
 public:
  Job(std::size_t count, const std::function<void(std::size_t)>& work)
      : work_(work), thrown_(count), left_(static_cast<std::ptrdiff_t>(count)) {}

  void Run() {
    for (std::size_t index = next_++; index < thrown_.size(); index = next_++) {
      try {
        work_(index);
      } catch (...) {
        thrown_[index] = std::current_exception();
      }
      left_.count_down();
    }
  }

  // Until all are done.
  void Wait() const {
    left_.wait();
    for (const std::exception_ptr& exception : thrown_) {
      if (exception) std::rethrow_exception(exception);
    }
  }

 private:
  const std::function<void(std::size_t)>& work_;  // the caller's, who waits
  std::vector<std::exception_ptr> thrown_;
  std::atomic<std::size_t> next_ = 0;
  std::latch left_;
};

// The processor that the calling thread runs on; -1: not known.
int Processor() {
#ifdef __linux__
  return ::sched_getcpu();
#else
  return -1;
#endif
}

// A thread that has just been started may share the processor of the one that started it for milliseconds,
// though others be idle (Linux). So it leaves, where it may run elsewhere; later it is woken where it was
// last.
void LeaveProcessor([[maybe_unused]] int processor) {
#ifdef __linux__
  cpu_set_t all;
  if (processor < 0 || Processor() != processor || ::sched_getaffinity(0, sizeof(all), &all) != 0) return;
  cpu_set_t others = all;
  CPU_CLR(static_cast<unsigned>(processor), &others);
  if (CPU_COUNT(&others) > 0 && ::sched_setaffinity(0, sizeof(others), &others) == 0)
    ::sched_setaffinity(0, sizeof(all), &all);
#endif
}

// Threads that wait for jobs, for as long as the process lives.
class Helpers {
 public:
  // Those of this process: a fork has none of its parent's threads.
  static Helpers& OfProcess() {
    static Helpers* helpers = [] {
      ::pthread_atfork(nullptr, nullptr, [] { ::new (helpers) Helpers; });  // in the child
      return new Helpers;  // never deleted: its threads are never joined
    }();
    return *helpers;
  }

  // Has up to `count` of them run the job, once they are free: it may be done by then. Throws nothing, since
  // one of them may be at it already; without memory or threads, fewer help.
  void Lend(const std::shared_ptr<Job>& job, std::size_t count) {
    std::unique_lock lock(mutex_);
    for (std::size_t i = 0; i < count; ++i) {
      if (idle_ <= jobs_.size() && started_ + 1 < HardwareThreads()) Start(lock);
      if (started_ == 0) return;
      try {
        jobs_.push_back(job);
      } catch (const std::bad_alloc&) {
        return;
      }
      wanted_.notify_one();
    }
  }

 private:
  // Starts one, and lets it come to where it waits. Nothing where the system has no more.
  void Start(std::unique_lock<std::mutex>& lock) {
    sigset_t blocked, before;
    sigfillset(&blocked);  // signals are for the threads that expect them
    for (const int own : {SIGBUS, SIGSEGV, SIGFPE, SIGILL}) sigdelset(&blocked, own);
    ::pthread_sigmask(SIG_SETMASK, &blocked, &before);
    try {
      std::thread([this, processor = Processor()] { Serve(processor); }).detach();
      ++started_;
    } catch (const std::system_error&) {
    } catch (const std::bad_alloc&) {
    }
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    waits_.wait(lock, [&] { return arrived_ == started_; });
  }

  [[noreturn]] void Serve(int processor) {
    LeaveProcessor(processor);
    std::unique_lock lock(mutex_);
    ++arrived_;
    ++idle_;
    waits_.notify_all();
    while (true) {
      wanted_.wait(lock, [&] { return !jobs_.empty(); });
      const std::shared_ptr<Job> job = std::move(jobs_.back());
      jobs_.pop_back();
      --idle_;
      lock.unlock();
      job->Run();
      lock.lock();
      ++idle_;
    }
  }

  std::mutex mutex_;
  std::condition_variable waits_, wanted_;
  std::vector<std::shared_ptr<Job>> jobs_;
  std::size_t started_ = 0, arrived_ = 0, idle_ = 0;
};

}  // namespace

std::size_t HardwareThreads() { return std::max(1U, std::thread::hardware_concurrency()); }

void ParallelFor(std::size_t count, std::size_t threads, const std::function<void(std::size_t)>& work) {
  threads = std::min(threads == 0 ? HardwareThreads() : threads, count);
  const auto job = std::make_shared<Job>(count, work);
  if (threads > 1) Helpers::OfProcess().Lend(job, threads - 1);
  job->Run();
  job->Wait();
}

bool Threads::Start(std::function<void()> work) {
  try {
    threads_.emplace_back(std::move(work));
    return true;
  } catch (const std::system_error&) {
    return false;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

void Threads::Join() {
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

void ParallelForParts(std::size_t count, std::size_t part, std::size_t threads,
                      const std::function<void(std::size_t, std::size_t)>& work) {
  ParallelFor((count + part - 1) / part, threads,
              [&](std::size_t index) { work(index * part, std::min(count, (index + 1) * part)); });
}

}  // namespace etprof
