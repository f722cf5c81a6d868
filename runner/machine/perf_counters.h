#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "machine/counter_source.h"

namespace etprof::runner {

// Counts events of this process's threads with Linux's perf_event_open. Counts the threads that exist at
// construction, each with groups of its own: `inherit` does not cover a thread pool that already exists, and
// cannot be combined with group reads on older kernels.
class PerfCounters : public CounterSource {
 public:
  // The system calls, replaceable so that tests need no hardware.
  struct System {
    struct Event {
      std::uint32_t type = 0;    // perf_event_attr::type
      std::uint64_t config = 0;  // perf_event_attr::config
      bool user_only = false;
    };
    // Returns a descriptor, or -errno. `group` is the descriptor of the group's leader, or -1.
    std::function<int(const Event&, int thread, int group)> open;
    // Returns the same as ::read.
    std::function<std::ptrdiff_t(int descriptor, void* buffer, std::size_t bytes)> read;
    std::function<void(int descriptor)> close;
    std::function<std::vector<int>()> threads;  // thread ids; the calling thread first
    int paranoid = -1;  // /proc/sys/kernel/perf_event_paranoid; -1: the file does not exist
  };
  static System ThisSystem();

  explicit PerfCounters(const System& system = ThisSystem());
  ~PerfCounters() override;
  PerfCounters(PerfCounters&&) = delete;

  protocol::CounterSourceKind Kind() const override { return protocol::CounterSourceKind::kProcessor; }
  std::size_t size() const override { return open_.size(); }
  int threads() const override { return threads_; }

  // Adds up all threads. Reads no clock.
  void Read(std::uint64_t* values) override;

  // A share of 0 means that other processes use the processor's counters.
  std::vector<protocol::AvailableCounter> AvailableCounters() const override;
  std::vector<protocol::UnavailableCounter> UnavailableCounters() const override { return unavailable_; }

 private:
  struct Counter {
    std::size_t kind = 0;  // index into protocol::kCounterNames
    bool user_only = false;
    std::uint64_t enabled_ns = 0, running_ns = 0;  // summed over threads
  };
  struct CounterGroup {
    int descriptor = -1;
    std::vector<std::size_t> members;  // indices into open_, in reading order
  };

  void OpenCallingThread(int thread);
  // Returns a descriptor, or -errno.
  int OpenCounter(std::size_t kind, int thread, int leader, bool user_only) const;

  System system_;
  std::vector<Counter> open_;
  std::vector<protocol::UnavailableCounter> unavailable_;
  std::vector<CounterGroup> open_groups_;  // the groups of all threads, those of the calling thread first
  std::vector<int> descriptors_;
  int threads_ = 1;
};

// Returns the reason why a counter cannot be opened, and what would open it. `error` is the errno.
std::string UnavailableReason(int error, bool hardware, int paranoid);

}  // namespace etprof::runner
