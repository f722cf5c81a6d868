#pragma once

// The memory of a process by owner, and the time that loading took: a part of the reply to {"cmd": "watch"}
// from a worker that loaded its model with "watch_memory" (runner/watch/memory_watch.h).

#include <algorithm>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/json/describe.h"

namespace etprof::protocol {

// The owner of a byte of the process. Each byte has one owner.
enum class MemoryOwner {
  kProgram,  // the mapped .pte (and .ptd) file
  kPlanned,  // the memory arenas that the program plans for tensors
  kWeights,  // allocated when XNNPACK's operators were created: packed weights, and the operators themselves
  kWorkspace,  // allocated by XNNPACK to reshape, set up, and run
  kXnnpack,    // other allocations of XNNPACK
  kLibraries,  // the runner and its libraries: code and data
  kStacks,     // the stack of the main thread
  kRest,       // all other memory: ExecuTorch, the runner, stacks of other threads, free heap blocks
};

// The parts of the time from opening the program until its method is loaded.
enum class LoadPart {
  kProgram,  // opening, mapping, and verifying the file
  kPlan,     // allocating the memory that the program plans, and reading the directory of a .ptd file
  kGraph,    // XNNPACK: reading, defining, and optimizing its graphs
  kCreate,   // XNNPACK: creating operators, including packing by its own functions
  kPack,     // KleidiAI: packing weights
  kRest,     // the rest: ExecuTorch's tensors and kernels, other delegates
};

}  // namespace etprof::protocol

namespace etprof {

template <>
inline constexpr const char* kNames<protocol::LoadPart>[] = {"program", "plan", "graph",
                                                             "create",  "pack", "rest"};

template <>
inline constexpr const char* kNames<protocol::MemoryOwner>[] = {
    "program", "planned", "weights", "workspace", "xnnpack", "libraries", "stacks", "rest"};

}  // namespace etprof

namespace etprof::protocol {

struct MemoryPart {
  MemoryOwner owner = MemoryOwner::kRest;
  std::int64_t bytes = 0;     // mapped or allocated
  std::int64_t resident = 0;  // part of `bytes` that is in memory

  static constexpr const char* kSchemaName = "memory_part";
  static void Describe(auto& v) {
    v("owner", &MemoryPart::owner, {.meaning = "of these bytes: each byte has one"});
    v("bytes", &MemoryPart::bytes, {.meaning = "mapped, or asked for"});
    v("resident_bytes", &MemoryPart::resident, {.meaning = "of `bytes`, in memory"});
  }
};

struct MemorySnapshot {
  std::string at;                 // "loaded", "first_run", "steady"
  std::int64_t rss_bytes = 0;     // of the whole process: the sum of the parts
  std::vector<MemoryPart> parts;  // every owner, in the order of the enumeration

  std::int64_t Resident(MemoryOwner owner) const {
    const auto found = std::ranges::find(parts, owner, &MemoryPart::owner);
    return found == parts.end() ? 0 : found->resident;
  }

  static constexpr const char* kSchemaName = "memory_moment";
  static void Describe(auto& v) {
    v("at", &MemorySnapshot::at,
      {.meaning = "after loading, after the first run, after those before measuring"});
    v("rss_bytes", &MemorySnapshot::rss_bytes, {.meaning = "resident set size: the sum of the parts"});
    v("parts", &MemorySnapshot::parts, {.meaning = "every owner"});
  }
};

// An operator that XNNPACK created. Operators are in the order of creation.
struct CreatedOperator {
  std::string function;           // XNNPACK's C function: "xnn_create_convolution2d_nhwc_f32"
  std::int64_t delegate = 0;      // index in the order of creation, from 0
  std::int64_t bytes = 0;         // still allocated after loading
  std::int64_t largest = 0;       // largest single block of `bytes`: the packed weights, if there are any
  std::string name;               // of the operator in traces; empty: unknown
  std::int64_t instruction = -1;  // of its delegate call; -1: unknown
  std::int64_t ordinal = -1;      // within that call; -1: unknown
  std::int64_t copy_of = -1;      // earlier operator whose largest block has the same contents; -1: none
  const std::string& NameOrFunction() const { return name.empty() ? function : name; }

  static constexpr const char* kSchemaName = "created_operator";
  static void Describe(auto& v) {
    using C = CreatedOperator;
    v("function", &C::function, {.meaning = "of XNNPACK's interface: \"xnn_create_convolution2d_nhwc_f32\""});
    v("delegate", &C::delegate, {.meaning = "in the order of creation, from 0"});
    v("bytes", &C::bytes,
      {.meaning = "allocated while it was created, and not freed until the model is loaded"});
    v("largest", &C::largest, {.meaning = "of `bytes`, in one block: its packed weights, where it has some"});
    v("name", &C::name, {.meaning = "in traces; empty: not known"});
    v("instruction", &C::instruction, {.meaning = "of its delegate call; -1: not known", .least = -1});
    v("ordinal", &C::ordinal, {.meaning = "within that call; -1: not known", .least = -1});
    v("copy_of", &C::copy_of,
      {.meaning = "index of an earlier operator whose largest block, of 4096 bytes or more, is the same; -1: "
                  "none",
       .least = -1});
  }
};

// The shared XNNPACK memory that a delegate uses. Delegates with the same number share it.
struct DelegateMemory {
  std::int64_t workspace = -1;        // numbered by first use; -1: a separate, unobserved workspace
  std::int64_t workspace_bytes = -1;  // allocated for the workspace after the runs; -1: unknown
  std::int64_t weights_cache = -1;    // numbered by first use; -1: the delegate has its own packed weights

  static constexpr const char* kSchemaName = "delegate_memory";
  static void Describe(auto& v) {
    using D = DelegateMemory;
    v("workspace", &D::workspace,
      {.meaning = "the same number: the same workspace; -1: one of its own, unseen", .least = -1});
    v("workspace_bytes", &D::workspace_bytes,
      {.meaning = "allocated for the workspace after the runs; -1: not known", .least = -1});
    v("weights_cache", &D::weights_cache,
      {.meaning = "the same number: packed weights are shared; -1: they are its own", .least = -1});
  }
};

struct LoadTime {
  LoadPart part = LoadPart::kRest;
  std::int64_t ns = 0;

  static constexpr const char* kSchemaName = "load_time";
  static void Describe(auto& v) {
    v("part", &LoadTime::part,
      {.meaning = "opening the file, planned memory, XNNPACK's graphs, its operators, KleidiAI's packing, "
                  "the rest"});
    v("ns", &LoadTime::ns, {.meaning = "that it took"});
  }
};

// The load time of the watched process, which loads more slowly than other processes, because every
// allocation is recorded.
struct LoadTimes {
  std::int64_t total_ns = 0;    // the sum of the parts
  std::vector<LoadTime> parts;  // every part, in the order of the enumeration

  static constexpr const char* kSchemaName = "load_times";
  static void Describe(auto& v) {
    v("total_ns", &LoadTimes::total_ns, {.meaning = "the sum of the parts"});
    v("parts", &LoadTimes::parts, {.meaning = "every part, in order"});
  }
  // Throws std::invalid_argument if the parts are incomplete or do not add up to the total.
  void CheckParts() const {
    std::int64_t sum = 0;
    for (const LoadTime& part : parts) sum += part.ns;
    if (!std::ranges::equal(parts, AllValues<LoadPart>(), {}, &LoadTime::part) || sum != total_ns)
      throw std::invalid_argument("the parts of the load time are not those of the whole");
  }
};

struct MemoryReport {
  std::string problem;  // why memory cannot be attributed here; empty: it was
  std::vector<MemorySnapshot> moments;
  std::vector<CreatedOperator> operators;
  std::optional<LoadTimes> load;          // absent in files of old runners
  std::vector<DelegateMemory> delegates;  // in the order of creation; empty: unknown

  static constexpr const char* kSchemaName = "memory_by_owner";
  static void Describe(auto& v) {
    v("why_not", &MemoryReport::problem, {.meaning = "it cannot be told; empty: it was"});
    v("moments", &MemoryReport::moments, {.meaning = "in the order of time"});
    v("operators", &MemoryReport::operators, {.meaning = "that XNNPACK created, in order"});
    v("delegates", &MemoryReport::delegates, {.meaning = "in the order of creation", .omit_if_empty = true});
    v("load", &MemoryReport::load, {.meaning = "what loading took its time for", .omit_if_empty = true});
  }
  static void Check(const MemoryReport& report) {
    if (report.problem.empty() && report.moments.empty())
      throw std::invalid_argument("memory: \"moments\" is empty");
    if (report.load) report.load->CheckParts();
    for (std::size_t i = 0; i < report.operators.size(); ++i) {
      if (report.operators[i].copy_of >= static_cast<std::int64_t>(i))
        throw std::invalid_argument("memory: an operator is a copy of a later one");
    }
    for (const MemorySnapshot& moment : report.moments) {
      std::int64_t sum = 0;
      for (const MemoryPart& part : moment.parts) sum += part.resident;
      if (!std::ranges::equal(moment.parts, AllValues<MemoryOwner>(), {}, &MemoryPart::owner) ||
          sum != moment.rss_bytes)
        throw std::invalid_argument("memory: the parts of \"" + moment.at + "\" are not those of the whole");
    }
  }
};

}  // namespace etprof::protocol
