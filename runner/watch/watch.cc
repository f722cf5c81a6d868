#include "watch/watch.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <span>
#include <utility>

#include "core/error.h"
#include "core/file/descriptor.h"
#include "machine/conditions.h"
#include "timing/operator_clock.h"
#include "watch/trampolines.h"

namespace etprof::runner {
namespace {

// Words of a task's context. XNNPACK's contexts (src/xnnpack/compute.h) are smaller. The words after a
// context may be read and replaced, too: a function address there is part of another context, and is restored
// as well.
constexpr std::size_t kContextWords = 128;
constexpr std::size_t kMaxEntries = 64;  // the thread pool has about fifty functions

}  // namespace

namespace watching {

using Word = std::uintptr_t;
// pthreadpool.h of XNNPACK's thread pool: every function takes the pool, the task's function, and its
// context, then at most 11 integers; a task takes its context, then at most 9. Passing more than a function
// reads is harmless on both ABIs: the integers are in unused registers and on the caller's stack.
using Parallelize = void (*)(Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word,
                             Word);
using Task = void (*)(Word, Word, Word, Word, Word, Word, Word, Word, Word, Word);

struct alignas(128) CurrentThread : Region::Thread {};
struct CurrentTask {
  // The pool calls this instead of the task's function, with a CurrentTask as context.
  static void RunTask(Word current, Word a, Word b, Word c, Word d, Word e, Word f, Word g, Word h, Word i);

  Task function = nullptr;
  Word context = 0;
  bool runs_one_at_a_time = false;
  std::mutex mutex;
  std::array<CurrentThread, kMaxThreads> threads;
};

void CurrentTask::RunTask(Word task, Word a, Word b, Word c, Word d, Word e, Word f, Word g, Word h, Word i) {
  CurrentTask& current = *reinterpret_cast<CurrentTask*>(task);
  Region::Thread& thread = current.threads[ThreadIndex()];
  std::unique_lock lock(current.mutex, std::defer_lock);
  if (current.runs_one_at_a_time) lock.lock();
  const std::int64_t begin = MonotonicNow();
  current.function(current.context, a, b, c, d, e, f, g, h, i);
  if (thread.tasks++ == 0) {
    thread.first_ns = begin;
    thread.cpu = CurrentCpu().value_or(-1);
  }
  thread.last_ns = MonotonicNow();
  thread.busy_ns += thread.last_ns - begin;
}

// Copies memory of this process through a pipe, so that reading unmapped memory is an error instead of a
// crash.
class MemoryReader {
 public:
  MemoryReader() {
    int ends[2];
    if (::pipe(ends) != 0)
      throw Error(ExitCode::kDeviceFailed, "there is no pipe left to read memory through");
    read_ = Descriptor(ends[0]);
    write_ = Descriptor(ends[1]);
  }

  // Reads up to `words` words, or up to the end of the page. Returns how many were read.
  std::size_t Read(Word from, Word* to, std::size_t words) const {
    const auto page = static_cast<Word>(::sysconf(_SC_PAGESIZE));
    for (const std::size_t count :
         {words, std::min<std::size_t>(words, (page - from % page) / sizeof(Word))}) {
      const std::size_t size = count * sizeof(Word);
      if (size == 0 ||
          ::write(write_.number(), reinterpret_cast<const void*>(from), size) != static_cast<ssize_t>(size))
        continue;
      return ::read(read_.number(), to, size) == static_cast<ssize_t>(size) ? count : 0;
    }
    return 0;
  }

 private:
  Descriptor read_, write_;
};

struct State {
  explicit State(LoadedLibrary loaded_library) : library(std::move(loaded_library)) {}

  LoadedLibrary library;
  std::map<Word, std::size_t> trampolines;  // keyed by function
  std::vector<Word> functions;              // indexed by trampoline
  std::vector<Region> regions;
  MemoryReader memory;
  CurrentTask current;
  ReplacedSlots replaced;  // last member, so that it is destroyed first

  // The trampoline of a function; nullptr if all trampolines are in use.
  void* GetTrampoline(Word function) {
    const auto [entry, added] = trampolines.try_emplace(function, functions.size());
    if (added) {
      if (functions.size() == kMaxTrampolines) {
        trampolines.erase(entry);
        return nullptr;
      }
      functions.push_back(function);
      SetTrampoline(entry->second, reinterpret_cast<void*>(function));
    }
    return Trampoline(entry->second);
  }

  void MoveCallsTo(Region& region) {
    const std::size_t threads = std::min(CountedThreads(), kMaxThreads);
    for (std::size_t t = 0; t < threads; ++t) {
      std::uint32_t* const calls = CallCounts(t);
      for (std::size_t i = 0; i < functions.size(); ++i) {
        if (calls[i] == 0) continue;
        region.calls.push_back({functions[i], t, std::exchange(calls[i], 0)});
      }
    }
  }

  void EndRegionWithoutTask() {
    Region between;
    MoveCallsTo(between);
    if (!between.calls.empty()) regions.push_back(std::move(between));
  }

  void Run(Parallelize parallelize, Word pool, Word function, Word context, Word a, Word b, Word c, Word d,
           Word e, Word f, Word g, Word h, Word i, Word j, Word k) {
    EndRegionWithoutTask();
    current.function = reinterpret_cast<Task>(function);
    current.context = context;
    current.threads.fill({});
    // Every word that points into the library's code will point to a trampoline during the call.
    std::array<Word, kContextWords> words;
    const std::size_t readable = memory.Read(context, words.data(), words.size());
    struct Change {
      Word* address;
      Word original, trampoline;
    };
    std::array<Change, kContextWords> changed;
    std::size_t changes = 0;
    for (std::size_t w = 0; w < readable; ++w) {
      if (!library.IsCode(words[w])) continue;
      if (void* const trampoline = GetTrampoline(words[w]); trampoline != nullptr)
        changed[changes++] = {reinterpret_cast<Word*>(context) + w, words[w],
                              reinterpret_cast<Word>(trampoline)};
    }
    // Replace the words only now, and only if they are unchanged: the memory after the context may be free,
    // and may have been allocated for a trampoline's entry meanwhile. Nothing is allocated until the words
    // are restored.
    const auto replace = [&](Word Change::*from, Word Change::*to) {
      for (const Change& change : std::span(changed).first(changes))
        if (*change.address == change.*from) *change.address = change.*to;
    };
    replace(&Change::original, &Change::trampoline);
    Region region;
    region.task = function;
    region.begin_ns = MonotonicNow();
    parallelize(pool, reinterpret_cast<Word>(&CurrentTask::RunTask), reinterpret_cast<Word>(&current), a, b,
                c, d, e, f, g, h, i, j, k);
    region.end_ns = MonotonicNow();
    replace(&Change::trampoline, &Change::original);
    region.threads.resize(std::min(CountedThreads(), kMaxThreads));
    for (std::size_t t = 0; t < region.threads.size(); ++t) region.threads[t] = current.threads[t];
    MoveCallsTo(region);
    regions.push_back(std::move(region));
  }
};

namespace {

// Entry `index` replaces the pool's function at this index, and calls it through the only Watch.
std::array<Parallelize, kMaxEntries> parallelize_functions;
State* active_state = nullptr;

template <std::size_t index>
void ParallelizeEntry(Word pool, Word task, Word context, Word a, Word b, Word c, Word d, Word e, Word f,
                      Word g, Word h, Word i, Word j, Word k) {
  active_state->Run(parallelize_functions[index], pool, task, context, a, b, c, d, e, f, g, h, i, j, k);
}

template <std::size_t... index>
constexpr std::array<Parallelize, sizeof...(index)> MakeParallelizeEntries(std::index_sequence<index...>) {
  return {&ParallelizeEntry<index>...};
}
constexpr auto kParallelizeEntries = MakeParallelizeEntries(std::make_index_sequence<kMaxEntries>());

}  // namespace
}  // namespace watching

struct Watch::State : watching::State {
  using watching::State::State;
};

Watch::Watch() {
  using watching::kParallelizeEntries;
  if (watching::active_state != nullptr) throw Error(ExitCode::kDeviceFailed, "is being watched already");
  if (!HasTrampolines())
    throw Error(ExitCode::kDeviceFailed, "calls cannot be watched on this architecture: x86-64 and aarch64");
  ThreadIndex();  // the caller is thread 0
  state_ = std::make_unique<State>(LoadedLibrary::FindXnnpack());
  std::size_t pool_functions = 0;
  for (const LoadedLibrary::Slot& slot : state_->library.Slots()) {
    if (slot.name.starts_with("pthreadpool_parallelize_") && pool_functions < kParallelizeEntries.size()) {
      watching::parallelize_functions[pool_functions] =
          reinterpret_cast<watching::Parallelize>(slot.function);
      state_->replaced.Replace(slot, reinterpret_cast<void*>(kParallelizeEntries[pool_functions++]));
    } else if (slot.name.starts_with("kai_run_")) {
      void* const trampoline = state_->GetTrampoline(reinterpret_cast<watching::Word>(slot.function));
      if (trampoline != nullptr) state_->replaced.Replace(slot, trampoline);
    }
  }
  if (pool_functions == 0) {
    throw Error(ExitCode::kDeviceFailed,
                "calls the thread pool in a way that cannot be watched (it is linked into it, or bound with "
                "-Bsymbolic or -fno-plt)")
        .InFile(state_->library.path());
  }
  watching::active_state = state_.get();
}

Watch::~Watch() {
  state_.reset();
  watching::active_state = nullptr;
}

void Watch::Release() { state_->replaced.Restore(); }

const std::vector<Region>& Watch::Regions() {
  state_->EndRegionWithoutTask();
  return state_->regions;
}

void Watch::Clear() {
  state_->EndRegionWithoutTask();
  state_->regions.clear();
}

void Watch::SerializeTasks(bool on) { state_->current.runs_one_at_a_time = on; }

const LoadedLibrary& Watch::library() const { return state_->library; }

}  // namespace etprof::runner
