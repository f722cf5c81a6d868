#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "core/error.h"
#include "core/views.h"
#include "machine/counter_source.h"
#include "machine/perf_counters.h"
#include "protocol/emulator_counts.h"

namespace etprof::runner {
namespace {

// Client requests of Valgrind and Callgrind (valgrind/valgrind.h, valgrind/callgrind.h).
enum class ValgrindRequest : std::uint64_t {
  kRunningOnValgrind = 0x1001,
  kDump = 0x43540000,
  kZero = 0x43540001,
  kStart = 0x43540004,
  kStop = 0x43540005,
};

std::uint64_t SendValgrindRequest([[maybe_unused]] ValgrindRequest request) {
#if defined(__x86_64__) && defined(__linux__)
  volatile std::uint64_t arguments[6] = {static_cast<std::uint64_t>(request), 0, 0, 0, 0, 0};
  std::uint64_t result = 0;
  __asm__ volatile(
      "rolq $3, %%rdi\n\trolq $13, %%rdi\n\trolq $61, %%rdi\n\trolq $51, %%rdi\n\txchgq %%rbx, %%rbx"
      : "=d"(result)
      : "a"(&arguments[0]), "0"(result)
      : "cc", "memory");
  return result;
#else
  return 0;
#endif
}

// Reads the instructions in a dump and removes the file; negative: the file does not exist, or is not a
// profile.
std::int64_t ReadAndRemoveDump(const char* path) {
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return -1;
  std::int64_t total = -1;
  // The last line is "totals: 8028"; a profile without functions has "summary: 0" before it.
  char tail[256];
  const off_t size = lseek(file, 0, SEEK_END);
  const off_t tail_offset = size > off_t(sizeof(tail)) ? size - off_t(sizeof(tail)) : 0;
  const ssize_t bytes = pread(file, tail, sizeof(tail), tail_offset);
  close(file);
  unlink(path);
  const std::string_view text(tail, bytes > 0 ? static_cast<std::size_t>(bytes) : 0);
  constexpr std::string_view kTotals = "\ntotals: ";
  if (const std::size_t at = text.rfind(kTotals); at != std::string_view::npos)
    std::from_chars(text.data() + at + kTotals.size(), text.data() + text.size(), total);
  return total;
}

#if defined(__aarch64__) && defined(__linux__)
__attribute__((noinline)) void RequestEmulatorCounts(protocol::EmulatorCounts& counts) {
  static_assert(protocol::kEmulatorRequest[4] == 0xf900001f);
  // Aligned, so that the five instructions are on one page, which the emulator translates as one block.
  __asm__ volatile(
      "mov x0, %0\n\t.balign 32\n\tror x12, x12, #3\n\tror x12, x12, #13\n\tror x12, x12, #51\n\t"
      "ror x12, x12, #61\n\tstr xzr, [x0]"
      :
      : "r"(&counts)
      : "x0", "x12", "memory");
}
#else
void RequestEmulatorCounts(protocol::EmulatorCounts& counts) { counts.answer = 0; }
#endif

// Counts instructions with Callgrind if this process runs in it. Callgrind reports counts only in files:
// every Read makes it write a dump and reset its counts, which excludes the cost of reading. If Callgrind was
// started with --instr-atstart=no, it counts while this object lives. Sources: valgrind/valgrind.h (client
// requests), and Valgrind's manual, "Callgrind: Profile data file format".
class CallgrindCounters : public CounterSource {
 public:
  // True if this process runs in Valgrind.
  static bool IsActive() { return SendValgrindRequest(ValgrindRequest::kRunningOnValgrind) != 0; }

  // `profile`: the value of --callgrind-out-file, to which Callgrind appends a dot and the number of the
  // dump. Throws Error (kUsage) if no dump is written, which means that another Valgrind tool is running.
  explicit CallgrindCounters(std::string profile) : profile_(std::move(profile)) {
    SendValgrindRequest(ValgrindRequest::kStart);
    SendValgrindRequest(ValgrindRequest::kZero);
    std::uint64_t discarded = 0;
    Read(&discarded);
  }
  ~CallgrindCounters() override { SendValgrindRequest(ValgrindRequest::kStop); }
  CallgrindCounters(CallgrindCounters&&) = delete;

  protocol::CounterSourceKind Kind() const override { return protocol::CounterSourceKind::kCallgrind; }
  std::size_t size() const override { return 1; }
  void Read(std::uint64_t* values) override {
    SendValgrindRequest(ValgrindRequest::kDump);
    const std::int64_t total = ReadAndRemoveDump(fmt::format("{}.{}", profile_, ++dumps_).c_str());
    if (total < 0) {
      throw Error(ExitCode::kUsage, fmt::format("Callgrind left no profile at {}.{}", profile_, dumps_))
          .Remedy(fmt::format(
              "start the runner with `valgrind --tool=callgrind --callgrind-out-file=FILE` and {}=FILE",
              protocol::kCallgrindFileVariable));
    }
    *values = total_ += static_cast<std::uint64_t>(total);
    SendValgrindRequest(ValgrindRequest::kZero);
  }
  std::vector<protocol::AvailableCounter> AvailableCounters() const override {
    return {{"instructions", true, 1}};
  }

 private:
  std::string profile_;
  int dumps_ = 0;
  std::uint64_t total_ = 0;
};

// Counts instructions with QEMU's plugin (runner/qemu/counts_plugin.cc) if this process runs in an emulator
// that has loaded it.
class EmulatorCounters : public CounterSource {
 public:
  // True if the emulator answers the plugin's request.
  static bool IsActive() {
    protocol::EmulatorCounts counts;
    RequestEmulatorCounts(counts);
    return counts.answer == protocol::EmulatorCounts::kAnswer;
  }

  protocol::CounterSourceKind Kind() const override { return protocol::CounterSourceKind::kEmulator; }
  std::size_t size() const override { return protocol::kEmulatorCounters.size(); }
  void Read(std::uint64_t* values) override {
    protocol::EmulatorCounts counts;
    RequestEmulatorCounts(counts);
    std::memcpy(values, counts.counts.data(), sizeof(counts.counts));
  }
  std::vector<protocol::AvailableCounter> AvailableCounters() const override {
    return MapEach(protocol::kEmulatorCounters,
                   [](const char* name) { return protocol::AvailableCounter{name, true, 1}; });
  }
};

}  // namespace

std::unique_ptr<CounterSource> MakeCounterSource() {
  if (CallgrindCounters::IsActive()) {
    const char* const profile = std::getenv(protocol::kCallgrindFileVariable);
    return std::make_unique<CallgrindCounters>(profile == nullptr ? "callgrind.out" : profile);
  }
  if (EmulatorCounters::IsActive()) return std::make_unique<EmulatorCounters>();
  return std::make_unique<PerfCounters>();
}

}  // namespace etprof::runner
