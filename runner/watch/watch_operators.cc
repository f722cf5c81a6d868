#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <limits>
#include <map>
#include <set>

#include "core/error.h"
#include "core/text/text.h"
#include "inference/boundary_recorder.h"
#include "inference/outputs.h"
#include "isa/features.h"
#include "machine/conditions.h"
#include "platform.h"
#include "timing/operator_clock.h"
#include "timing/recording.h"
#include "timing/waiting.h"
#include "watch/trampolines.h"
#include "watch/watch.h"
#include "worker_commands.h"

namespace etprof::runner {
namespace {

constexpr int kAttemptsPerCleanRun = 4;
// Maximum share of a run's time in which its threads waited for a processor.
constexpr double kMaxWaitingShare = 0.01;

using Key = BoundaryRecorder::Key;

// The sums of an operator, without `place` and `functions`. The minima over single runs begin with kNoRun.
struct Sums : protocol::WatchedOperator {
  static constexpr std::int64_t kNoRun = std::numeric_limits<std::int64_t>::max();
  Sums() { fastest_parallel_ns = kNoRun; }

  std::int64_t fastest_busy_ns = kNoRun;
  // Calls by thread, keyed by a function and whether it is the function of a task.
  std::map<std::pair<std::uintptr_t, bool>, std::vector<std::int64_t>> calls;

  void Add(const Sums& other) {
    runs += other.runs;
    time_ns += other.time_ns;
    parallel_ns += other.parallel_ns;
    fastest_parallel_ns = std::min(fastest_parallel_ns, other.fastest_parallel_ns);
    fastest_busy_ns = std::min(fastest_busy_ns, other.fastest_busy_ns);
    regions += other.regions;
    threads.resize(std::max(threads.size(), other.threads.size()));
    for (std::size_t t = 0; t < other.threads.size(); ++t) {
      const protocol::WatchedThread& from = other.threads[t];
      protocol::WatchedThread& to = threads[t];
      to.tasks += from.tasks;
      to.busy_ns += from.busy_ns;
      to.wake_ns += from.wake_ns;
      to.regions += from.regions;
      if (from.cpu >= 0) to.cpu = from.cpu;
    }
    for (const auto& [function, by_thread] : other.calls) AddCalls(function, by_thread);
  }
  void AddCalls(const std::pair<std::uintptr_t, bool>& function, const std::vector<std::int64_t>& by_thread) {
    std::vector<std::int64_t>& own_counts = calls[function];
    own_counts.resize(std::max(own_counts.size(), by_thread.size()));
    for (std::size_t t = 0; t < by_thread.size(); ++t) own_counts[t] += by_thread[t];
  }
};
using AllSums = std::map<Key, Sums>;

void Merge(const AllSums& from, AllSums& to) {
  for (const auto& [key, sums] : from) {
    Sums& own_sums = to[key];
    own_sums.name = sums.name;
    own_sums.Add(sums);
  }
}

Sums MakeSums(const std::string& name, std::span<const Region> regions, std::int64_t time_ns) {
  Sums sums;
  sums.name = name;
  sums.runs = 1;
  sums.time_ns = time_ns;
  for (const Region& region : regions) {
    std::vector<std::int64_t> tasks;
    for (std::size_t t = 0; t < region.threads.size(); ++t) {
      const Region::Thread& from = region.threads[t];
      if (sums.threads.size() <= t) sums.threads.resize(t + 1);
      protocol::WatchedThread& to = sums.threads[t];
      tasks.push_back(from.tasks);
      if (from.tasks == 0) continue;
      to.tasks += from.tasks;
      to.busy_ns += from.busy_ns;
      to.wake_ns += from.first_ns - region.begin_ns;
      to.cpu = from.cpu;
      ++to.regions;
    }
    if (region.task != 0) {
      ++sums.regions;
      sums.parallel_ns += region.end_ns - region.begin_ns;
      sums.AddCalls({region.task, true}, tasks);
    }
    for (const Region::Calls& calls : region.calls) {
      std::vector<std::int64_t> by_thread(calls.thread + 1);
      by_thread[calls.thread] = calls.calls;
      sums.AddCalls({calls.function, false}, by_thread);
    }
  }
  sums.fastest_parallel_ns = sums.parallel_ns;
  sums.fastest_busy_ns = 0;
  for (const protocol::WatchedThread& thread : sums.threads) sums.fastest_busy_ns += thread.busy_ns;
  return sums;
}

// A timeline of the operators of one run and of their threads' work. Operators are reported when they end,
// inner operators first, so a region belongs to the innermost operator.
class RunTimeline {
 public:
  void Clear() { *this = {}; }
  bool empty() const { return spans_.empty(); }

  void Add(const Key& key, std::span<const Region> regions, const std::uint64_t* from,
           const std::uint64_t* to) {
    Span& span = spans_.emplace_back();
    span.key = key;
    span.span_data.begin_ns = static_cast<std::int64_t>(from[1]);
    span.span_data.end_ns = static_cast<std::int64_t>(to[1]);
    assigned_.resize(regions.size());
    for (std::size_t r = from[0]; r < to[0]; ++r) {
      if (assigned_[r]) continue;
      assigned_[r] = true;
      for (std::size_t t = 0; t < regions[r].threads.size(); ++t) {
        const Region::Thread& thread = regions[r].threads[t];
        if (thread.tasks == 0) continue;
        if (slices_++ >= protocol::WatchedTimeline::kMaxSlices) continue;
        span.span_data.slices.push_back(
            {static_cast<std::int64_t>(t), thread.first_ns, thread.last_ns, thread.busy_ns, thread.tasks});
      }
    }
  }

  // Moves the spans into a timeline. `operator_sums` has the operators in the order of the reply.
  protocol::WatchedTimeline MakeTimeline(const AllSums& operator_sums) {
    std::map<Key, std::int64_t> index;
    for (const auto& [key, sums] : operator_sums) index.emplace_hint(index.end(), key, std::ssize(index));

    // If two operators began together, the operator that is reported last contains the other.
    std::ranges::reverse(spans_);
    std::ranges::stable_sort(spans_, [](const Span& a, const Span& b) {
      return a.span_data.begin_ns != b.span_data.begin_ns ? a.span_data.begin_ns < b.span_data.begin_ns
                                                          : a.span_data.end_ns > b.span_data.end_ns;
    });
    protocol::WatchedTimeline timeline;
    if (spans_.empty()) return timeline;
    timeline.begin_ns = spans_.front().span_data.begin_ns;
    timeline.omitted_slices = std::max<std::int64_t>(0, slices_ - protocol::WatchedTimeline::kMaxSlices);
    for (Span& span : spans_) {
      span.span_data.op = index.at(span.key);
      span.span_data.begin_ns -= timeline.begin_ns;
      span.span_data.end_ns -= timeline.begin_ns;
      for (protocol::WatchedSlice& slice : span.span_data.slices) {
        slice.begin_ns -= timeline.begin_ns;
        slice.end_ns -= timeline.begin_ns;
      }
      timeline.spans.push_back(std::move(span.span_data));
    }
    return timeline;
  }

 private:
  struct Span {
    Key key;
    protocol::WatchedSpan span_data;  // times of MonotonicNow
  };
  std::vector<Span> spans_;
  std::vector<bool> assigned_;  // indexed by region: whether it belongs to an operator
  std::int64_t slices_ = 0;
};

// Runs the model while a Watch lives, and sums up the calls of each operator.
class WatchedRuns {
 public:
  WatchedRuns(Model& model, Watch& watch)
      : model_(model),
        watch_(watch),
        recorder_(
            2,
            [this](std::uint64_t* values) {
              values[0] = watch_.Regions().size();
              values[1] = static_cast<std::uint64_t>(MonotonicNow());
            },
            [this](const Key& key, const std::string& name, const std::uint64_t* from,
                   const std::uint64_t* to) {
              const std::span<const Region> regions = watch_.Regions();
              Merge({{key, MakeSums(name, regions.subspan(from[0], to[0] - from[0]),
                                    static_cast<std::int64_t>(to[1] - from[1]))}},
                    run_sums_);
              if (records_timeline_) timeline_.Add(key, regions, from, to);
            }),
        recording_(model, recorder_) {}

  // Makes one run. Returns the share of its time in which its threads waited for a processor.
  double Run(bool is_measured) {
    run_sums_.clear();
    timeline_.Clear();
    watch_.Clear();
    recorder_.BeginRun(is_measured);
    model_.SetInputs();
    const WaitReading before = meter_.Read();
    const std::int64_t latency = model_.Run();
    const std::int64_t waited = WaitedTime(before, meter_.Read());
    recorder_.EndRun();
    model_.tracer().Clear();
    return latency > 0 && waited > 0 ? static_cast<double>(waited) / static_cast<double>(latency) : 0;
  }
  // Sums of up to `runs` runs that hardly waited for a processor; if there was no such run, sums of all
  // attempts.
  struct Result {
    AllSums sums;
    int runs = 0;
    bool contended = false;
    RunTimeline timeline;  // timeline of the first run that `sums` contains
  };
  Result Collect(int runs, const std::function<bool()>& abandoned) {
    Result clean, contended;
    for (int i = 0; i < kAttemptsPerCleanRun * runs && clean.runs < runs; ++i) {
      records_timeline_ = clean.timeline.empty();
      Result& result = Run(true) <= kMaxWaitingShare ? clean : contended;
      if (result.timeline.empty()) result.timeline = std::move(timeline_);
      Merge(run_sums_, result.sums);
      ++result.runs;
      if (abandoned()) std::_Exit(0);
    }
    contended.contended = true;
    return clean.runs > 0 ? std::move(clean) : std::move(contended);
  }
  std::int64_t unmatched_calls() const { return recorder_.unmatched_calls(); }

 private:
  Model& model_;
  Watch& watch_;
  AllSums run_sums_;
  RunTimeline timeline_;  // timeline of the current run
  bool records_timeline_ = false;
  BoundaryRecorder recorder_;
  const Recording recording_;
  const WaitMeter meter_;
};

// The targets of the branches B and BL that lead out of aarch64 code (Arm Architecture Reference Manual,
// C6.2.26 and C6.2.34: six bits x00101, then a distance in words).
std::set<std::uint64_t> Callees(std::uint64_t address, ByteView code) {
  std::set<std::uint64_t> callees;
  for (std::size_t at = 0; at + 4 <= code.size(); at += 4) {
    std::uint32_t word = 0;
    std::memcpy(&word, code.data() + at, sizeof(word));
    if ((word & 0x7c000000U) != 0x14000000U) continue;
    const auto distance = static_cast<std::int64_t>(static_cast<std::int32_t>(word << 6U) >> 4);
    const std::uint64_t target = address + at + static_cast<std::uint64_t>(distance);
    if (target - address >= code.size()) callees.insert(target);
  }
  return callees;
}

// Lists the functions of a reply, each function once.
class FunctionList {
 public:
  FunctionList(const LoadedLibrary& library, protocol::WatchReply& reply)
      : library_(library), reply_(reply) {}
  std::int64_t Index(std::uintptr_t function) {
    const auto [entry, added] = index_.try_emplace(function, reply_.functions.size());
    if (added) {
      const ElfFile::Function symbol = library_.FunctionAt(function);
      const ByteView code = library_.file().AtAddress(
          symbol.address, std::min(symbol.size, protocol::WatchedFunction::kMaxCodeBytes));
      std::string callee_code;
      if (library_.file().machine() == ElfFile::kAarch64) {
        for (const std::uint64_t callee : Callees(symbol.address, code)) {
          if (callee_code.size() > 2 * protocol::WatchedFunction::kMaxCodeBytes) break;
          callee_code += ToHexadecimal(library_.FunctionCode(callee));
        }
      }
      reply_.functions.push_back(
          {symbol.name, symbol.address, symbol.size, ToHexadecimal(code), callee_code});
    }
    return static_cast<std::int64_t>(entry->second);
  }

 private:
  const LoadedLibrary& library_;
  protocol::WatchReply& reply_;
  std::map<std::uintptr_t, std::size_t> index_;
};

void Fill(const AllSums& operator_sums, const AllSums& serial, const LoadedLibrary& library,
          protocol::WatchReply& reply) {
  FunctionList list(library, reply);
  std::map<std::int64_t, std::int64_t> capacities;  // keyed by CPU
  const auto capacity = [&](std::int64_t cpu) {
    const auto [entry, added] = capacities.try_emplace(cpu);
    if (added) entry->second = CpuCapacity(static_cast<int>(cpu)).value_or(-1);
    return entry->second;
  };
  const auto threads = static_cast<std::size_t>(reply.threads);
  for (const auto& [place, sums] : operator_sums) {
    protocol::WatchedOperator op = sums;
    op.place = place;
    op.threads.resize(threads);
    const auto serial_sums = serial.find(place);
    if (serial_sums != serial.end()) op.fastest_serial_ns = serial_sums->second.fastest_busy_ns;
    for (std::size_t t = 0; t < threads; ++t) {
      op.threads[t].capacity = capacity(op.threads[t].cpu);
      op.threads[t].waiting_ns = op.time_ns - op.threads[t].busy_ns;
      if (serial_sums == serial.end() || t >= serial_sums->second.threads.size()) continue;
      op.threads[t].serial_ns = serial_sums->second.threads[t].busy_ns;
      op.threads[t].serial_tasks = serial_sums->second.threads[t].tasks;
    }
    for (const auto& [function, by_thread] : sums.calls) {
      protocol::WatchedCalls calls{list.Index(function.first), function.second, by_thread};
      calls.calls.resize(threads);
      op.functions.push_back(std::move(calls));
    }
    reply.operators.push_back(std::move(op));
  }
}

// Names the created operators. XNNPACK creates a delegate's operators in the order in which it runs them, and
// ExecuTorch creates delegates in the order of their calls. If the numbers agree, each created operator gets
// the name of the operator that ran.
void NameCreated(const protocol::WatchReply& reply, protocol::MemoryReport& memory) {
  // Keyed by instruction.
  std::map<std::int64_t, std::vector<const protocol::WatchedOperator*>> run_operators;
  for (const protocol::WatchedOperator& op : reply.operators) {
    if (op.place.kind == "backend" && op.place.chain == 0 && op.place.occurrence == 0)
      run_operators[op.place.instruction].push_back(&op);
  }
  std::map<std::int64_t, std::vector<protocol::CreatedOperator*>> created;  // keyed by delegate
  for (protocol::CreatedOperator& op : memory.operators) created[op.delegate].push_back(&op);
  if (run_operators.size() != created.size()) return;
  for (auto run_operators_of_delegate = run_operators.begin(); const auto& [delegate, operators] : created) {
    const auto& [instruction, names] = *run_operators_of_delegate++;
    if (names.size() != operators.size()) continue;
    for (std::size_t i = 0; i < names.size(); ++i) {
      operators[i]->name = names[i]->name;
      operators[i]->instruction = instruction;
      operators[i]->ordinal = names[i]->place.ordinal;
    }
  }
}

}  // namespace

protocol::WatchReply WatchOperators(Model& model, const protocol::WatchRequest& request,
                                    std::unique_ptr<MemoryWatch> memory, protocol::MemoryReport memory_report,
                                    const std::function<bool()>& abandoned) {
  const bool memory_requested = memory != nullptr || !memory_report.problem.empty();
  const auto report_memory = [&](const char* at) {
    if (memory == nullptr) return;
    try {
      memory_report.snapshots.push_back(memory->TakeSnapshot(at, model));
    } catch (const Error& error) {
      memory_report = {};
      memory_report.problem = error.what();
      memory.reset();
    }
  };
  if (memory != nullptr) {
    RunAndHashOutputs(model);
    report_memory("first_run");
  }
  for (int i = 0; i < request.warmup; ++i) RunAndHashOutputs(model);
  report_memory("steady");
  if (memory != nullptr) memory_report.delegates = memory->Delegates();
  memory.reset();
  const std::vector<std::string> expected = RunAndHashOutputs(model);
  protocol::WatchReply reply;
  reply.outputs_compared = RunAndHashOutputs(model) == expected;
  reply.architecture = isa::ArchitectureName(isa::HostArchitecture());
  const auto reject = [&](const std::string& reason) {
    protocol::WatchReply rejection;
    rejection.problem = reason;
    if (memory_requested) rejection.memory = memory_report;
    return rejection;
  };
  try {
    Watch watch;
    reply.library = std::filesystem::path(watch.library().path()).filename().string();
    WatchedRuns::Result parallel, serial;
    {
      WatchedRuns watched_runs(model, watch);
      watched_runs.Run(false);
      if (reply.outputs_compared && HashOutputs(model.method()) != expected)
        return reject("the outputs are others while the calls are watched");
      parallel = watched_runs.Collect(request.runs, abandoned);
      reply.unmatched_calls = watched_runs.unmatched_calls();
      if (PoolThreads() > 1) {
        watch.SerializeTasks(true);
        serial = watched_runs.Collect(request.runs, abandoned);
        watch.SerializeTasks(false);
      }
      if (reply.outputs_compared && HashOutputs(model.method()) != expected)
        return reject("the outputs are others while the calls are watched");
    }
    if (CountedThreads() > kMaxThreads)
      return reject(fmt::format("more than {} threads work on it", kMaxThreads));
    reply.threads = std::max(PoolThreads(), static_cast<int>(CountedThreads()));
    reply.runs = parallel.runs;
    reply.contended = parallel.contended;
    const bool comparable = !serial.contended && serial.runs == parallel.runs;
    Fill(parallel.sums, comparable ? serial.sums : AllSums(), watch.library(), reply);
    reply.timeline = parallel.timeline.MakeTimeline(parallel.sums);
    // After restoring all slots, a run must not be recorded any more.
    const std::size_t recorded_regions = watch.Regions().size();
    watch.Release();
    RunAndHashOutputs(model);
    if (watch.Regions().size() != recorded_regions)
      throw Error(ExitCode::kDeviceFailed, "calls are still watched after the end");
  } catch (const Error& error) {
    if (error.exit_code() != ExitCode::kDeviceFailed) throw;
    return reject(error.what());
  }
  const bool has_calls =
      std::ranges::any_of(reply.operators, [](const auto& op) { return !op.functions.empty(); });
  if (!has_calls)
    return reject("no call of XNNPACK was seen: the model has no delegate of it, or it calls otherwise");
  if (memory_requested) {
    NameCreated(reply, memory_report);
    reply.memory = std::move(memory_report);
  }
  return reply;
}

}  // namespace etprof::runner
