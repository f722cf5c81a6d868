#pragma once

#include <cstdint>
#include <string>

#include "machine/counter_source.h"
#include "protocol/emulator_counts.h"

namespace etprof::runner {

// Instructions that Callgrind counts where this process runs in it. It tells counts in files only: at every
// Read it writes one and sets its counts to 0, which then leaves out what reading took. Started with
// --instr-atstart=no, it counts while this object lives.
// Source: valgrind/valgrind.h (client requests), and Valgrind's manual, "Callgrind: Profile data file
// format".
class CallgrindCounters : public CounterSource {
 public:
  static bool IsHere();  // whether this process runs in Valgrind

  // `profile`: --callgrind-out-file, to whose name Callgrind appends a dot and the number of the dump. Throws
  // Error (kUsage) where it writes none: another tool of Valgrind's.
  explicit CallgrindCounters(std::string profile);
  ~CallgrindCounters() override;
  CallgrindCounters(CallgrindCounters&&) = delete;

  protocol::CounterSourceKind Kind() const override { return protocol::CounterSourceKind::kCallgrind; }
  std::size_t size() const override { return 1; }
  void Read(std::uint64_t* values) override;
  std::vector<protocol::OpenCounter> Open() const override;

 private:
  std::string profile_;
  int dumps_ = 0;
  std::uint64_t total_ = 0;
};

// Instructions that QEMU's plugin (runner/qemu/counts_plugin.cc) counts where this process runs in an
// emulator that has it.
class EmulatorCounters : public CounterSource {
 public:
  static bool IsHere();

  protocol::CounterSourceKind Kind() const override { return protocol::CounterSourceKind::kEmulator; }
  std::size_t size() const override { return protocol::kEmulatorCounters.size(); }
  void Read(std::uint64_t* values) override;
  std::vector<protocol::OpenCounter> Open() const override;
};

}  // namespace etprof::runner
