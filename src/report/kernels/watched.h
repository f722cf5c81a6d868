#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/json/describe.h"
#include "isa/code_class.h"
#include "measure/store/watch.h"

namespace etprof {

// A function that computed an operator, as the runner saw it called.
struct ProvenFunction {
  std::string name;
  std::string code;  // what it needs, as CodeClass::name says, of it and of what it calls directly
  bool is_task = false;
  std::vector<std::int64_t> calls;  // in one run, by thread; rounded

  std::int64_t Calls() const {  // of all threads
    return std::accumulate(calls.begin(), calls.end(), std::int64_t{0});
  }
  std::int64_t Threads() const {  // that called it
    return std::ranges::count_if(calls, [](std::int64_t count) { return count > 0; });
  }

  static constexpr const char* kSchemaName = "proven_function";
  static void Describe(auto& v) {
    using F = ProvenFunction;
    v("name", &F::name, {.meaning = "its symbol; \"code at 0x100c40\" where the library has none for it"});
    v("code", &F::code,
      {.meaning = "the highest class of instructions, of it and of what it calls directly"});
    v("is_task", &F::is_task, {.meaning = "the thread pool was given it; else a task called it"});
    v("calls", &F::calls, {.meaning = "in one run, by thread"});
  }
};

// Why an operator's threads do not make it faster.
enum class ThreadCause {
  kFewTasks,    // there were fewer tasks than threads
  kOneThread,   // one did most of the work
  kSlowCore,    // one ran on a core of less capacity, where tasks take much longer, even alone
  kSharedUnit,  // in the fastest run, tasks took nearly as long together as one after the other
};
template <>
inline constexpr NamedValue<ThreadCause> kNames<ThreadCause>[] = {{ThreadCause::kFewTasks, "few_tasks"},
                                                                  {ThreadCause::kOneThread, "one_thread"},
                                                                  {ThreadCause::kSlowCore, "slow_core"},
                                                                  {ThreadCause::kSharedUnit, "shared_unit"}};

// How the threads shared an operator. Sums over the runs of `WatchReply`, nanoseconds.
struct ThreadUse {
  std::int64_t time_ns = 0, parallel_ns = 0;  // of it, in parallel regions
  std::int64_t regions = 0;                   // parallel regions
  std::vector<protocol::WatchedThread> threads;
  std::int64_t runs = 0;
  std::int64_t fastest_parallel_ns = 0, fastest_alone_ns = 0;  // of one run: see WatchedOperator

  std::int64_t Tasks() const;
  std::int64_t BusyNs() const;
  std::optional<double> Efficiency() const;    // busy time over threads x parallel time; absent: no region
  std::optional<double> BusiestShare() const;  // of the busy time: of the thread with most of it
  // Of its tasks one after the other, each in its fastest run, which others disturbed least; absent: not
  // measured.
  std::optional<double> SpeedupOverOne() const;
  // Absent: the threads help, or the times say too little (`contended`, or one thread).
  std::optional<ThreadCause> cause;

  static constexpr const char* kSchemaName = "thread_use";
  static void Describe(auto& v) {
    using U = ThreadUse;
    v("runs", &U::runs, {.meaning = "that it ran in"});
    v("time_ns", &U::time_ns, {.meaning = "over all `runs`, as the other times"});
    v("parallel_ns", &U::parallel_ns, {.meaning = "of `time_ns`, in parallel regions"});
    v("regions", &U::regions, {.meaning = "parallel regions: calls of the thread pool"});
    v("threads", &U::threads, {.meaning = "the caller, then those of the pool"});
    v("efficiency", &U::Efficiency,
      {.meaning = "busy time over the number of threads times `parallel_ns`", .least = 0});
    v("speedup_over_one", &U::SpeedupOverOne,
      {.meaning = "of its tasks one after the other; null: not measured", .least = 0});
    v("cause", &U::cause,
      {.meaning = "why the threads do not make it faster; null: they do, or it is not known"});
  }
};

struct WatchedRow {
  std::string key;
  std::string name;
  std::string code;  // the highest class among its functions; empty: none was seen
  bool kleidiai = false;
  std::vector<ProvenFunction> functions;
  ThreadUse threads;

  // What computed it: of what tasks called, those of the highest class; else of the tasks themselves.
  std::vector<const ProvenFunction*> Kernels() const;

  static constexpr const char* kSchemaName = "watched_row";
  static void Describe(auto& v) {
    using W = WatchedRow;
    v("key", &W::key, {.meaning = "as `key` of an operator in analysis_summary.json"});
    v("name", &W::name, {.meaning = "as ExecuTorch's Inspector shows it"});
    v("code", &W::code,
      {.meaning = "the highest class of instructions among its functions", .or_null = true});
    v("kleidiai", &W::kleidiai, {.meaning = "one of its functions is KleidiAI's and computes"});
    v("functions", &W::functions, {.meaning = "what tasks called first, then the tasks"});
    v("threads", &W::threads, {.meaning = "how they shared it"});
  }
};

// The operators of a watched run, those of delegates and portable kernels, in the order of the run.
std::vector<WatchedRow> WatchedRows(const WatchData& watch);

struct WatchedExperiment {
  std::filesystem::path file;  // WatchFile
  std::string method;          // of the operators
  std::string label;
  bool contended = false;  // of its times: see WatchReply
  std::vector<WatchedRow> rows;
  std::optional<protocol::MemoryReport> memory;  // absent: it cannot be told there

  static constexpr const char* kSchemaName = "watched";
  static void Describe(auto& v) {
    using W = WatchedExperiment;
    v("label", &W::label, {.meaning = "its name in reports"});
    v("contended", &W::contended,
      {.meaning = "in each of the runs threads waited for a processor: the times say little"});
    v("operators", &W::rows, {.meaning = "in the order of the run"});
    v("memory", &W::memory, {.meaning = "by owner", .if_any = true});
  }
};

// Those of a run that were watched. Of a program of several methods the experiments share a file: it is there
// once.
std::vector<WatchedExperiment> WatchedOf(const RunData& run);
// That of the experiment; null where it was not watched.
const WatchedExperiment* FindWatched(const std::vector<WatchedExperiment>& watched,
                                     const ExperimentData& data);
// Its rows; none where it was not watched.
std::span<const WatchedRow> RowsOf(const std::vector<WatchedExperiment>& watched, const ExperimentData& data);

}  // namespace etprof
