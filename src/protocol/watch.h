#pragma once

// {"cmd": "watch"}: runs in which the runner observes which functions XNNPACK calls, for which operator, on
// which thread, and how long each task of its thread pool takes (runner/watch/). Functions that XNNPACK calls
// by name, those of KleidiAI and of the thread pool, are wrapped only during these runs.
//
// All counts and times are integer sums over the counted runs; times are nanoseconds of CLOCK_MONOTONIC. An
// operator's threads are the caller and those of the pool, in the order in which the process first saw them:
// the caller is 0.

#include <algorithm>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/json/describe.h"
#include "core/units.h"
#include "protocol/operator_place.h"

// The memory of a process by owner, and the time that loading took: a part of the reply from a worker that
// loaded its model with "watch_memory" (runner/watch/memory_watch.h).
namespace etprof::protocol {

// The owner of a byte of the process. Each byte has one owner.
enum class MemoryOwner {
  kProgram,  // the mapped .pte (and .ptd) file
  kPlanned,  // the memory arenas that the program plans for tensors
  kWeights,  // allocated when XNNPACK's operators were created: packed weights, and the operators themselves
  kWorkspace,  // allocated by XNNPACK to reshape, set up, and run
  kXnnpack,    // other allocations of XNNPACK
  kLibraries,  // the runner and its libraries: code and data
  kStacks,     // the stack of the main thread
  kOther,      // all other memory: ExecuTorch, the runner, stacks of other threads, free heap blocks
};

// The parts of the time from opening the program until its method is loaded.
enum class LoadPart {
  kProgram,  // opening, mapping, and verifying the file
  kPlan,     // allocating the memory that the program plans, and reading the directory of a .ptd file
  kGraph,    // XNNPACK: reading, defining, and optimizing its graphs
  kCreate,   // XNNPACK: creating operators, including packing by its own functions
  kPack,     // KleidiAI: packing weights
  kOther,    // the rest: ExecuTorch's tensors and kernels, other delegates
};

}  // namespace etprof::protocol

namespace etprof {

template <>
inline constexpr const char* kNames<protocol::LoadPart>[] = {"program", "plan", "graph",
                                                             "create",  "pack", "rest"};

template <>
inline constexpr const char* kNames<protocol::MemoryOwner>[] = {
    "program", "planned", "weights", "workspace", "xnnpack", "libraries", "stacks", "rest"};

}  // namespace etprof

namespace etprof::protocol {

struct MemoryPart {
  MemoryOwner owner = MemoryOwner::kOther;
  std::int64_t bytes = 0;     // mapped or allocated
  std::int64_t resident = 0;  // part of `bytes` that is in memory

  static constexpr const char* kSchemaName = "memory_part";
  static void Describe(auto& v) {
    v("owner", &MemoryPart::owner, {.meaning = "of these bytes: each byte has one"});
    v("bytes", &MemoryPart::bytes, {.meaning = "mapped, or asked for"});
    v("resident_bytes", &MemoryPart::resident, {.meaning = "of `bytes`, in memory"});
  }
};

struct MemorySnapshot {
  std::string moment;             // "loaded", "first_run", "steady"
  std::int64_t rss_bytes = 0;     // memory of the whole process: the sum of the parts
  std::vector<MemoryPart> parts;  // every owner, in the order of the enumeration

  std::int64_t ResidentBytes(MemoryOwner owner) const {
    const auto found = std::ranges::find(parts, owner, &MemoryPart::owner);
    return found == parts.end() ? 0 : found->resident;
  }

  static constexpr const char* kSchemaName = "memory_moment";
  static void Describe(auto& v) {
    v("at", &MemorySnapshot::moment,
      {.meaning = "after loading, after the first run, after those before measuring"});
    v("rss_bytes", &MemorySnapshot::rss_bytes, {.meaning = "resident set size: the sum of the parts"});
    v("parts", &MemorySnapshot::parts, {.meaning = "every owner"});
  }
};

// An operator that XNNPACK created. Operators are in the order of creation.
struct CreatedOperator {
  std::string function;           // XNNPACK's C function: "xnn_create_convolution2d_nhwc_f32"
  std::int64_t delegate = 0;      // index in the order of creation, from 0
  std::int64_t bytes = 0;         // bytes that are still allocated after loading
  std::int64_t largest = 0;       // largest single block of `bytes`: the packed weights, if there are any
  std::string name;               // name of the operator in traces; empty: unknown
  std::int64_t instruction = -1;  // instruction of the delegate call; -1: unknown
  std::int64_t ordinal = -1;      // index within the delegate call; -1: unknown
  std::int64_t copy_of = -1;      // earlier operator whose largest block has the same contents; -1: none
  const std::string& NameOrFunction() const { return name.empty() ? function : name; }

  static constexpr const char* kSchemaName = "created_operator";
  static void Describe(auto& v) {
    using C = CreatedOperator;
    v("function", &C::function, {.meaning = "of XNNPACK's interface: \"xnn_create_convolution2d_nhwc_f32\""});
    v("delegate", &C::delegate, {.meaning = "in the order of creation, from 0"});
    v("bytes", &C::bytes,
      {.meaning = "allocated while it was created, and not freed until the model is loaded"});
    v("largest", &C::largest, {.meaning = "of `bytes`, in one block: its packed weights, where it has some"});
    v("name", &C::name, {.meaning = "in traces; empty: not known"});
    v("instruction", &C::instruction, {.meaning = "of its delegate call; -1: not known", .min = -1});
    v("ordinal", &C::ordinal, {.meaning = "within that call; -1: not known", .min = -1});
    v("copy_of", &C::copy_of,
      {.meaning = "index of an earlier operator whose largest block, of 4096 bytes or more, is the same; -1: "
                  "none",
       .min = -1});
  }
};

// The shared XNNPACK memory that a delegate uses. Delegates with the same number share it.
struct DelegateMemory {
  std::int64_t workspace = -1;        // numbered by first use; -1: a separate, unobserved workspace
  std::int64_t workspace_bytes = -1;  // allocated for the workspace after the runs; -1: unknown
  std::int64_t weights_cache = -1;    // numbered by first use; -1: the delegate has its own packed weights

  static constexpr const char* kSchemaName = "delegate_memory";
  static void Describe(auto& v) {
    using D = DelegateMemory;
    v("workspace", &D::workspace,
      {.meaning = "the same number: the same workspace; -1: one of its own, unseen", .min = -1});
    v("workspace_bytes", &D::workspace_bytes,
      {.meaning = "allocated for the workspace after the runs; -1: not known", .min = -1});
    v("weights_cache", &D::weights_cache,
      {.meaning = "the same number: packed weights are shared; -1: they are its own", .min = -1});
  }
};

struct LoadTime {
  LoadPart part = LoadPart::kOther;
  std::int64_t ns = 0;

  static constexpr const char* kSchemaName = "load_time";
  static void Describe(auto& v) {
    v("part", &LoadTime::part,
      {.meaning = "opening the file, planned memory, XNNPACK's graphs, its operators, KleidiAI's packing, "
                  "the rest"});
    v("ns", &LoadTime::ns, {.meaning = "that it took"});
  }
};

// The load time of the watched process, which loads more slowly than other processes, because every
// allocation is recorded.
struct LoadTimes {
  std::int64_t total_ns = 0;    // the sum of the parts
  std::vector<LoadTime> parts;  // every part, in the order of the enumeration

  static constexpr const char* kSchemaName = "load_times";
  static void Describe(auto& v) {
    v("total_ns", &LoadTimes::total_ns, {.meaning = "the sum of the parts"});
    v("parts", &LoadTimes::parts, {.meaning = "every part, in order"});
  }
  // Throws std::invalid_argument if the parts are incomplete or do not add up to the total.
  void CheckParts() const {
    std::int64_t sum = 0;
    for (const LoadTime& part : parts) sum += part.ns;
    if (!std::ranges::equal(parts, AllValues<LoadPart>(), {}, &LoadTime::part) || sum != total_ns)
      throw std::invalid_argument("the parts of the load time are not those of the whole");
  }
};

struct MemoryReport {
  std::string problem;  // why memory cannot be attributed here; empty: it was
  std::vector<MemorySnapshot> snapshots;
  std::vector<CreatedOperator> operators;
  std::optional<LoadTimes> load;          // absent in files of old runners
  std::vector<DelegateMemory> delegates;  // in the order of creation; empty: unknown

  static constexpr const char* kSchemaName = "memory_by_owner";
  static void Describe(auto& v) {
    v("why_not", &MemoryReport::problem, {.meaning = "it cannot be told; empty: it was"});
    v("moments", &MemoryReport::snapshots, {.meaning = "in the order of time"});
    v("operators", &MemoryReport::operators, {.meaning = "that XNNPACK created, in order"});
    v("delegates", &MemoryReport::delegates, {.meaning = "in the order of creation", .omit_if_empty = true});
    v("load", &MemoryReport::load, {.meaning = "what loading took its time for", .omit_if_empty = true});
  }
  static void Check(const MemoryReport& report) {
    if (report.problem.empty() && report.snapshots.empty())
      throw std::invalid_argument("memory: \"moments\" is empty");
    if (report.load) report.load->CheckParts();
    for (std::size_t i = 0; i < report.operators.size(); ++i) {
      if (report.operators[i].copy_of >= static_cast<std::int64_t>(i))
        throw std::invalid_argument("memory: an operator is a copy of a later one");
    }
    for (const MemorySnapshot& snapshot : report.snapshots) {
      std::int64_t sum = 0;
      for (const MemoryPart& part : snapshot.parts) sum += part.resident;
      if (!std::ranges::equal(snapshot.parts, AllValues<MemoryOwner>(), {}, &MemoryPart::owner) ||
          sum != snapshot.rss_bytes)
        throw std::invalid_argument("memory: the parts of \"" + snapshot.moment +
                                    "\" are not those of the whole");
    }
  }
};

// The following structs are the timeline: when each operator and each thread worked in one of the watched
// runs.

// The work of one thread in one parallel region, from the start of its first task to the end of its last
// task. Times are nanoseconds since the start of the run.
struct WatchedSlice {
  std::int64_t thread = 0;  // index into WatchedOperator::threads
  std::int64_t begin_ns = 0, end_ns = 0;
  std::int64_t busy_ns = 0;  // time in tasks
  std::int64_t tasks = 0;

  static constexpr const char* kSchemaName = "watched_slice";
  static void Describe(auto& v) {
    v("thread", &WatchedSlice::thread, {.meaning = "index of the operator's `threads`"});
    v("begin_ns", &WatchedSlice::begin_ns, {.meaning = "of its first task in a parallel region"});
    v("end_ns", &WatchedSlice::end_ns, {.meaning = "of its last task there"});
    v("busy_ns", &WatchedSlice::busy_ns, {.meaning = "in tasks"});
    v("tasks", &WatchedSlice::tasks, {.meaning = "that it did", .min = 1});
  }
};

struct WatchedSpan {
  std::int64_t op = 0;  // index into WatchReply::operators
  std::int64_t begin_ns = 0, end_ns = 0;
  std::vector<WatchedSlice> slices;  // slices of its regions, without those of nested operators

  static constexpr const char* kSchemaName = "watched_span";
  static void Describe(auto& v) {
    v("operator", &WatchedSpan::op, {.meaning = "index of the list of operators"});
    v("begin_ns", &WatchedSpan::begin_ns, {.meaning = "since the begin of the run"});
    v("end_ns", &WatchedSpan::end_ns, {.meaning = "since the begin of the run"});
    v("slices", &WatchedSpan::slices, {.meaning = "of parallel regions that no operator inside it has"});
  }
};

struct WatchedTimeline {
  static constexpr std::int64_t kMaxSlices = 20'000;

  std::int64_t begin_ns = 0;        // start of the run, CLOCK_MONOTONIC
  std::vector<WatchedSpan> spans;   // parents before children
  std::int64_t omitted_slices = 0;  // number of slices beyond kMaxSlices

  static constexpr const char* kSchemaName = "watched_timeline";
  static void Describe(auto& v) {
    using T = WatchedTimeline;
    v("begin_ns", &T::begin_ns, {.meaning = "of the run, of CLOCK_MONOTONIC"});
    v("spans", &T::spans, {.meaning = "parents before children"});
    v("left_out", &T::omitted_slices, {.meaning = "slices that are not here: there are too many"});
  }
  // `operators` and `threads` are the numbers of operators and threads of the process. Throws
  // std::invalid_argument for other indices, and for times that are out of order.
  void CheckIndices(std::size_t operators, std::int64_t threads) const {
    for (const WatchedSpan& span : spans) {
      if (span.op < 0 || span.op >= static_cast<std::int64_t>(operators))
        throw std::invalid_argument("the timeline has an operator that is not in the list");
      if (span.begin_ns < 0 || span.end_ns < span.begin_ns)
        throw std::invalid_argument("an operator of the timeline ends before it begins");
      for (const WatchedSlice& slice : span.slices) {
        if (slice.thread < 0 || slice.thread >= threads)
          throw std::invalid_argument("the timeline has a thread that the process has not");
        if (slice.begin_ns < span.begin_ns || slice.end_ns < slice.begin_ns || slice.end_ns > span.end_ns)
          throw std::invalid_argument("a thread's tasks lie outside of their operator");
      }
    }
  }
};

struct WatchRequest {
  int warmup = 2;
  int runs = 5;

  static void Describe(auto& v) {
    v("warmup", &WatchRequest::warmup, {.meaning = "runs before, not counted", .max = 1000});
    v("runs", &WatchRequest::runs, {.meaning = "that count", .min = 1, .max = 1000});
  }
};

struct WatchedFunction {
  std::string name;           // symbol in the library; empty: it has none
  std::uint64_t address = 0;  // address in the library's file
  std::uint64_t size = 0;     // bytes; 0: unknown
  std::string code;           // machine code in hexadecimal, at most kMaxCodeBytes; empty: unknown
  std::string called;         // aarch64: code of the library's functions that it calls directly, concatenated

  static constexpr std::uint64_t kMaxCodeBytes = 65'536;
  static constexpr const char* kSchemaName = "watched_function";
  static void Describe(auto& v) {
    v("name", &WatchedFunction::name, {.meaning = "of the library's symbol; empty: it has none"});
    v("address", &WatchedFunction::address, {.meaning = "in the library's file"});
    v("size", &WatchedFunction::size, {.meaning = "bytes; 0: not known"});
    v("code", &WatchedFunction::code, {.meaning = "its bytes in hexadecimal"});
    v("called", &WatchedFunction::called,
      {.meaning = "aarch64: the bytes of the functions of the library that it calls directly, together"});
  }
};

struct WatchedCalls {
  std::int64_t function = 0;        // index into WatchReply::functions
  bool is_task = false;             // passed to the thread pool as a task; false: called by a task
  std::vector<std::int64_t> calls;  // indexed by thread

  static constexpr const char* kSchemaName = "watched_calls";
  static void Describe(auto& v) {
    v("function", &WatchedCalls::function, {.meaning = "index of the list of functions"});
    v("is_task", &WatchedCalls::is_task,
      {.meaning = "the thread pool was given this function; else a task called it"});
    v("calls", &WatchedCalls::calls, {.meaning = "by thread"});
  }
};

// The largest count, and the largest number of nanoseconds, of a watched operator. Sums over threads, and
// products with their number, fit into 64 bits, since an operator has at most kMaxWatchedThreads.
inline constexpr double kMaxSumOverRuns = kMaxTotalTime;
inline constexpr std::size_t kMaxWatchedThreads = 2048;

struct WatchedThread {
  std::int64_t tasks = 0;
  std::int64_t busy_ns = 0;     // time in tasks
  std::int64_t waiting_ns = 0;  // the operator's time minus busy_ns
  std::int64_t wake_ns = 0;     // time from the start of each region to the thread's first task
  std::int64_t regions = 0;     // parallel regions in which the thread had a task
  std::int64_t serial_ns = 0;   // time in tasks during runs in which only one task ran at any moment
  std::int64_t serial_tasks = 0;
  std::int64_t cpu = -1;  // CPU on which the thread was last seen; -1: unknown

  std::int64_t capacity = -1;  // capacity of `cpu` as reported by Linux (1024: the fastest); -1: unknown

  static constexpr const char* kSchemaName = "watched_thread";
  static void Describe(auto& v) {
    v("tasks", &WatchedThread::tasks, {.meaning = "over all runs", .max = kMaxSumOverRuns});
    v("busy_ns", &WatchedThread::busy_ns, {.meaning = "in tasks", .max = kMaxSumOverRuns});
    v("waiting_ns", &WatchedThread::waiting_ns,
      {.meaning = "the operator's time less `busy_ns`", .max = kMaxSumOverRuns});
    v("wake_ns", &WatchedThread::wake_ns,
      {.meaning = "from the start of a parallel region to its first task there", .max = kMaxSumOverRuns});
    v("regions", &WatchedThread::regions,
      {.meaning = "parallel regions in which it had a task", .max = kMaxSumOverRuns});
    v("alone_ns", &WatchedThread::serial_ns,
      {.meaning = "its tasks' time in the runs in which only one task ran at any moment",
       .max = kMaxSumOverRuns});
    v("alone_tasks", &WatchedThread::serial_tasks,
      {.meaning = "those of `alone_ns`", .max = kMaxSumOverRuns});
    v("cpu", &WatchedThread::cpu, {.meaning = "on which it was last seen; -1: not known", .min = -1});
    v("capacity", &WatchedThread::capacity,
      {.meaning = "of that CPU, as Linux gives it (1024: the fastest); -1: not known", .min = -1});
  }
};

// The work of the threads on an operator: sums over its runs, in nanoseconds.
struct ThreadTimes {
  std::int64_t runs = 0;
  std::int64_t time_ns = 0;
  std::int64_t parallel_ns = 0;  // part of the time in parallel regions
  std::int64_t regions = 0;      // number of parallel regions
  std::vector<WatchedThread> threads;
  std::int64_t fastest_parallel_ns = 0;  // the smallest parallel_ns of a run
  std::int64_t fastest_serial_ns = 0;    // smallest time in tasks of runs with one task at a time; 0: none
};

struct WatchedOperator : ThreadTimes {
  OperatorPlace place;
  std::string name;
  std::vector<WatchedCalls> functions;

  static constexpr const char* kSchemaName = "watched_operator";
  static void Describe(auto& v) {
    using O = WatchedOperator;
    v.Flat(&O::place);
    v("name", &O::name, {.meaning = "as in traces"});
    v("runs", &O::runs, {.meaning = "that it ran in"});
    v("time_ns", &O::time_ns, {.meaning = "over all runs", .max = kMaxSumOverRuns});
    v("parallel_ns", &O::parallel_ns,
      {.meaning = "of `time_ns`, in parallel regions", .max = kMaxSumOverRuns});
    v("regions", &O::regions,
      {.meaning = "parallel regions: calls of the thread pool", .max = kMaxSumOverRuns});
    v("fastest_parallel_ns", &O::fastest_parallel_ns,
      {.meaning = "of the run with the least of it", .max = kMaxSumOverRuns});
    v("fastest_alone_ns", &O::fastest_serial_ns,
      {.meaning = "the tasks' time of the fastest run in which only one task ran at any moment; 0: none",
       .max = kMaxSumOverRuns});
    v("functions", &O::functions, {.meaning = "that were called for it"});
    v("threads", &O::threads, {.meaning = "the caller, then those of the pool"});
  }
  static void Check(const WatchedOperator& op) {
    if (op.threads.size() > kMaxWatchedThreads) throw std::invalid_argument("has too many threads");
  }
};

struct WatchReply {
  std::string problem;  // why the calls cannot be watched; empty: they were watched
  int runs = 0;
  bool contended = false;  // threads waited for a CPU in each run: times are unreliable
  int threads = 0;
  std::string architecture;  // architecture of the code: "x86-64", "aarch64"
  std::string library;
  bool outputs_compared = false;  // false: outputs differ without watching, too
  std::int64_t unmatched_calls = 0;
  std::vector<WatchedFunction> functions;
  std::vector<WatchedOperator> operators;
  // The timeline of the first counted run; absent in files of old runners.
  std::optional<WatchedTimeline> timeline;
  std::optional<MemoryReport> memory;  // memory of a model that was loaded with "watch_memory"

  static constexpr const char* kSchemaName = "watch";
  static constexpr bool kRequiresAllKeys = true;
  static void Describe(auto& v) {
    using R = WatchReply;
    v("why_not", &R::problem, {.meaning = "it cannot be watched; empty: it was"});
    v("runs", &R::runs, {.meaning = "that count"});
    v("contended", &R::contended,
      {.meaning = "in each of the runs threads waited for a processor: the times say little"});
    v("threads", &R::threads, {.meaning = "the caller and those of the pool"});
    v("architecture", &R::architecture, {.meaning = "of the code: \"x86-64\", \"aarch64\""});
    v("library", &R::library, {.meaning = "that was watched, its file's name"});
    v("outputs_compared", &R::outputs_compared,
      {.meaning =
           "watched and unwatched runs gave the same outputs; false: they differ without watching, too"});
    v("unmatched_calls", &R::unmatched_calls,
      {.meaning = "delegate calls whose operators and boundaries are not equally many"});
    v("functions", &R::functions, {.meaning = "that any operator called"});
    v("operators", &R::operators, {.meaning = "of the method"});
    v("timeline", &R::timeline, {.meaning = "of the first of the runs", .omit_if_empty = true});
    v("memory", &R::memory,
      {.meaning = "by owner, and what loading took its time for", .omit_if_empty = true});
  }
  static void Check(const WatchReply& reply) {
    for (const WatchedOperator& op : reply.operators) {
      if (op.threads.size() != static_cast<std::size_t>(reply.threads))
        throw std::invalid_argument("an operator has not as many threads as the process");
      for (const WatchedCalls& calls : op.functions) {
        if (calls.function >= static_cast<std::int64_t>(reply.functions.size()))
          throw std::invalid_argument("an operator calls a function that is not in the list");
        if (calls.calls.size() != op.threads.size())
          throw std::invalid_argument("a function's calls are not as many as there are threads");
      }
    }
    if (reply.timeline) reply.timeline->CheckIndices(reply.operators.size(), reply.threads);
  }
};

}  // namespace etprof::protocol
