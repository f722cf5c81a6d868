#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/json/describe.h"
#include "isa/code_class.h"
#include "measure/store/watch.h"
#include "profile/analysis/profile.h"
#include "protocol/watch.h"

namespace etprof {

// A function that computed an operator, as observed by the runner.
struct ObservedFunction {
  std::string name;
  std::string code;  // CodeClass::name of the highest class in the function and its direct callees
  bool is_task = false;
  std::vector<std::int64_t> calls;  // calls per run, by thread; rounded

  std::int64_t Calls() const {  // sum over all threads
    return std::accumulate(calls.begin(), calls.end(), std::int64_t{0});
  }
  std::int64_t ThreadGroup() const {  // number of threads that called it
    return std::ranges::count_if(calls, [](std::int64_t count) { return count > 0; });
  }

  static constexpr const char* kSchemaName = "proven_function";
  static void Describe(auto& v) {
    using F = ObservedFunction;
    v("name", &F::name, {.meaning = "its symbol; \"code at 0x100c40\" where the library has none for it"});
    v("code", &F::code,
      {.meaning = "the highest class of instructions, of it and of what it calls directly"});
    v("is_task", &F::is_task, {.meaning = "the thread pool was given it; else a task called it"});
    v("calls", &F::calls, {.meaning = "in one run, by thread"});
  }
};

// The reason why threads do not make an operator faster.
enum class ThreadCause {
  kFewTasks,   // fewer tasks than threads
  kOneThread,  // one thread did most of the work
  kSlowCore,  // a thread ran on a core of less capacity, where tasks take much longer even without contention
  kSharedUnit,  // in the fastest run, parallel tasks took nearly as long as sequential tasks
};
template <>
inline constexpr const char* kNames<ThreadCause>[] = {"few_tasks", "one_thread", "slow_core", "shared_unit"};

// The work of the threads on an operator, and why they do not make it faster.
struct ThreadUsage : protocol::ThreadTimes {
  std::int64_t Tasks() const;
  std::int64_t BusyNs() const;
  std::optional<double> Efficiency() const;    // busy / (threads x parallel time); absent: no parallel region
  std::optional<double> BusiestShare() const;  // share of the busiest thread in the busy time
  // Speedup over sequential execution of its tasks, each in its fastest run, which was disturbed least;
  // absent: not measured.
  std::optional<double> SpeedupOverSerial() const;
  // Absent: the threads help, or the times are not sufficient (`contended`, or one thread).
  std::optional<ThreadCause> cause;

  static constexpr const char* kSchemaName = "thread_use";
  static void Describe(auto& v) {
    using U = ThreadUsage;
    v("runs", &U::runs, {.meaning = "that it ran in"});
    v("time_ns", &U::time_ns, {.meaning = "over all `runs`, as the other times"});
    v("parallel_ns", &U::parallel_ns, {.meaning = "of `time_ns`, in parallel regions"});
    v("regions", &U::regions, {.meaning = "parallel regions: calls of the thread pool"});
    v("threads", &U::threads, {.meaning = "the caller, then those of the pool"});
    v("efficiency", &U::Efficiency,
      {.meaning = "busy time over the number of threads times `parallel_ns`", .min = 0});
    v("speedup_over_one", &U::SpeedupOverSerial,
      {.meaning = "of its tasks one after the other; null: not measured", .min = 0});
    v("cause", &U::cause,
      {.meaning = "why the threads do not make it faster; null: they do, or it is not known"});
  }
};

struct WatchedRow {
  std::string key;
  std::string name;
  std::string code;  // highest class of its functions; empty: not observed
  bool runs_kleidiai = false;
  std::vector<ObservedFunction> functions;
  ThreadUsage threads;

  // The functions that computed the operator: the callees of tasks with the highest class, else the tasks
  // themselves.
  std::vector<const ObservedFunction*> Kernels() const;
  // The most informative of Kernels(): a KleidiAI kernel that computes, else the first. Null: not observed.
  const ObservedFunction* Kernel() const;

  static constexpr const char* kSchemaName = "watched_row";
  static void Describe(auto& v) {
    using W = WatchedRow;
    v("key", &W::key, {.meaning = "as `key` of an operator in analysis_summary.json"});
    v("name", &W::name, {.meaning = "as ExecuTorch's Inspector shows it"});
    v("code", &W::code,
      {.meaning = "the highest class of instructions among its functions", .or_null = true});
    v("kleidiai", &W::runs_kleidiai, {.meaning = "one of its functions is KleidiAI's and computes"});
    v("functions", &W::functions, {.meaning = "what tasks called first, then the tasks"});
    v("threads", &W::threads, {.meaning = "how they shared it"});
  }
};

// The operators of a watched run, of delegates and portable kernels, in execution order.
std::vector<WatchedRow> MakeWatchedRows(const WatchData& watch);

struct WatchedExperiment {
  std::filesystem::path file;  // the experiment's "<stem>_watch.json"
  std::string method;          // method of the operators
  std::string label;
  bool contended = false;  // threads waited for a CPU in each run, so the times are unreliable
  std::vector<WatchedRow> rows;
  std::optional<protocol::MemoryReport> memory;  // absent: not available on the device

  static constexpr const char* kSchemaName = "watched";
  static void Describe(auto& v) {
    using W = WatchedExperiment;
    v("label", &W::label, {.meaning = "its name in reports"});
    v("contended", &W::contended,
      {.meaning = "in each of the runs threads waited for a processor: the times say little"});
    v("operators", &W::rows, {.meaning = "in the order of the run"});
    v("memory", &W::memory, {.meaning = "by owner", .omit_if_empty = true});
  }
};

// The watched experiments of a run. If a program has several methods, their experiments share a file, which
// is listed once.
std::vector<WatchedExperiment> FindWatchedExperiments(const RunData& run);
// Finds the watched experiment of `data`; null: not watched.
const WatchedExperiment* FindWatched(const std::vector<WatchedExperiment>& watched,
                                     const ExperimentData& data);
// The rows of the watched experiment; empty if not watched.
std::span<const WatchedRow> FindWatchedRows(const std::vector<WatchedExperiment>& watched,
                                            const ExperimentData& data);

// Bytes that an operator allocated during its creation, in two experiments.
struct AllocationChange {
  std::string name;
  std::int64_t baseline = 0, candidate = 0;
};

// Returns the operators whose allocations differ, the largest difference first. Absent if the experiments did
// not create the same sequence of operators.
std::optional<std::vector<AllocationChange>> ChangedAllocations(const protocol::MemoryReport& baseline,
                                                                const protocol::MemoryReport& candidate);

// A watched run with nested spans for a timeline. Times are nanoseconds since its begin.
struct WatchSpans {
  // Operators nest by their times, and end within the operator that contains them.
  struct Span {
    std::size_t op = 0;  // index into WatchReply::operators
    std::size_t depth = 0;
    Nanoseconds begin = 0, end = 0;
  };
  struct Slice {
    std::size_t span = 0;
    const protocol::WatchedSlice* slice = nullptr;
  };
  std::vector<Span> spans;
  std::vector<Slice> slices;  // ordered by begin

  explicit WatchSpans(const protocol::WatchedTimeline& timeline);  // `timeline` must outlive this object
};

// Indices into Profile::operators by KeyText.
std::map<std::string, std::size_t> OperatorsByKey(const Profile& profile);

}  // namespace etprof
