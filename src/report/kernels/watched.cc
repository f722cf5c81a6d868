#include "report/kernels/watched.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <tuple>

#include "core/text/text.h"
#include "core/views.h"

namespace etprof {
namespace {

// Thresholds for the causes in ThreadCause.
constexpr double kOneThreadShare = 0.8;  // share of the busy time for kOneThread
constexpr double kSlowCoreRatio = 1.5;   // ratio of mean task times without contention for kSlowCore
constexpr std::int64_t kMinTasks = 8;    // least number of tasks for a thread's mean
constexpr double kMinSpeedup = 1.3;      // speedup over sequential execution below which threads do not help
constexpr double kMaxEvenShare = 0.65;   // largest share of a thread if the tasks are evenly distributed
// Per run; the wake-up of threads dominates shorter operators.
constexpr std::int64_t kMinParallelNs = 100'000;

std::string FunctionCode(const protocol::WatchedFunction& function, const std::string& architecture) {
  const auto architecture_id = architecture == isa::ArchitectureName(isa::Architecture::kAarch64)
                                   ? isa::Architecture::kAarch64
                                   : isa::Architecture::kX86_64;
  if (function.code.empty()) return "";
  const std::string_view own_class = isa::ClassifyCode(FromHexadecimal(function.code), architecture_id);
  const std::string_view called_class = isa::ClassifyCode(FromHexadecimal(function.called), architecture_id);
  return std::string(isa::CodeRank(called_class) > isa::CodeRank(own_class) ? called_class : own_class);
}

std::string FunctionName(const protocol::WatchedFunction& function) {
  return function.name.empty() ? fmt::format("code at {:#x}", function.address) : function.name;
}

// Returns whether the function is a KleidiAI kernel that computes rather than packs.
bool IsKleidiaiKernel(std::string_view name) {
  return name.starts_with("kai_run_") && name.find("matmul_clamp") != name.npos;
}

// Returns whether a thread on a core of less capacity takes much longer per task than another thread when no
// other thread runs.
bool HasSlowCore(const std::vector<protocol::WatchedThread>& threads) {
  const auto mean = [](const protocol::WatchedThread& thread) {
    return static_cast<double>(thread.serial_ns) / static_cast<double>(thread.serial_tasks);
  };
  for (const protocol::WatchedThread& slow : threads) {
    for (const protocol::WatchedThread& other : threads) {
      if (slow.capacity > 0 && slow.capacity < other.capacity && slow.serial_tasks >= kMinTasks &&
          other.serial_tasks >= kMinTasks && mean(slow) >= kSlowCoreRatio * mean(other))
        return true;
    }
  }
  return false;
}

std::optional<ThreadCause> FindThreadCause(const ThreadUsage& usage, bool contended) {
  const auto threads = static_cast<std::int64_t>(usage.threads.size());
  const std::int64_t tasks = usage.Tasks(), busy = usage.BusyNs();
  if (contended || threads < 2 || usage.regions == 0 || busy == 0 || usage.parallel_ns == 0)
    return std::nullopt;
  if (tasks < threads * usage.regions) return ThreadCause::kFewTasks;
  if (*usage.BusiestShare() >= kOneThreadShare) return ThreadCause::kOneThread;
  if (usage.fastest_parallel_ns < kMinParallelNs) return std::nullopt;
  if (HasSlowCore(usage.threads)) return ThreadCause::kSlowCore;
  const auto speedup = usage.SpeedupOverSerial();
  if (speedup && *speedup < kMinSpeedup && tasks >= 2 * threads * usage.regions &&
      *usage.BusiestShare() <= kMaxEvenShare)
    return ThreadCause::kSharedUnit;
  return std::nullopt;
}

template <typename Member>
std::int64_t SumMember(const std::vector<protocol::WatchedThread>& threads, Member member) {
  return std::accumulate(threads.begin(), threads.end(), std::int64_t{0},
                         [&](std::int64_t sum, const auto& thread) { return sum + thread.*member; });
}

}  // namespace

std::int64_t ThreadUsage::Tasks() const { return SumMember(threads, &protocol::WatchedThread::tasks); }
std::int64_t ThreadUsage::BusyNs() const { return SumMember(threads, &protocol::WatchedThread::busy_ns); }
std::optional<double> ThreadUsage::Efficiency() const {
  if (parallel_ns == 0 || threads.empty()) return std::nullopt;
  return static_cast<double>(BusyNs()) /
         (static_cast<double>(threads.size()) * static_cast<double>(parallel_ns));
}
std::optional<double> ThreadUsage::BusiestShare() const {
  const std::int64_t busy = BusyNs();
  if (busy == 0) return std::nullopt;
  const auto busiest = std::ranges::max_element(threads, {}, &protocol::WatchedThread::busy_ns);
  return static_cast<double>(busiest->busy_ns) / static_cast<double>(busy);
}
std::optional<double> ThreadUsage::SpeedupOverSerial() const {
  if (fastest_serial_ns == 0 || fastest_parallel_ns == 0) return std::nullopt;
  return static_cast<double>(fastest_serial_ns) / static_cast<double>(fastest_parallel_ns);
}

std::vector<const ObservedFunction*> WatchedRow::Kernels() const {
  for (const bool tasks : {false, true}) {
    std::vector<const ObservedFunction*> found;
    for (const ObservedFunction& function : functions) {
      if (function.is_task == tasks && (tasks || function.code == code || IsKleidiaiKernel(function.name)))
        found.push_back(&function);
    }
    if (!found.empty()) return found;
  }
  return {};
}

const ObservedFunction* WatchedRow::Kernel() const {
  const std::vector<const ObservedFunction*> kernels = Kernels();
  const auto computes = std::ranges::find_if(
      kernels, [](const ObservedFunction* function) { return IsKleidiaiKernel(function->name); });
  if (computes != kernels.end()) return *computes;
  return kernels.empty() ? nullptr : kernels.front();
}

std::vector<WatchedRow> MakeWatchedRows(const WatchData& watch) {
  const protocol::WatchReply& reply = watch.reply;
  const std::vector<std::string> codes = MapEach(
      reply.functions, [&](const auto& function) { return FunctionCode(function, reply.architecture); });
  std::vector<WatchedRow> rows;
  for (const protocol::WatchedOperator& op : reply.operators) {
    if (op.place.kind != "backend" && op.place.kind != "kernel") continue;
    WatchedRow row;
    row.key = op.place.KeyText(watch.method);
    row.name = op.name;
    for (const protocol::WatchedCalls& calls : op.functions) {
      const auto index = static_cast<std::size_t>(calls.function);
      ObservedFunction function{FunctionName(reply.functions[index]), codes[index], calls.is_task,
                                calls.calls};
      for (std::int64_t& count : function.calls)
        count = std::llround(static_cast<double>(count) /
                             static_cast<double>(std::max<std::int64_t>(op.runs, 1)));
      row.runs_kleidiai = row.runs_kleidiai || IsKleidiaiKernel(function.name);
      if (isa::CodeRank(function.code) > isa::CodeRank(row.code)) row.code = function.code;
      row.functions.push_back(std::move(function));
    }
    std::ranges::stable_sort(row.functions, {}, [](const ObservedFunction& function) {
      return std::tuple(function.is_task, -isa::CodeRank(function.code), -function.Calls());
    });
    row.threads = {op, {}};
    row.threads.cause = FindThreadCause(row.threads, reply.contended);
    rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<WatchedExperiment> FindWatchedExperiments(const RunData& run) {
  std::vector<WatchedExperiment> watched;
  for (const ExperimentData& data : run.experiments) {
    if (data.watch == nullptr || FindWatched(watched, data) != nullptr) continue;
    watched.push_back({WatchFile(data),
                       data.watch->method,
                       data.label,
                       data.watch->reply.contended,
                       MakeWatchedRows(*data.watch),
                       {}});
    const std::optional<protocol::MemoryReport>& memory = data.watch->reply.memory;
    if (memory && !memory->snapshots.empty()) watched.back().memory = memory;
  }
  return watched;
}

const WatchedExperiment* FindWatched(const std::vector<WatchedExperiment>& watched,
                                     const ExperimentData& data) {
  if (data.watch == nullptr) return nullptr;
  const auto found = std::ranges::find(watched, WatchFile(data), &WatchedExperiment::file);
  return found == watched.end() ? nullptr : &*found;
}

std::span<const WatchedRow> FindWatchedRows(const std::vector<WatchedExperiment>& watched,
                                            const ExperimentData& data) {
  const WatchedExperiment* const found = FindWatched(watched, data);
  return found == nullptr ? std::span<const WatchedRow>() : found->rows;
}

std::optional<std::vector<AllocationChange>> ChangedAllocations(const protocol::MemoryReport& baseline,
                                                                const protocol::MemoryReport& candidate) {
  // Do not compare names: XNNPACK's names contain data types, which may depend on the instruction set.
  const auto place = [](const protocol::CreatedOperator& op) {
    return std::tuple(op.delegate, op.instruction, op.ordinal);
  };
  if (!std::ranges::equal(baseline.operators, candidate.operators, {}, place, place)) return std::nullopt;
  std::vector<AllocationChange> changes;
  for (std::size_t i = 0; i < baseline.operators.size(); ++i) {
    const protocol::CreatedOperator &before = baseline.operators[i], &after = candidate.operators[i];
    if (before.bytes != after.bytes) changes.push_back({after.NameOrFunction(), before.bytes, after.bytes});
  }
  std::ranges::stable_sort(changes, std::ranges::greater(), [](const AllocationChange& change) {
    return std::abs(change.candidate - change.baseline);
  });
  return changes;
}

WatchSpans::WatchSpans(const protocol::WatchedTimeline& timeline) {
  std::vector<Nanoseconds> open_ends;
  for (const protocol::WatchedSpan& span : timeline.spans) {
    while (!open_ends.empty() && open_ends.back() <= span.begin_ns) open_ends.pop_back();
    const Nanoseconds end = open_ends.empty() ? span.end_ns : std::min(span.end_ns, open_ends.back());
    for (const protocol::WatchedSlice& slice : span.slices) slices.push_back({spans.size(), &slice});
    spans.push_back({static_cast<std::size_t>(span.op), open_ends.size(), span.begin_ns, end});
    open_ends.push_back(end);
  }
  std::ranges::stable_sort(slices, {}, [](const Slice& slice) { return slice.slice->begin_ns; });
}

std::map<std::string, std::size_t> OperatorsByKey(const Profile& profile) {
  std::map<std::string, std::size_t> indices;
  for (std::size_t op = 0; op < profile.operators.size(); ++op)
    indices.emplace(KeyText(profile.operators[op].key), op);
  return indices;
}

}  // namespace etprof
