#pragma once

#include <filesystem>
#include <optional>

#include "core/file/file.h"
#include "etdump/trace.h"

namespace etprof {

// An ETDump is a FlatBuffer of schema `etdump_schema_flatcc.fbs` (shipped by the executorch wheel),
// identifier "ED00", written size-prefixed by ExecuTorch's runners: u32 length, then the buffer. The prefix
// lets a writer append and a reader notice a cut file; files without it are read too.
struct EtdumpOptions {
  // Nanoseconds per tick of the file's clock: 1 for ExecuTorch's runners on Linux, macOS and Android.
  double nanoseconds_per_tick = 1.0;
  // The same of the events that delegates write; absent: theirs is the file's clock.
  std::optional<double> delegate_nanoseconds_per_tick = {};

  bool HasNanoseconds() const {
    return nanoseconds_per_tick == 1.0 && delegate_nanoseconds_per_tick.value_or(1.0) == 1.0;
  }
  std::size_t threads =
      0;  // to read with at most; 0: as many as the machine has cores. The result is the same.
};

// Whether a file has a name that writers of ETDumps give: `.etdump` (runners), `.etdp` (ExecuTorch's
// documents), or `etdump.in` (the default of ExecuTorch's LLM runner).
bool HasEtdumpName(const std::filesystem::path& file);

// Reads a whole ETDump. `file_name` is for messages only. Throws Error (kBadInput), with the offset, for what
// is not an ETDump, is cut short or is malformed, or holds a Method::execute whose time is out of range.
// Memory: 16 bytes an event and 17 more for each event of every different block.
Trace ReadEtdump(ByteView bytes, const std::string& file_name, const EtdumpOptions& options = {});
Trace ReadEtdumpFile(const std::filesystem::path& path, const EtdumpOptions& options = {});

// The blocks of `inputs`, one file after the other, as one ETDump that ExecuTorch's Inspector reads: all
// blocks named "Execute" in order; blocks of loading ("Default") of every file come first. Returns the file's
// contents. Throws as ReadEtdump.
std::string MergedEtdumps(const std::vector<std::filesystem::path>& inputs);

}  // namespace etprof
