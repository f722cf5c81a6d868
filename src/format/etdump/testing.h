#pragma once

// Builds traces for tests.

#include <string>

#include "format/etdump/trace.h"

namespace etprof::handmade {

// Example: TraceBuilder().Block("Execute").Backend(0, "Add (ND) #1", 10, 20).Framework(0, "DELEGATE_CALL", 5,
// 25) ... Events are added in the file's order, children before their parents; times are in ns.
class TraceBuilder {
 public:
  TraceBuilder& Block(const std::string& name) {
    Trace::Block block;
    block.name = name;
    block.first_event = trace_.event_count();
    // Every block gets its own layout, which is allowed even for equal blocks.
    block.layout = static_cast<std::uint32_t>(trace_.layouts.size());
    trace_.blocks.push_back(block);
    trace_.layouts.emplace_back();
    return *this;
  }
  TraceBuilder& Backend(int instruction, const std::string& name, Nanoseconds start, Nanoseconds end) {
    return Add(Trace::Source::kDelegate, instruction, name, start, end);
  }
  TraceBuilder& Framework(int instruction, const std::string& name, Nanoseconds start, Nanoseconds end) {
    return Add(Trace::Source::kFramework, instruction, name, start, end);
  }
  Trace Take() { return std::move(trace_); }

 private:
  TraceBuilder& Add(Trace::Source source, int instruction, const std::string& name, Nanoseconds start,
                    Nanoseconds end) {
    Trace::Layout& layout = trace_.layouts.back();
    layout.name.push_back(trace_.names.Intern(name));
    layout.source.push_back(source);
    layout.chain.push_back(0);
    layout.instruction.push_back(instruction);
    layout.delegate_id.push_back(-1);
    trace_.start.push_back(start);
    trace_.end.push_back(end);
    ++trace_.blocks.back().event_count;
    return *this;
  }
  Trace trace_;
};

}  // namespace etprof::handmade
