#include "watch/memory_watch.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <map>
#include <mutex>
#include <sstream>
#include <utility>

#include "core/error.h"
#include "core/file/descriptor.h"
#include "watch/library.h"
#include "watch/timed_calls.h"
#include "watch/trampolines.h"

namespace etprof::runner {

using protocol::MemoryOwner;

namespace memory_watch_internal {

// A call of XNNPACK's interface: the index of the function, and the number of the call.
struct Call {
  std::size_t function = 0;
  std::uint32_t count = 0;  // 0: no function has been called yet
  auto operator<=>(const Call&) const = default;
};

struct Block {
  std::size_t size = 0;
  Call creator;
};

constexpr std::size_t kMinPackedBytes = 4096;  // minimum size of a block of weights

struct State {
  State() : library(LoadedLibrary::FindXnnpack()) {}
  ~State();
  State(State&&) = delete;

  LoadedLibrary library;
  TimedCalls timed;
  ReplacedSlots replaced;
  std::vector<std::string> functions;  // indexed by trampoline
  std::mutex mutex;
  std::map<std::uintptr_t, Block> blocks;
  std::vector<Call> created;                       // calls that create an operator, in order
  std::vector<std::int64_t> delegates_of_created;  // delegate of each call in `created`
  struct Runtime {
    std::uintptr_t workspace = 0, weights_cache = 0;  // addresses; 0: the delegate has none
  };
  std::vector<Runtime> runtimes;

  bool CreatesOperator(std::size_t function) const {
    const std::string_view name = functions[function];
    return name.starts_with("xnn_create_") && !name.starts_with("xnn_create_runtime") &&
           !name.starts_with("xnn_create_subgraph") && !name.starts_with("xnn_create_workspace");
  }
  MemoryOwner BlockOwner(const Call& call) const {
    if (call.count == 0) return MemoryOwner::kXnnpack;
    if (CreatesOperator(call.function)) return MemoryOwner::kWeights;
    const std::string_view name = functions[call.function];
    return name.starts_with("xnn_reshape_") || name.starts_with("xnn_setup_") ||
                   name.starts_with("xnn_invoke_") || name.starts_with("xnn_run_")
               ? MemoryOwner::kWorkspace
               : MemoryOwner::kXnnpack;
  }

  void Add(void* block, std::size_t size) {
    if (block == nullptr) return;
    const std::lock_guard lock(mutex);
    Call call;
    if (const std::uint32_t last = LastCalledTrampoline(ThreadIndex()); last < functions.size())
      call = {last, CallCounts(ThreadIndex())[last]};
    if (call.count > 0 && CreatesOperator(call.function) && (created.empty() || created.back() != call)) {
      created.push_back(call);
      delegates_of_created.push_back(CountSubgraphs());
    }
    blocks[reinterpret_cast<std::uintptr_t>(block)] = {size, call};
  }
  void Remove(void* block) {
    const std::lock_guard lock(mutex);
    blocks.erase(reinterpret_cast<std::uintptr_t>(block));
  }
  // Number of created subgraphs; each delegate is a subgraph.
  std::int64_t CountSubgraphs() const {
    const auto at = std::ranges::find(functions, "xnn_create_subgraph");
    return at == functions.end() ? 0 : CallCounts(ThreadIndex())[at - functions.begin()];
  }
};

namespace {

State* active_watch = nullptr;

// The original functions. Slots with the same name contain the same function.
void* (*real_malloc)(std::size_t) = nullptr;
void* (*real_calloc)(std::size_t, std::size_t) = nullptr;
void* (*real_realloc)(void*, std::size_t) = nullptr;
int (*real_posix_memalign)(void**, std::size_t, std::size_t) = nullptr;
void* (*real_aligned)(std::size_t, std::size_t) = nullptr;
void (*real_free)(void*) = nullptr;
void* (*real_new)(std::size_t) = nullptr;
void* (*real_new_array)(std::size_t) = nullptr;
void (*real_delete)(void*) = nullptr;
void (*real_delete_array)(void*) = nullptr;
void (*real_sized_delete)(void*, std::size_t) = nullptr;
void (*real_sized_delete_array)(void*, std::size_t) = nullptr;

template <auto& real>
void* Allocate(std::size_t size) {
  void* const block = real(size);
  active_watch->Add(block, size);
  return block;
}
void* AllocateZeros(std::size_t count, std::size_t size) {
  void* const block = real_calloc(count, size);
  active_watch->Add(block, count * size);
  return block;
}
void* Reallocate(void* old, std::size_t size) {
  void* const block = real_realloc(old, size);
  if (block != nullptr || size == 0) active_watch->Remove(old);
  active_watch->Add(block, size);
  return block;
}
int AllocateAligned(void** block, std::size_t alignment, std::size_t size) {
  const int error = real_posix_memalign(block, alignment, size);
  if (error == 0) active_watch->Add(*block, size);
  return error;
}
void* AllocateAlignedC(std::size_t alignment, std::size_t size) {
  void* const block = real_aligned(alignment, size);
  active_watch->Add(block, size);
  return block;
}
template <auto& real>
void Free(void* block) {
  active_watch->Remove(block);
  real(block);
}
template <auto& real>
void FreeSized(void* block, std::size_t size) {
  active_watch->Remove(block);
  real(block, size);
}

// In xnnpack.h, all other functions that create a runtime call this function; functions without a workspace
// parameter pass a new workspace.
constexpr const char* kCreateRuntime = "xnn_create_runtime_v4";
int (*real_create_runtime)(void*, void*, void*, void*, std::uint32_t, void**) = nullptr;
int CreateRuntime(void* subgraph, void* weights_cache, void* workspace, void* pool, std::uint32_t flags,
                  void** runtime) {
  const int status = real_create_runtime(subgraph, weights_cache, workspace, pool, flags, runtime);
  const std::lock_guard lock(active_watch->mutex);
  active_watch->runtimes.push_back(
      {reinterpret_cast<std::uintptr_t>(workspace), reinterpret_cast<std::uintptr_t>(weights_cache)});
  return status;
}

struct Allocator {
  std::string_view name;
  void** real;
  void* replacement;
};

template <typename Function>
Allocator MakeAllocator(std::string_view name, Function*& real, Function* replacement) {
  return {name, reinterpret_cast<void**>(&real), reinterpret_cast<void*>(replacement)};
}

// C++ names are mangled as in the Itanium ABI, 5.1.2 and 5.1.5.
std::vector<Allocator> Allocators() {
  return {MakeAllocator("malloc", real_malloc, &Allocate<real_malloc>),
          MakeAllocator("calloc", real_calloc, &AllocateZeros),
          MakeAllocator("realloc", real_realloc, &Reallocate),
          MakeAllocator("posix_memalign", real_posix_memalign, &AllocateAligned),
          MakeAllocator("aligned_alloc", real_aligned, &AllocateAlignedC),
          MakeAllocator("memalign", real_aligned, &AllocateAlignedC),
          MakeAllocator("free", real_free, &Free<real_free>),
          MakeAllocator("_Znwm", real_new, &Allocate<real_new>),
          MakeAllocator("_Znam", real_new_array, &Allocate<real_new_array>),
          MakeAllocator("_ZdlPv", real_delete, &Free<real_delete>),
          MakeAllocator("_ZdaPv", real_delete_array, &Free<real_delete_array>),
          MakeAllocator("_ZdlPvm", real_sized_delete, &FreeSized<real_sized_delete>),
          MakeAllocator("_ZdaPvm", real_sized_delete_array, &FreeSized<real_sized_delete_array>)};
}

bool IsWatchedFunction(std::string_view function) {
  return std::ranges::any_of(
      std::array{"xnn_create_", "xnn_reshape_", "xnn_setup_", "xnn_invoke_", "xnn_run_", "xnn_define_"},
      [&](const char* start) { return function.starts_with(start); });
}

// The part of the load time that a function belongs to: functions of XNNPACK, of the delegate (which compiles
// a graph with them), and of KleidiAI.
std::optional<TimedCalls::Kind> GetTimedKind(std::string_view function) {
  if (function.starts_with("xnn_create_runtime") || function.starts_with("xnn_create_subgraph") ||
      function.find("XNNCompiler12compileModel") != function.npos)
    return TimedCalls::Kind::kGraph;
  if (function.starts_with("xnn_create_")) return TimedCalls::Kind::kCreate;
  if (function.starts_with("kai_run_") && function.find("_pack_") != function.npos)
    return TimedCalls::Kind::kPack;
  return std::nullopt;
}

// A mapping in /proc/self/smaps (proc_pid_smaps(5)).
struct Mapping {
  std::uintptr_t begin = 0, end = 0;
  std::int64_t resident_bytes = 0;
  std::string path;
};

std::vector<Mapping> Mappings() {
  std::vector<Mapping> mappings;
  std::ifstream file("/proc/self/smaps");
  for (std::string line; std::getline(file, line);) {
    std::uintptr_t begin = 0, end = 0;
    const auto [dash, error] = std::from_chars(line.data(), line.data() + line.size(), begin, 16);
    if (error == std::errc() && *dash == '-' &&
        std::from_chars(dash + 1, line.data() + line.size(), end, 16).ec == std::errc()) {
      std::istringstream fields(line);
      std::string skipped, path;
      for (int i = 0; i < 5; ++i) fields >> skipped;
      std::getline(fields >> std::ws, path);
      mappings.push_back({begin, end, 0, path});
    } else if (line.starts_with("Rss:") && !mappings.empty()) {
      mappings.back().resident_bytes = std::strtoll(line.c_str() + 4, nullptr, 10) * 1024;
    }
  }
  return mappings;
}

// Reads which pages of a range are in memory from /proc/self/pagemap (Linux's admin-guide/mm/pagemap.rst: 64
// bits per page; bit 63: present, bit 56: mapped only by this process, which excludes the zero page, as smaps
// does).
class PageMap {
 public:
  PageMap() : file_(::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC)) {
    if (!file_)
      throw Error(
          ExitCode::kDeviceFailed,
          fmt::format("the system does not tell which pages are in memory: {}", std::strerror(errno)));
  }

  // The resident bytes in [begin, begin + size).
  std::int64_t Resident(std::uintptr_t begin, std::size_t size) const {
    std::int64_t resident_bytes = 0;
    const std::uintptr_t end = begin + size;
    std::array<std::uint64_t, 512> pages;
    for (std::uintptr_t page = begin / page_size_; page * page_size_ < end; page += pages.size()) {
      const ssize_t bytes_read =
          ::pread(file_.number(), pages.data(), sizeof(pages), static_cast<off_t>(page * sizeof(pages[0])));
      const std::size_t count = bytes_read > 0 ? static_cast<std::size_t>(bytes_read) / sizeof(pages[0]) : 0;
      for (std::size_t i = 0; i < count; ++i) {
        const std::uintptr_t from = std::max(begin, (page + i) * page_size_);
        const std::uintptr_t to = std::min(end, (page + i + 1) * page_size_);
        if (from < to && (pages[i] & kPrivatePage) == kPrivatePage)
          resident_bytes += static_cast<std::int64_t>(to - from);
      }
      if (count < pages.size()) break;
    }
    return resident_bytes;
  }

 private:
  static constexpr std::uint64_t kPrivatePage = 1ULL << 63U | 1ULL << 56U;
  const Descriptor file_;
  const std::uintptr_t page_size_ = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
};

}  // namespace

State::~State() {
  replaced.Restore();
  for (std::size_t t = 0; t < kMaxThreads; ++t) std::fill_n(CallCounts(t), functions.size(), 0U);
  if (active_watch == this) active_watch = nullptr;
}

}  // namespace memory_watch_internal

struct MemoryWatch::State : memory_watch_internal::State {};

MemoryWatch::MemoryWatch() {
  using namespace memory_watch_internal;
  if (active_watch != nullptr) throw Error(ExitCode::kDeviceFailed, "memory is being watched already");
  if (!HasTrampolines())
    throw Error(ExitCode::kDeviceFailed, "calls cannot be watched on this architecture: x86-64 and aarch64");
  static_cast<void>(PageMap());
  ThreadIndex();  // the caller is thread 0
  state_ = std::make_unique<State>();
  active_watch = state_.get();
  const std::vector<Allocator> allocators = Allocators();
  for (const LoadedLibrary::Slot& slot : state_->library.Slots()) {
    const auto allocator = std::ranges::find(allocators, slot.name, &Allocator::name);
    if (allocator != allocators.end()) {
      *allocator->real = slot.function;
      state_->replaced.Replace(slot, allocator->replacement);
      continue;
    }
    void* replacement = slot.function;
    if (IsWatchedFunction(slot.name) && state_->functions.size() < kMaxTrampolines) {
      SetTrampoline(state_->functions.size(), slot.function);
      state_->functions.push_back(slot.name);
      replacement = Trampoline(state_->functions.size() - 1);
    }
    if (const auto kind = GetTimedKind(slot.name)) replacement = state_->timed.MakeTimed(*kind, replacement);
    if (slot.name == kCreateRuntime) {
      real_create_runtime = reinterpret_cast<decltype(real_create_runtime)>(replacement);
      replacement = reinterpret_cast<void*>(&CreateRuntime);
    }
    if (replacement != slot.function) state_->replaced.Replace(slot, replacement);
  }
  if (std::ranges::find(state_->functions, "xnn_create_subgraph") == state_->functions.end() ||
      real_free == nullptr) {
    throw Error(ExitCode::kDeviceFailed, "allocates in a way that cannot be watched")
        .InFile(state_->library.path());
  }
}

MemoryWatch::~MemoryWatch() = default;

protocol::MemorySnapshot MemoryWatch::TakeSnapshot(std::string at, const Model& model) const {
  using namespace memory_watch_internal;
  std::map<MemoryOwner, std::pair<std::int64_t, std::int64_t>> sums;  // bytes, resident
  const PageMap pages;
  std::int64_t owned_bytes = 0, owned_resident_bytes = 0;  // blocks in mappings without a file

  const auto add = [&](MemoryOwner owner, std::uintptr_t begin, std::size_t size) {
    const std::int64_t resident_bytes = pages.Resident(begin, size);
    sums[owner].first += static_cast<std::int64_t>(size);
    sums[owner].second += resident_bytes;
    owned_bytes += static_cast<std::int64_t>(size);
    owned_resident_bytes += resident_bytes;
  };
  for (const auto& [begin, size] : model.PlannedMemory())
    add(MemoryOwner::kPlanned, reinterpret_cast<std::uintptr_t>(begin), size);
  {
    const std::lock_guard lock(state_->mutex);
    for (const auto& [begin, block] : state_->blocks)
      add(state_->BlockOwner(block.creator), begin, block.size);
  }
  std::int64_t rss = 0, unnamed_bytes = 0, mapped_bytes = 0;
  for (const Mapping& mapping : Mappings()) {
    rss += mapping.resident_bytes;
    const auto size = static_cast<std::int64_t>(mapping.end - mapping.begin);
    const bool is_file = mapping.path.starts_with("/");
    if (!is_file && mapping.path != "[stack]") {
      unnamed_bytes += mapping.resident_bytes;
      mapped_bytes += size;
      continue;
    }
    const MemoryOwner owner = !is_file                     ? MemoryOwner::kStacks
                              : model.IsFile(mapping.path) ? MemoryOwner::kProgram
                                                           : MemoryOwner::kLibraries;
    sums[owner].first += size;
    sums[owner].second += mapping.resident_bytes;
  }
  if (rss == 0)
    throw Error(ExitCode::kDeviceFailed, "the system does not tell what is in memory (/proc/self/smaps)");
  if (owned_resident_bytes > unnamed_bytes)
    throw Error(ExitCode::kDeviceFailed, "the owners of memory hold more than the process has");
  sums[MemoryOwner::kOther] = {mapped_bytes - owned_bytes, unnamed_bytes - owned_resident_bytes};
  protocol::MemorySnapshot snapshot{std::move(at), rss, {}};
  for (const MemoryOwner owner : AllValues<MemoryOwner>()) {
    const auto [bytes, resident_bytes] = sums[owner];
    snapshot.parts.push_back({owner, bytes, resident_bytes});
  }
  return snapshot;
}

std::vector<protocol::DelegateMemory> MemoryWatch::Delegates() const {
  using namespace memory_watch_internal;
  const std::lock_guard lock(state_->mutex);
  const auto number = [](std::uintptr_t address,
                         std::vector<std::uintptr_t>& seen_addresses) -> std::int64_t {
    if (address == 0) return -1;
    const auto found = std::ranges::find(seen_addresses, address);
    if (found != seen_addresses.end()) return found - seen_addresses.begin();
    seen_addresses.push_back(address);
    return std::ssize(seen_addresses) - 1;
  };
  // A workspace is a block that points to the block with its data (subgraph.h of XNNPACK, struct
  // xnn_workspace). Finds the word that is the address of such a block.
  const auto workspace_bytes = [&](std::uintptr_t workspace) -> std::int64_t {
    const auto object = state_->blocks.find(workspace);
    if (object == state_->blocks.end() || object->second.size < sizeof(std::uintptr_t)) return -1;
    std::uintptr_t first = 0;
    std::memcpy(&first, reinterpret_cast<const char*>(workspace), sizeof(first));
    if (first == 0) return 0;  // no data: no operator needs a workspace
    for (std::size_t at = 0; at + sizeof(std::uintptr_t) <= object->second.size;
         at += sizeof(std::uintptr_t)) {
      std::uintptr_t word = 0;
      std::memcpy(&word, reinterpret_cast<const char*>(workspace) + at, sizeof(word));
      const auto block = state_->blocks.find(word);
      if (block != state_->blocks.end() &&
          state_->BlockOwner(block->second.creator) == MemoryOwner::kWorkspace)
        return static_cast<std::int64_t>(block->second.size);
    }
    return -1;
  };
  std::vector<std::uintptr_t> workspaces, caches;
  std::vector<protocol::DelegateMemory> delegates;
  for (const auto& runtime : state_->runtimes) {
    delegates.push_back({number(runtime.workspace, workspaces), workspace_bytes(runtime.workspace),
                         number(runtime.weights_cache, caches)});
  }
  return delegates;
}

std::optional<protocol::LoadTimes> MemoryWatch::ReadLoadTimes(const Model& model) const {
  using protocol::LoadPart;
  const TimedCalls& timed = state_->timed;
  protocol::LoadTimes times;
  times.total_ns = model.description().load_ns;
  times.parts = {{LoadPart::kProgram, model.program_ns()},
                 {LoadPart::kPlan, model.plan_ns()},
                 {LoadPart::kGraph, timed.TotalNs(TimedCalls::Kind::kGraph)},
                 {LoadPart::kCreate, timed.TotalNs(TimedCalls::Kind::kCreate)},
                 {LoadPart::kPack, timed.TotalNs(TimedCalls::Kind::kPack)}};
  std::int64_t remaining_ns = times.total_ns;
  for (const protocol::LoadTime& part : times.parts) remaining_ns -= part.ns;
  if (remaining_ns < 0) return std::nullopt;
  times.parts.push_back({LoadPart::kOther, remaining_ns});
  return times;
}

std::vector<protocol::CreatedOperator> MemoryWatch::CreatedOperators() const {
  using namespace memory_watch_internal;
  const std::lock_guard lock(state_->mutex);
  struct CreatedMemory {
    std::int64_t all = 0;
    std::string_view largest;  // contents of the largest block
  };
  std::map<Call, CreatedMemory> sums;
  for (const auto& [begin, block] : state_->blocks) {
    CreatedMemory& sum = sums[block.creator];
    sum.all += static_cast<std::int64_t>(block.size);
    if (block.size > sum.largest.size()) sum.largest = {reinterpret_cast<const char*>(begin), block.size};
  }
  std::vector<protocol::CreatedOperator> created;
  // Keyed by size. The values are contents and index.
  std::multimap<std::size_t, std::pair<std::string_view, std::int64_t>> packed;
  for (std::size_t i = 0; i < state_->created.size(); ++i) {
    const Call& call = state_->created[i];
    const CreatedMemory& sum = sums[call];
    protocol::CreatedOperator& op = created.emplace_back();
    op.function = state_->functions[call.function];
    op.delegate = state_->delegates_of_created[i] - 1;
    op.bytes = sum.all;
    op.largest = static_cast<std::int64_t>(sum.largest.size());
    if (sum.largest.size() < kMinPackedBytes) continue;
    const auto [first, last] = packed.equal_range(sum.largest.size());
    const auto same =
        std::find_if(first, last, [&](const auto& entry) { return entry.second.first == sum.largest; });
    if (same != last) {
      op.copy_of = same->second.second;
    } else {
      packed.emplace(sum.largest.size(), std::pair(sum.largest, static_cast<std::int64_t>(i)));
    }
  }
  return created;
}

}  // namespace etprof::runner
