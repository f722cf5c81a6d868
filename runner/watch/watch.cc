#include "watch/watch.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <span>
#include <utility>

#include "core/error.h"
#include "machine/conditions.h"
#include "timing/operator_clock.h"
#include "watch/trampolines.h"

namespace etprof::runner {
namespace {

// Of a task's context: XNNPACK's (src/xnnpack/compute.h) are smaller. What lies behind it may be looked at,
// too: a word there that is a function's address is another context's, and is put back as well.
constexpr std::size_t kContextWords = 128;
constexpr std::size_t kMostEntries = 64;  // of the thread pool's functions: it has some fifty

}  // namespace

namespace watching {

using Word = std::uintptr_t;
// pthreadpool.h of XNNPACK's thread pool: every function takes the pool, the task's function, and its
// context, then at most 11 integers; a task takes its context, then at most 9. Passing more of them than a
// function reads is harmless on both ABIs: they lie in registers that nobody reads and on the caller's stack.
using Parallelize = void (*)(Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word, Word,
                             Word);
using Task = void (*)(Word, Word, Word, Word, Word, Word, Word, Word, Word, Word);

struct alignas(128) LiveThread : Region::Thread {};
struct Live {
  // As the task of this one's context.
  static void RunTask(Word live, Word a, Word b, Word c, Word d, Word e, Word f, Word g, Word h, Word i);

  Task function = nullptr;
  Word context = 0;
  bool one_at_a_time = false;
  std::mutex turn;
  std::array<LiveThread, kMostThreads> threads;
};

void Live::RunTask(Word of, Word a, Word b, Word c, Word d, Word e, Word f, Word g, Word h, Word i) {
  Live& live = *reinterpret_cast<Live*>(of);
  Region::Thread& thread = live.threads[ThreadIndex()];
  std::unique_lock lock(live.turn, std::defer_lock);
  if (live.one_at_a_time) lock.lock();
  const std::int64_t begin = MonotonicNow();
  live.function(live.context, a, b, c, d, e, f, g, h, i);
  if (thread.tasks++ == 0) {
    thread.first_ns = begin;
    thread.cpu = CurrentCpu().value_or(-1);
  }
  thread.last_ns = MonotonicNow();
  thread.busy_ns += thread.last_ns - begin;
}

// Copies memory of this process through a pipe, where what is not mapped is an error and no crash.
class MemoryReader {
 public:
  MemoryReader() {
    if (::pipe(ends_) != 0)
      throw Error(ExitCode::kDeviceFailed, "there is no pipe left to read memory through");
  }
  ~MemoryReader() {
    ::close(ends_[0]);
    ::close(ends_[1]);
  }
  MemoryReader(MemoryReader&&) = delete;

  // How many of `words` words there are, at most up to the end of a page.
  std::size_t Read(Word from, Word* to, std::size_t words) const {
    const auto page = static_cast<Word>(::sysconf(_SC_PAGESIZE));
    for (const std::size_t wanted :
         {words, std::min<std::size_t>(words, (page - from % page) / sizeof(Word))}) {
      const std::size_t size = wanted * sizeof(Word);
      if (size == 0 ||
          ::write(ends_[1], reinterpret_cast<const void*>(from), size) != static_cast<ssize_t>(size))
        continue;
      return ::read(ends_[0], to, size) == static_cast<ssize_t>(size) ? wanted : 0;
    }
    return 0;
  }

 private:
  int ends_[2];
};

struct State {
  explicit State(LoadedLibrary found) : library(std::move(found)) {}

  LoadedLibrary library;
  std::map<Word, std::size_t> trampolines;  // of a function
  std::vector<Word> functions;              // by trampoline
  std::vector<Region> regions;
  MemoryReader memory;
  Live live;
  ReplacedSlots replaced;  // last: nothing else ends before it

  // The trampoline of a function; nullptr: there is none left.
  void* TrampolineOf(Word function) {
    const auto [found, added] = trampolines.try_emplace(function, functions.size());
    if (added) {
      if (functions.size() == kMostTrampolines) {
        trampolines.erase(found);
        return nullptr;
      }
      functions.push_back(function);
      SetTrampoline(found->second, reinterpret_cast<void*>(function));
    }
    return Trampoline(found->second);
  }

  void TakeCalls(Region& region) {
    const std::size_t threads = std::min(ThreadsSeen(), kMostThreads);
    for (std::size_t t = 0; t < threads; ++t) {
      std::uint32_t* const calls = CallsOf(t);
      for (std::size_t i = 0; i < functions.size(); ++i) {
        if (calls[i] == 0) continue;
        region.calls.push_back({functions[i], t, std::exchange(calls[i], 0)});
      }
    }
  }

  void CloseWhatHasNoTask() {
    Region between;
    TakeCalls(between);
    if (!between.calls.empty()) regions.push_back(std::move(between));
  }

  void Run(Parallelize parallelize, Word pool, Word function, Word context, Word a, Word b, Word c, Word d,
           Word e, Word f, Word g, Word h, Word i, Word j, Word k) {
    CloseWhatHasNoTask();
    live.function = reinterpret_cast<Task>(function);
    live.context = context;
    live.threads.fill({});
    // Word by word, what leads into the library's code leads to a trampoline meanwhile.
    std::array<Word, kContextWords> words;
    const std::size_t readable = memory.Read(context, words.data(), words.size());
    struct Change {
      Word* place;
      Word original, trampoline;
    };
    std::array<Change, kContextWords> changed;
    std::size_t changes = 0;
    for (std::size_t w = 0; w < readable; ++w) {
      if (!library.IsCode(words[w])) continue;
      if (void* const trampoline = TrampolineOf(words[w]); trampoline != nullptr)
        changed[changes++] = {reinterpret_cast<Word*>(context) + w, words[w],
                              reinterpret_cast<Word>(trampoline)};
    }
    // Only now, and where it still stands: behind the context may be memory that nobody had, and that a
    // trampoline's entry has been given meanwhile. Nothing is allocated until the words are put back.
    const auto replace = [&](Word Change::*from, Word Change::*to) {
      for (const Change& change : std::span(changed).first(changes))
        if (*change.place == change.*from) *change.place = change.*to;
    };
    replace(&Change::original, &Change::trampoline);
    Region region;
    region.task = function;
    region.begin_ns = MonotonicNow();
    parallelize(pool, reinterpret_cast<Word>(&Live::RunTask), reinterpret_cast<Word>(&live), a, b, c, d, e, f,
                g, h, i, j, k);
    region.end_ns = MonotonicNow();
    replace(&Change::trampoline, &Change::original);
    region.threads.resize(std::min(ThreadsSeen(), kMostThreads));
    for (std::size_t t = 0; t < region.threads.size(); ++t) region.threads[t] = live.threads[t];
    TakeCalls(region);
    regions.push_back(std::move(region));
  }
};

namespace {

// Entry `index` of the pool's functions stands for this one, and tells the only watch there is.
std::array<Parallelize, kMostEntries> parallelize_functions;
State* active = nullptr;

template <std::size_t index>
void ParallelizeEntry(Word pool, Word task, Word context, Word a, Word b, Word c, Word d, Word e, Word f,
                      Word g, Word h, Word i, Word j, Word k) {
  active->Run(parallelize_functions[index], pool, task, context, a, b, c, d, e, f, g, h, i, j, k);
}

template <std::size_t... index>
constexpr std::array<Parallelize, sizeof...(index)> Entries(std::index_sequence<index...>) {
  return {&ParallelizeEntry<index>...};
}
constexpr auto kEntries = Entries(std::make_index_sequence<kMostEntries>());

}  // namespace
}  // namespace watching

struct Watch::State : watching::State {
  using watching::State::State;
};

Watch::Watch() {
  using watching::kEntries;
  if (watching::active != nullptr) throw Error(ExitCode::kDeviceFailed, "is being watched already");
  if (!HasTrampolines())
    throw Error(ExitCode::kDeviceFailed, "calls cannot be watched on this architecture: x86-64 and aarch64");
  ThreadIndex();  // the caller is thread 0
  state_ = std::make_unique<State>(LoadedLibrary::FindXnnpack());
  std::size_t pool_functions = 0;
  for (const LoadedLibrary::Slot& slot : state_->library.Slots()) {
    if (slot.name.starts_with("pthreadpool_parallelize_") && pool_functions < kEntries.size()) {
      watching::parallelize_functions[pool_functions] =
          reinterpret_cast<watching::Parallelize>(slot.function);
      state_->replaced.Replace(slot, reinterpret_cast<void*>(kEntries[pool_functions++]));
    } else if (slot.name.starts_with("kai_run_")) {
      void* const trampoline = state_->TrampolineOf(reinterpret_cast<watching::Word>(slot.function));
      if (trampoline != nullptr) state_->replaced.Replace(slot, trampoline);
    }
  }
  if (pool_functions == 0) {
    throw Error(ExitCode::kDeviceFailed,
                "calls the thread pool in a way that cannot be watched (it is linked into it, or bound with "
                "-Bsymbolic or -fno-plt)")
        .InFile(state_->library.path());
  }
  watching::active = state_.get();
}

Watch::~Watch() {
  state_.reset();
  watching::active = nullptr;
}

void Watch::Release() { state_->replaced.Restore(); }

const std::vector<Region>& Watch::Regions() {
  state_->CloseWhatHasNoTask();
  return state_->regions;
}

void Watch::Forget() {
  state_->CloseWhatHasNoTask();
  state_->regions.clear();
}

void Watch::OneAtATime(bool on) { state_->live.one_at_a_time = on; }

const LoadedLibrary& Watch::library() const { return state_->library; }

}  // namespace etprof::runner
