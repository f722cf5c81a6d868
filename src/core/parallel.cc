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

// The work of one ParallelFor call. Each thread that runs the job takes the next index until all indices are
// taken.
class Job {
 public:
  Job(std::size_t count, const std::function<void(std::size_t)>& work)
      : work_(work), exceptions_(count), remaining_(static_cast<std::ptrdiff_t>(count)) {}

  void Run() {
    for (std::size_t index = next_++; index < exceptions_.size(); index = next_++) {
      try {
        work_(index);
      } catch (...) {
        exceptions_[index] = std::current_exception();
      }
      remaining_.count_down();
    }
  }

  // Waits for all calls, and rethrows the exception with the lowest index.
  void Wait() const {
    remaining_.wait();
    for (const std::exception_ptr& exception : exceptions_) {
      if (exception) std::rethrow_exception(exception);
    }
  }

 private:
  const std::function<void(std::size_t)>& work_;  // owned by the caller, who waits
  std::vector<std::exception_ptr> exceptions_;
  std::atomic<std::size_t> next_ = 0;
  std::latch remaining_;
};

// The CPU on which the calling thread runs; -1: unknown.
int CurrentCpu() {
#ifdef __linux__
  return ::sched_getcpu();
#else
  return -1;
#endif
}

// Moves the calling thread to another CPU if it is on `processor`. On Linux a new thread may share the CPU of
// the thread that started it for milliseconds, although other CPUs are idle. Later the system wakes the
// thread on the CPU where it last ran.
void LeaveCpu([[maybe_unused]] int processor) {
#ifdef __linux__
  cpu_set_t all;
  if (processor < 0 || CurrentCpu() != processor || ::sched_getaffinity(0, sizeof(all), &all) != 0) return;
  cpu_set_t others = all;
  CPU_CLR(static_cast<unsigned>(processor), &others);
  if (CPU_COUNT(&others) > 0 && ::sched_setaffinity(0, sizeof(others), &others) == 0)
    ::sched_setaffinity(0, sizeof(all), &all);
#endif
}

// Threads that wait for jobs until the process ends.
class ThreadPool {
 public:
  // The pool of this process. After a fork the child gets a new pool, because it has no threads of its
  // parent.
  static ThreadPool& Get() {
    static ThreadPool* pool = [] {
      ::pthread_atfork(nullptr, nullptr, [] { ::new (pool) ThreadPool; });  // runs in the child
      return new ThreadPool;  // never deleted, because its threads are never joined
    }();
    return *pool;
  }

  // Lets up to `count` pool threads run the job as soon as they are idle; by then the job may be done. Does
  // not throw, since a pool thread may already run the job. If memory or threads are scarce, fewer threads
  // help.
  void Submit(const std::shared_ptr<Job>& job, std::size_t count) {
    std::unique_lock lock(mutex_);
    for (std::size_t i = 0; i < count; ++i) {
      if (idle_ <= jobs_.size() && started_ + 1 < HardwareThreads()) Start(lock);
      if (started_ == 0) return;
      try {
        jobs_.push_back(job);
      } catch (const std::bad_alloc&) {
        return;
      }
      job_added_.notify_one();
    }
  }

 private:
  // Starts a pool thread and waits until it is ready for jobs. Does nothing if the system cannot start a
  // thread.
  void Start(std::unique_lock<std::mutex>& lock) {
    sigset_t blocked, before;
    sigfillset(&blocked);  // block all signals, so that other threads receive them
    for (const int fault : {SIGBUS, SIGSEGV, SIGFPE, SIGILL}) sigdelset(&blocked, fault);
    ::pthread_sigmask(SIG_SETMASK, &blocked, &before);
    try {
      std::thread([this, processor = CurrentCpu()] { Serve(processor); }).detach();
      ++started_;
    } catch (const std::system_error&) {
    } catch (const std::bad_alloc&) {
    }
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    thread_ready_.wait(lock, [&] { return ready_ == started_; });
  }

  [[noreturn]] void Serve(int processor) {
    LeaveCpu(processor);
    std::unique_lock lock(mutex_);
    ++ready_;
    ++idle_;
    thread_ready_.notify_all();
    while (true) {
      job_added_.wait(lock, [&] { return !jobs_.empty(); });
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
  std::condition_variable thread_ready_, job_added_;
  std::vector<std::shared_ptr<Job>> jobs_;
  std::size_t started_ = 0, ready_ = 0, idle_ = 0;
};

}  // namespace

std::size_t HardwareThreads() { return std::max(1U, std::thread::hardware_concurrency()); }

void ParallelFor(std::size_t count, std::size_t threads, const std::function<void(std::size_t)>& work) {
  threads = std::min(threads == 0 ? HardwareThreads() : threads, count);
  const auto job = std::make_shared<Job>(count, work);
  if (threads > 1) ThreadPool::Get().Submit(job, threads - 1);
  job->Run();
  job->Wait();
}

bool ThreadGroup::Start(std::function<void()> work) {
  try {
    threads_.emplace_back(std::move(work));
    return true;
  } catch (const std::system_error&) {
    return false;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

void ThreadGroup::Join() {
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

void ParallelForParts(std::size_t count, std::size_t part, std::size_t threads,
                      const std::function<void(std::size_t, std::size_t)>& work) {
  ParallelFor((count + part - 1) / part, threads,
              [&](std::size_t index) { work(index * part, std::min(count, (index + 1) * part)); });
}

}  // namespace etprof
