#pragma once

#include <cstdint>
#include <string>

#include "machine/counter_source.h"
#include "protocol/emulator_counts.h"

namespace etprof::runner {

// Counts instructions with Callgrind if this process runs in it. Callgrind reports counts only in files:
// every Read makes it write a dump and reset its counts, which excludes the cost of reading. If Callgrind was
// started with --instr-atstart=no, it counts while this object lives. Sources: valgrind/valgrind.h (client
// requests), and Valgrind's manual, "Callgrind: Profile data file format".
class CallgrindCounters : public CounterSource {
 public:
  static bool IsActive();  // true if this process runs in Valgrind

  // `profile`: the value of --callgrind-out-file, to which Callgrind appends a dot and the number of the
  // dump. Throws Error (kUsage) if no dump is written, which means that another Valgrind tool is running.
  explicit CallgrindCounters(std::string profile);
  ~CallgrindCounters() override;
  CallgrindCounters(CallgrindCounters&&) = delete;

  protocol::CounterSourceKind Kind() const override { return protocol::CounterSourceKind::kCallgrind; }
  std::size_t size() const override { return 1; }
  void Read(std::uint64_t* values) override;
  std::vector<protocol::AvailableCounter> Open() const override;

 private:
  std::string profile_;
  int dumps_ = 0;
  std::uint64_t total_ = 0;
};

// Counts instructions with QEMU's plugin (runner/qemu/counts_plugin.cc) if this process runs in an emulator
// that has loaded it.
class EmulatorCounters : public CounterSource {
 public:
  static bool IsActive();  // true if the emulator answers the plugin's request

  protocol::CounterSourceKind Kind() const override { return protocol::CounterSourceKind::kEmulator; }
  std::size_t size() const override { return protocol::kEmulatorCounters.size(); }
  void Read(std::uint64_t* values) override;
  std::vector<protocol::AvailableCounter> Open() const override;
};

}  // namespace etprof::runner
