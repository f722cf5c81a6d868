#pragma once

#include <filesystem>
#include <optional>

#include "core/file/file.h"
#include "format/etdump/trace.h"

namespace etprof {

// An ETDump is a FlatBuffer with the schema `etdump_schema_flatcc.fbs` (shipped in the executorch wheel) and
// the identifier "ED00". ExecuTorch's runners write it size-prefixed: u32 length, then the buffer. The prefix
// lets a writer append and a reader notice a truncated file. Files without a prefix can also be read.
struct EtdumpOptions {
  // Nanoseconds per tick of the file's clock: 1 for ExecuTorch's runners on Linux, macOS and Android.
  double nanoseconds_per_tick = 1.0;
  // Nanoseconds per tick of the events that delegates write; absent: they use the file's clock.
  std::optional<double> delegate_nanoseconds_per_tick = {};

  bool HasNanoseconds() const {
    return nanoseconds_per_tick == 1.0 && delegate_nanoseconds_per_tick.value_or(1.0) == 1.0;
  }
  // Maximum number of threads; 0: one per core of the machine. The result does not depend on this.
  std::size_t threads = 0;
};

// Returns whether the file's name is one that writers of ETDumps use: `.etdump` (runners), `.etdp`
// (ExecuTorch's documentation), or `etdump.in` (the default of ExecuTorch's LLM runner).
bool HasEtdumpName(const std::filesystem::path& file);

// Reads a whole ETDump. `file_name` is only used in messages. Throws Error (kBadInput) with the offset if the
// bytes are not an ETDump, are truncated or malformed, or contain a Method::execute whose time is out of
// range. Memory: 16 bytes per event, and 17 more for each event of every distinct layout.
Trace ReadEtdump(ByteView bytes, const std::string& file_name, const EtdumpOptions& options = {});
Trace ReadEtdumpFile(const std::filesystem::path& path, const EtdumpOptions& options = {});

// Merges the blocks of several files into one ETDump that ExecuTorch's Inspector can read. All blocks named
// "Execute" come in order, after the loading blocks ("Default") of all files. Returns the file's contents.
// Throws as ReadEtdump.
std::string MergeEtdumps(const std::vector<std::filesystem::path>& inputs);

}  // namespace etprof
