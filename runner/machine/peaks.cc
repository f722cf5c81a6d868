#include "machine/peaks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <memory>
#include <new>
#include <thread>

#include "core/error.h"
#include "machine/caches.h"
#include "machine/mac_kernels.h"
#include "machine/memory_kernels.h"
#include "platform.h"
#include "timing/operator_clock.h"

namespace etprof::runner {

ThreadTeam::ThreadTeam(int threads) : results_(static_cast<std::size_t>(threads)) {
  for (int number = 1; number < threads; ++number) {
    if (workers_.Start([this, number] { RunThread(number); })) continue;
    StopThreads();
    throw Error(ExitCode::kDeviceFailed, fmt::format("{} threads are more than the system starts", threads))
        .Remedy("measure with fewer threads, or raise `ulimit -u`");
  }
}

double ThreadTeam::Run(std::int64_t window_ns, const std::function<std::int64_t(int)>& chunk) {
  chunk_ = &chunk;
  window_ns_ = window_ns;
  finished_.store(0);
  StartGeneration();
  Work(0);
  while (finished_.load() != results_.size()) std::this_thread::yield();
  std::int64_t start = std::numeric_limits<std::int64_t>::max(), end = 0;
  double work = 0;
  for (const Result& result : results_) {
    start = std::min(start, result.start_ns);
    end = std::max(end, result.end_ns);
    work += static_cast<double>(result.work);
  }
  return work / (static_cast<double>(std::max<std::int64_t>(1, end - start)) / 1e9);
}

void ThreadTeam::StopThreads() {
  chunk_ = nullptr;
  StartGeneration();
}

void ThreadTeam::RunThread(int number) {
  for (std::uint64_t generation = 0;;) {
    while (generation_.load() == generation) std::this_thread::yield();
    generation = generation_.load();
    if (chunk_ == nullptr) return;
    Work(number);
  }
}

void ThreadTeam::Work(int number) {
  Result result;
  result.start_ns = MonotonicNow();
  do {
    result.work += (*chunk_)(number);
    result.end_ns = MonotonicNow();
  } while (result.end_ns - result.start_ns < window_ns_);
  results_[static_cast<std::size_t>(number)] = result;
  finished_.fetch_add(1);
}

namespace {

constexpr std::uint64_t kPattern = 0x0123456789abcdefU;

protocol::Rate BestRate(ThreadTeam& team, const PeakTimes& times,
                        const std::function<std::int64_t(int)>& chunk) {
  team.Run(times.warm_up_ns, chunk);
  std::vector<double> rates;
  for (int i = 0; i < times.tries; ++i) rates.push_back(team.Run(times.try_ns, chunk));
  std::ranges::sort(rates);
  const std::size_t middle = rates.size() / 2;
  const double median = rates.size() % 2 == 1 ? rates[middle] : (rates[middle - 1] + rates[middle]) / 2;
  return {rates.back(), median, rates.front(), times.tries};
}

// Finds the number of iterations that take about `target_ns`.
std::int64_t CalibrateIterations(std::int64_t target_ns, const std::function<void(std::int64_t)>& run) {
  for (std::int64_t iterations = 16;; iterations *= 4) {
    const std::int64_t start = MonotonicNow();
    run(iterations);
    const std::int64_t elapsed_ns = MonotonicNow() - start;
    if (elapsed_ns * 8 < target_ns && iterations < (std::int64_t{1} << 40)) continue;
    const double ns_per_iteration =
        static_cast<double>(std::max<std::int64_t>(1, elapsed_ns)) / static_cast<double>(iterations);
    return std::max<std::int64_t>(
        1, static_cast<std::int64_t>(static_cast<double>(target_ns) / ns_per_iteration));
  }
}

Error WrongResult(std::string_view operation, std::string_view level) {
  return Error(ExitCode::kDeviceFailed,
               fmt::format("{} computes something else than it should: this CPU has no working {}", operation,
                           level))
      .Remedy(fmt::format("hide it (--isa=-{}), and do not trust this machine, or its emulator", level));
}

protocol::ComputePeak MeasureKernel(ThreadTeam& team, const PeakTimes& times, const MacKernel& kernel) {
  const CrashContext during(fmt::format("measuring {} ({})", kernel.instruction, kernel.level));
  constexpr std::int64_t kCheckedIterations = 20;
  if (RunAndSum(kernel, kCheckedIterations) != 6.0 * static_cast<double>(kernel.macs * kCheckedIterations))
    throw WrongResult(kernel.instruction, kernel.level);
  const MacOperands operands = MakeOperands(kernel);
  const auto size = static_cast<std::size_t>(kernel.accumulator_bytes);
  std::vector<std::unique_ptr<unsigned char[]>> accumulators;
  for (int i = 0; i < team.threads(); ++i) accumulators.push_back(std::make_unique<unsigned char[]>(size));
  const std::int64_t iterations = CalibrateIterations(
      times.chunk_ns, [&](std::int64_t count) { kernel.run(count, operands.bytes, accumulators[0].get()); });
  const auto chunk = [&](int thread) {
    kernel.run(iterations, operands.bytes, accumulators[static_cast<std::size_t>(thread)].get());
    return iterations * kernel.macs;
  };
  return {std::string(kernel.level), std::string(kernel.dtype), std::string(kernel.instruction),
          BestRate(team, times, chunk)};
}

// Cycles per second of the fastest thread while all threads run. Each thread is timed separately: a thread
// that waits for a CPU shows nothing about its clock.
double MeasureClock(ThreadTeam& team, const PeakTimes& times) {
  const std::int64_t iterations =
      CalibrateIterations(5 * times.chunk_ns, [](std::int64_t count) { RunChain(count, kPattern); });
  std::atomic<std::int64_t> shortest{std::numeric_limits<std::int64_t>::max()};
  std::atomic<bool> correct{true};
  BestRate(team, times, [&](int) {
    const std::int64_t start = MonotonicNow();
    if (RunChain(iterations, kPattern) != kPattern) correct = false;
    const std::int64_t elapsed_ns = std::max<std::int64_t>(1, MonotonicNow() - start);
    for (std::int64_t previous = shortest.load();
         elapsed_ns < previous && !shortest.compare_exchange_weak(previous, elapsed_ns);) {
    }
    return elapsed_ns;
  });
  if (!correct) throw WrongResult("a chain of exclusive ors", "arithmetic");
  return static_cast<double>(iterations * kChainLength) / (static_cast<double>(shortest.load()) / 1e9);
}

using Buffer = std::unique_ptr<void, decltype(&std::free)>;

Buffer Allocate(std::int64_t bytes) {
  constexpr std::size_t kAlignment = 4096;
  const std::size_t size = (static_cast<std::size_t>(bytes) + kAlignment - 1) / kAlignment * kAlignment;
  void* memory = nullptr;
  if (::posix_memalign(&memory, kAlignment, size) != 0) throw std::bad_alloc();
  return Buffer(memory, &std::free);
}

// Passes over a working set in chunks of about `chunk_bytes`: whole passes over a small set, or
// successive pieces of a large one.
class ChunkedPasses {
 public:
  ChunkedPasses(std::int64_t bytes, std::int64_t chunk_bytes, int threads)
      : bytes_(bytes),
        passes_(std::max<std::int64_t>(1, chunk_bytes / bytes)),
        piece_(std::min(bytes, std::max(kMemoryStep, chunk_bytes / kMemoryStep * kMemoryStep))),
        positions_(static_cast<std::size_t>(threads)) {}

  // Calls `run_chunk(offset, bytes, passes)` for the thread's next chunk; returns the bytes of all its
  // passes.
  template <typename RunChunk>
  std::int64_t RunNextChunk(int thread, RunChunk run_chunk) {
    std::int64_t& offset = positions_[static_cast<std::size_t>(thread)].offset;
    const std::int64_t piece = std::min(piece_, bytes_ - offset);
    run_chunk(offset, piece, passes_);
    offset = offset + piece == bytes_ ? 0 : offset + piece;
    return piece * passes_;
  }

 private:
  struct alignas(64) ThreadPosition {
    std::int64_t offset = 0;
  };
  std::int64_t bytes_, passes_, piece_;
  std::vector<ThreadPosition> positions_;
};

void CheckMemoryKernel(const MemoryKernel& kernel) {
  const CrashContext during(fmt::format("measuring memory ({})", kernel.level));
  const Buffer buffer = Allocate(4 * kMemoryStep);
  auto* const bytes = static_cast<unsigned char*>(buffer.get());
  auto* const words = static_cast<std::uint64_t*>(buffer.get());
  kernel.write(bytes, 2 * kMemoryStep, 1, kPattern);
  words[3] = 5;
  kernel.copy(bytes + 2 * kMemoryStep, bytes, 2 * kMemoryStep, 1);
  words[3] = 9;
  if (kernel.read(bytes, 2 * kMemoryStep, 3) != (kPattern ^ 9) ||
      kernel.read(bytes + 2 * kMemoryStep, 2 * kMemoryStep, 1) != (kPattern ^ 5)) {
    throw WrongResult("memory access", kernel.level);
  }
}

void MeasureMemory(ThreadTeam& team, const PeakTimes& times, const MemoryKernel& kernel,
                   std::vector<protocol::MemoryPeak>& peaks) {
  CheckMemoryKernel(kernel);
  const int threads = team.threads();
  const std::vector<WorkingSet> sets =
      PlanWorkingSets(ReadCaches(AllowedCpus()), threads, AvailableMemoryBytes());
  std::int64_t largest = 0;
  for (const WorkingSet& set : sets) largest = std::max(largest, set.bytes_per_thread);
  std::vector<Buffer> buffers;
  for (int i = 0; i < threads; ++i) buffers.push_back(Allocate(largest));
  const auto memory = [&](int thread) {
    return static_cast<unsigned char*>(buffers[static_cast<std::size_t>(thread)].get());
  };
  // Each thread first touches its own memory, so that a NUMA machine allocates it on the nearest node.
  team.Run(0, [&](int thread) {
    kernel.write(memory(thread), largest, 1, kPattern);
    return largest;
  });
  for (const WorkingSet& set : sets) {
    const std::int64_t bytes = set.bytes_per_thread, half = bytes / 2;
    const double read_ns = [&] {
      const std::int64_t start = MonotonicNow();
      kernel.read(memory(0), bytes, 1);
      return static_cast<double>(std::max<std::int64_t>(1, MonotonicNow() - start));
    }();
    const auto chunk_bytes =
        static_cast<std::int64_t>(static_cast<double>(times.chunk_ns) * static_cast<double>(bytes) / read_ns);
    std::atomic<std::uint64_t> read_xor{0};  // uses the result, so that the reads are needed
    ChunkedPasses reads(bytes, chunk_bytes, threads), writes(bytes, chunk_bytes, threads);
    ChunkedPasses copies(half, chunk_bytes / 2, threads);
    const auto add = [&](const char* access, const std::function<std::int64_t(int)>& chunk) {
      peaks.push_back({set.level, access, BestRate(team, times, chunk), bytes * threads, set.capacity_bytes});
    };
    add("read", [&](int thread) {
      return reads.RunNextChunk(thread, [&](std::int64_t offset, std::int64_t piece, std::int64_t passes) {
        read_xor.fetch_xor(kernel.read(memory(thread) + offset, piece, passes), std::memory_order_relaxed);
      });
    });
    add("write", [&](int thread) {
      return writes.RunNextChunk(thread, [&](std::int64_t offset, std::int64_t piece, std::int64_t passes) {
        kernel.write(memory(thread) + offset, piece, passes, kPattern);
      });
    });
    add("copy", [&](int thread) {
      return 2 *
             copies.RunNextChunk(thread, [&](std::int64_t offset, std::int64_t piece, std::int64_t passes) {
               kernel.copy(memory(thread) + half + offset, memory(thread) + offset, piece, passes);
             });
    });
    // All words are equal, and every piece has an even number of words.
    if (read_xor.load() != 0) throw WrongResult("reading memory", kernel.level);
  }
}

}  // namespace

void MeasurePeaks(int threads, const PeakTimes& times, protocol::Peaks& peaks) {
  const std::int64_t start = MonotonicNow();
  const isa::FeatureSet enabled(peaks.isa_state.enabled.begin(), peaks.isa_state.enabled.end());
  // More threads than CPUs would wait for each other, and their caches would be counted several times.
  const int cpus = static_cast<int>(AllowedCpus().size());
  ThreadTeam team(cpus > 0 ? std::min(threads, cpus) : threads);
  peaks.threads = team.threads();

  peaks.clock_hz = MeasureClock(team, times);
  for (const MacKernel& kernel : MacKernels(enabled))
    peaks.compute.push_back(MeasureKernel(team, times, kernel));
  MeasureMemory(team, times, WidestMemoryKernel(enabled), peaks.memory);
  peaks.elapsed_ns = MonotonicNow() - start;
}

}  // namespace etprof::runner
