#include "format/etdump/reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "core/error.h"
#include "core/parallel.h"
#include "format/etdump/block_reader.h"
#include "format/etdump/verified.h"

namespace etprof {
namespace {

using Blocks = flatbuffers::Vector<flatbuffers::Offset<::etdump::RunData>>;

// ETDUMP_VERSION in devtools/etdump/etdump_flatcc.cpp.
constexpr std::uint32_t kKnownVersion = 0;

// The offset of each block's events in the time columns if all of its events were profile events. The last
// entry is the total number of events.
std::vector<std::size_t> EventOffsets(const EtdumpRoot& file, const Blocks& blocks, std::size_t threads) {
  std::vector<std::size_t> offsets(blocks.size() + 1, 0);
  // Use several threads: the first access to the file's pages takes longer than the verification itself.
  constexpr std::size_t kBlocksPerPart = 4096;
  ParallelForParts(blocks.size(), kBlocksPerPart, threads, [&](std::size_t first, std::size_t end) {
    for (std::size_t block = first; block < end; ++block) {
      const ::etdump::RunData& run = *blocks.Get(static_cast<flatbuffers::uoffset_t>(block));
      if (!file.VerifyShallow(run)) throw file.MalformedError();
      offsets[block + 1] = run.events() != nullptr ? run.events()->size() : 0;
    }
  });
  for (std::size_t block = 0; block < blocks.size(); ++block) {
    offsets[block + 1] += offsets[block];
    // If there are more events than the file can hold, blocks share events, and reading could take forever.
    if (offsets[block + 1] > file.max_tables()) throw file.MalformedError();
  }
  return offsets;
}

// Consecutive blocks that one thread reads.
struct BlockRange {
  std::size_t first = 0, end = 0;
};

// Divides the blocks into at most `count` parts with about the same number of events.
std::vector<BlockRange> DivideBlocks(const std::vector<std::size_t>& offsets, std::size_t count) {
  std::vector<BlockRange> parts;
  const std::size_t blocks = offsets.size() - 1;
  std::size_t first = 0;
  for (std::size_t part = 1; part <= count && first < blocks; ++part) {
    std::size_t end = first + 1;
    while (end < blocks && offsets[end] < offsets.back() / count * part) ++end;
    if (part == count) end = blocks;
    parts.push_back({first, end});
    first = end;
  }
  return parts;
}

// Merges the results of one part into the whole trace, and renumbers the layouts of its blocks.
void MergePart(Trace& merged, Trace& part, const BlockRange& blocks, LayoutIndex& layout_index) {
  std::vector<NameId> names;
  for (NameId id = 0; id < part.names.size(); ++id) names.push_back(merged.names.Intern(part.names.Text(id)));
  std::vector<std::uint32_t> layouts;
  for (Trace::Layout& layout : part.layouts) {
    for (NameId& name : layout.name) name = names[name];
    layouts.push_back(layout_index.FindOrAdd(merged.layouts, std::move(layout)));
  }
  for (std::size_t block = blocks.first; block < blocks.end; ++block)
    merged.blocks[block].layout = layouts[merged.blocks[block].layout];
  for (const Trace::Allocations& allocations : part.allocations)
    AddAllocations(merged.allocations, allocations);
  for (const auto& [event, metadata] : part.metadata)
    AddMetadata(merged, event.first, event.second, metadata);
  merged.health.AddAll(part.health);
}

// Removes the gaps that events without times left in the columns.
void CloseGaps(Trace& trace, const std::vector<std::size_t>& offsets) {
  std::size_t event = 0;
  for (std::size_t block = 0; block < trace.blocks.size(); ++block) {
    const auto from = static_cast<std::ptrdiff_t>(offsets[block]);
    const auto to = static_cast<std::ptrdiff_t>(event);
    const auto count = static_cast<std::ptrdiff_t>(trace.blocks[block].event_count);
    if (from != to) {
      std::copy(trace.start.begin() + from, trace.start.begin() + from + count, trace.start.begin() + to);
      std::copy(trace.end.begin() + from, trace.end.begin() + from + count, trace.end.begin() + to);
    }
    trace.blocks[block].first_event = event;
    event += trace.blocks[block].event_count;
  }
  trace.start.resize(event);
  trace.end.resize(event);
}

}  // namespace

bool HasEtdumpName(const std::filesystem::path& file) {
  return file.extension() == ".etdump" || file.extension() == ".etdp" || file.filename() == "etdump.in";
}

Trace ReadEtdump(ByteView bytes, const std::string& file_name, const EtdumpOptions& options) {
  const double delegate_ns_per_tick =
      options.delegate_nanoseconds_per_tick.value_or(options.nanoseconds_per_tick);
  for (const double ns_per_tick : {options.nanoseconds_per_tick, delegate_ns_per_tick}) {
    if (!(ns_per_tick > 0) || !std::isfinite(ns_per_tick))
      throw Error(ExitCode::kUsage, "the clock's nanoseconds per tick must be a positive number");
  }
  Trace trace;
  trace.delegate_nanoseconds_per_tick = delegate_ns_per_tick;
  const EtdumpRoot file(bytes, file_name);
  if (file.root().version() > kKnownVersion) {
    trace.health.Add(
        "version_newer", HealthEntry::Severity::kDataLoss,
        fmt::format("the file has version {} of ETDump, and this etprof knows {}: what that added or "
                    "changed is not read",
                    file.root().version(), kKnownVersion));
  }
  if (file.root().run_data() == nullptr) return trace;
  const Blocks& blocks = *file.root().run_data();
  const std::vector<std::size_t> offsets = EventOffsets(file, blocks, options.threads);
  trace.blocks.resize(blocks.size());
  trace.start.resize(offsets.back());
  trace.end.resize(offsets.back());

  // Starting a thread takes longer than reading a small file.
  constexpr std::size_t kMinEventsPerThread = 50'000;
  const std::size_t threads = options.threads != 0
                                  ? options.threads
                                  : std::min(HardwareThreads(), offsets.back() / kMinEventsPerThread + 1);
  const std::vector<BlockRange> parts = DivideBlocks(offsets, threads);
  std::vector<BlockReader> readers;
  for (std::size_t i = 0; i < parts.size(); ++i)
    readers.emplace_back(file, bytes, options.nanoseconds_per_tick, delegate_ns_per_tick);
  // Each block is verified right before it is read, while it is in the cache.
  ParallelFor(parts.size(), threads, [&](std::size_t part) {
    for (std::size_t block = parts[part].first; block < parts[part].end; ++block) {
      const ::etdump::RunData& run = *blocks.Get(static_cast<flatbuffers::uoffset_t>(block));
      try {
        trace.blocks[block] = readers[part].Read(run, block, trace.start.data() + offsets[block],
                                                 trace.end.data() + offsets[block]);
      } catch (Error& error) {
        throw error.InFile(file_name);
      }
    }
  });
  // With this limit all sums and differences of times fit into 64 bits.
  double total = 0;
  for (const BlockReader& reader : readers) total += reader.total_length_ns();
  if (total > static_cast<double>(kMaxTotalTime)) {
    throw Error(ExitCode::kBadInput, "holds events of more than 13 days together")
        .InFile(file_name)
        .Remedy("give the clock of the file by --time-scale, if it does not count nanoseconds");
  }
  LayoutIndex layout_index;
  for (std::size_t part = 0; part < parts.size(); ++part)
    MergePart(trace, readers[part].trace(), parts[part], layout_index);
  CloseGaps(trace, offsets);
  return trace;
}

Trace ReadEtdumpFile(const std::filesystem::path& path, const EtdumpOptions& options) {
  return WithFile(path, kMaxTableBytes,
                  [&](ByteView bytes) { return ReadEtdump(bytes, path.string(), options); });
}

std::string MergeEtdumps(const std::vector<std::filesystem::path>& inputs) {
  ::etdump::ETDumpT merged;
  std::vector<std::unique_ptr<::etdump::RunDataT>> executions;
  for (const std::filesystem::path& path : inputs) {
    const auto part = WithFile(path, kMaxTableBytes, [&](ByteView bytes) {
      return std::unique_ptr<::etdump::ETDumpT>(VerifyEtdump(bytes, path.string()).UnPack());
    });
    merged.version = std::max(merged.version, part->version);
    for (auto& run : part->run_data) {
      (run->name == "Execute" ? executions : merged.run_data).push_back(std::move(run));
    }
  }
  for (auto& run : executions) merged.run_data.push_back(std::move(run));
  flatbuffers::FlatBufferBuilder builder;
  ::etdump::FinishSizePrefixedETDumpBuffer(builder, ::etdump::ETDump::Pack(builder, &merged));
  return {reinterpret_cast<const char*>(builder.GetBufferPointer()), builder.GetSize()};
}

}  // namespace etprof
