#include "watch/watch_operators.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <set>

#include "core/error.h"
#include "core/text/hexadecimal.h"
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

namespace etprof::runner {
namespace {

constexpr int kAttempts = 4;  // attempts per clean run
// Maximum share of a run's time in which its threads waited for a processor.
constexpr double kMaxWaitingShare = 0.01;

using Key = BoundaryRecorder::Key;

struct Sums {
  std::string name;
  std::int64_t runs = 0, time_ns = 0, parallel_ns = 0, regions = 0;
  std::int64_t fastest_parallel_ns = -1, fastest_busy_ns = -1;  // minimum over single runs; -1: none yet
  std::vector<protocol::WatchedThread> threads;
  // By function, and whether it is a task's function: calls by thread.
  std::map<std::pair<std::uintptr_t, bool>, std::vector<std::int64_t>> calls;

  void Add(const Sums& other) {
    runs += other.runs;
    time_ns += other.time_ns;
    parallel_ns += other.parallel_ns;
    const auto min_known = [](std::int64_t mine, std::int64_t theirs) {
      return mine < 0 ? theirs : theirs < 0 ? mine : std::min(mine, theirs);
    };
    fastest_parallel_ns = min_known(fastest_parallel_ns, other.fastest_parallel_ns);
    fastest_busy_ns = min_known(fastest_busy_ns, other.fastest_busy_ns);
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
    std::vector<std::int64_t>& mine = calls[function];
    mine.resize(std::max(mine.size(), by_thread.size()));
    for (std::size_t t = 0; t < by_thread.size(); ++t) mine[t] += by_thread[t];
  }
};
using AllSums = std::map<Key, Sums>;

void Merge(const AllSums& from, AllSums& to) {
  for (const auto& [key, sums] : from) {
    Sums& mine = to[key];
    mine.name = sums.name;
    mine.Add(sums);
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

// When the operators of one run and their threads worked. Operators are reported when they end, inner
// operators first, so a region belongs to the innermost operator.
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
    taken_.resize(regions.size());
    for (std::size_t r = from[0]; r < to[0]; ++r) {
      if (taken_[r]) continue;
      taken_[r] = true;
      for (std::size_t t = 0; t < regions[r].threads.size(); ++t) {
        const Region::Thread& thread = regions[r].threads[t];
        if (thread.tasks == 0) continue;
        if (slices_++ >= protocol::WatchedTimeline::kMaxSlices) continue;
        span.span_data.slices.push_back(
            {static_cast<std::int64_t>(t), thread.first_ns, thread.last_ns, thread.busy_ns, thread.tasks});
      }
    }
  }

  // `all` has the operators in the order of the reply.
  protocol::WatchedTimeline Take(const AllSums& all) {
    std::map<Key, std::int64_t> index;
    for (const auto& [key, sums] : all) index.emplace_hint(index.end(), key, std::ssize(index));
    // If two operators began together, the one reported last contains the other.
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
  std::vector<bool> taken_;  // by region: belongs to an operator
  std::int64_t slices_ = 0;
};

std::vector<std::string> Digests(const Model& model) {
  std::vector<std::string> digests;
  for (const protocol::OutputDigest& output : DigestOutputs(model.method())) digests.push_back(output.sha256);
  return digests;
}

// Makes runs while a Watch lives.
class Watching {
 public:
  Watching(Model& model, Watch& watch)
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
                    this_run_);
              if (keeps_timeline_) timeline_.Add(key, regions, from, to);
            }),
        recording_(model, recorder_) {}

  // Makes one run. Returns the share of its time in which its threads waited for a processor.
  double Run(bool counted) {
    this_run_.clear();
    timeline_.Clear();
    watch_.Forget();
    recorder_.BeginRun(counted);
    model_.GiveInputs();
    const WaitReading before = meter_.Read();
    const std::int64_t latency = model_.Run();
    const std::int64_t waited = WaitedTime(before, meter_.Read());
    recorder_.EndRun();
    model_.tracer().Forget();
    return latency > 0 && waited > 0 ? static_cast<double>(waited) / static_cast<double>(latency) : 0;
  }
  // Sums of up to `runs` clean runs; if no run was clean, sums of all attempts.
  struct Result {
    AllSums sums;
    int runs = 0;
    bool contended = false;
    RunTimeline timeline;  // of the first of these runs
  };
  Result Collect(int runs, const std::function<bool()>& abandoned) {
    Result clean, others;
    for (int i = 0; i < kAttempts * runs && clean.runs < runs; ++i) {
      keeps_timeline_ = clean.timeline.empty();
      Result& result = Run(true) <= kMaxWaitingShare ? clean : others;
      if (result.timeline.empty()) result.timeline = std::move(timeline_);
      Merge(this_run_, result.sums);
      ++result.runs;
      if (abandoned()) std::_Exit(0);
    }
    others.contended = true;
    return clean.runs > 0 ? std::move(clean) : std::move(others);
  }
  std::int64_t unmatched_calls() const { return recorder_.unmatched_calls(); }

 private:
  Model& model_;
  Watch& watch_;
  AllSums this_run_;
  RunTimeline timeline_;  // of this run
  bool keeps_timeline_ = false;
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

// The functions of a reply, without repetition.
class FunctionList {
 public:
  FunctionList(const LoadedLibrary& library, protocol::WatchReply& reply)
      : library_(library), reply_(reply) {}
  std::int64_t Index(std::uintptr_t function) {
    const auto [known, added] = index_.try_emplace(function, reply_.functions.size());
    if (added) {
      const ElfFile::Function found = library_.FunctionAt(function);
      const ByteView code = library_.file().AtAddress(
          found.address, std::min(found.size, protocol::WatchedFunction::kMaxCodeBytes));
      std::string callee_code;
      if (library_.file().machine() == ElfFile::kAarch64) {
        for (const std::uint64_t callee : Callees(found.address, code)) {
          if (callee_code.size() > 2 * protocol::WatchedFunction::kMaxCodeBytes) break;
          callee_code += ToHexadecimal(library_.FunctionCode(callee));
        }
      }
      reply_.functions.push_back({found.name, found.address, found.size, ToHexadecimal(code), callee_code});
    }
    return static_cast<std::int64_t>(known->second);
  }

 private:
  const LoadedLibrary& library_;
  protocol::WatchReply& reply_;
  std::map<std::uintptr_t, std::size_t> index_;
};

void Fill(const AllSums& all, const AllSums& one_at_a_time, const LoadedLibrary& library,
          protocol::WatchReply& reply) {
  FunctionList list(library, reply);
  std::map<std::int64_t, std::int64_t> capacities;  // by CPU
  const auto capacity = [&](std::int64_t cpu) {
    const auto [known, added] = capacities.try_emplace(cpu);
    if (added) known->second = CpuCapacity(static_cast<int>(cpu)).value_or(-1);
    return known->second;
  };
  const auto threads = static_cast<std::size_t>(reply.threads);
  for (const auto& [place, sums] : all) {
    protocol::WatchedOperator op;
    op.place = place;
    op.name = sums.name;
    op.runs = sums.runs;
    op.time_ns = sums.time_ns;
    op.parallel_ns = sums.parallel_ns;
    op.regions = sums.regions;
    op.threads = sums.threads;
    op.threads.resize(threads);
    op.fastest_parallel_ns = std::max<std::int64_t>(sums.fastest_parallel_ns, 0);
    const auto single = one_at_a_time.find(place);
    if (single != one_at_a_time.end())
      op.fastest_alone_ns = std::max<std::int64_t>(single->second.fastest_busy_ns, 0);
    for (std::size_t t = 0; t < threads; ++t) {
      op.threads[t].capacity = capacity(op.threads[t].cpu);
      op.threads[t].waiting_ns = op.time_ns - op.threads[t].busy_ns;
      if (single == one_at_a_time.end() || t >= single->second.threads.size()) continue;
      op.threads[t].alone_ns = single->second.threads[t].busy_ns;
      op.threads[t].alone_tasks = single->second.threads[t].tasks;
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
  std::map<std::int64_t, std::vector<const protocol::WatchedOperator*>> ran;  // by instruction
  for (const protocol::WatchedOperator& op : reply.operators) {
    if (op.place.kind == "backend" && op.place.chain == 0 && op.place.occurrence == 0)
      ran[op.place.instruction].push_back(&op);
  }
  std::map<std::int64_t, std::vector<protocol::CreatedOperator*>> created;  // by delegate
  for (protocol::CreatedOperator& op : memory.operators) created[op.delegate].push_back(&op);
  if (ran.size() != created.size()) return;
  for (auto at = ran.begin(); const auto& [delegate, operators] : created) {
    const auto& [instruction, names] = *at++;
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
                                    std::unique_ptr<MemoryWatch> memory, protocol::MemoryReport loaded,
                                    const std::function<bool()>& abandoned) {
  const auto run_unwatched = [&] {
    model.GiveInputs();
    model.Run();
    return Digests(model);
  };
  const bool memory_asked = memory != nullptr || !loaded.problem.empty();
  const auto report_memory = [&](const char* at) {
    if (memory == nullptr) return;
    try {
      loaded.moments.push_back(memory->Now(at, model));
    } catch (const Error& error) {
      loaded = {};
      loaded.problem = error.what();
      memory.reset();
    }
  };
  if (memory != nullptr) {
    run_unwatched();
    report_memory("first_run");
  }
  for (int i = 0; i < request.warmup; ++i) run_unwatched();
  report_memory("steady");
  if (memory != nullptr) loaded.delegates = memory->Delegates();
  memory.reset();
  const std::vector<std::string> expected = run_unwatched();
  protocol::WatchReply reply;
  reply.outputs_compared = run_unwatched() == expected;
  reply.architecture = isa::ArchitectureName(isa::HostArchitecture());
  const auto refuse = [&](const std::string& why) {
    protocol::WatchReply refused;
    refused.problem = why;
    if (memory_asked) refused.memory = loaded;
    return refused;
  };
  try {
    Watch watch;
    reply.library = std::filesystem::path(watch.library().path()).filename().string();
    Watching::Result all, one_at_a_time;
    {
      Watching watching(model, watch);
      watching.Run(false);
      if (reply.outputs_compared && Digests(model) != expected)
        return refuse("the outputs are others while the calls are watched");
      all = watching.Collect(request.runs, abandoned);
      reply.unmatched_calls = watching.unmatched_calls();
      if (PoolThreads() > 1) {
        watch.OneAtATime(true);
        one_at_a_time = watching.Collect(request.runs, abandoned);
        watch.OneAtATime(false);
      }
      if (reply.outputs_compared && Digests(model) != expected)
        return refuse("the outputs are others while the calls are watched");
    }
    if (ThreadsSeen() > kMaxThreads)
      return refuse(fmt::format("more than {} threads work on it", kMaxThreads));
    reply.threads = std::max(PoolThreads(), static_cast<int>(ThreadsSeen()));
    reply.runs = all.runs;
    reply.contended = all.contended;
    const bool comparable = !one_at_a_time.contended && one_at_a_time.runs == all.runs;
    Fill(all.sums, comparable ? one_at_a_time.sums : AllSums(), watch.library(), reply);
    reply.timeline = all.timeline.Take(all.sums);
    // After restoring all slots, a run must not be recorded any more.
    const std::size_t seen = watch.Regions().size();
    watch.Release();
    run_unwatched();
    if (watch.Regions().size() != seen)
      throw Error(ExitCode::kDeviceFailed, "calls are still watched after the end");
  } catch (const Error& error) {
    if (error.exit_code() != ExitCode::kDeviceFailed) throw;
    return refuse(error.what());
  }
  const bool any = std::ranges::any_of(reply.operators, [](const auto& op) { return !op.functions.empty(); });
  if (!any)
    return refuse("no call of XNNPACK was seen: the model has no delegate of it, or it calls otherwise");
  if (memory_asked) {
    NameCreated(reply, loaded);
    reply.memory = std::move(loaded);
  }
  return reply;
}

}  // namespace etprof::runner
