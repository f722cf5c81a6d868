#include "format/etdump/trace.h"

#include <algorithm>

namespace etprof {

void TraceHealth::Add(HealthEntry entry) {
  const auto existing =
      std::ranges::find_if(entries_, [&](const HealthEntry& e) { return e.name == entry.name; });
  if (existing == entries_.end()) {
    entries_.push_back(std::move(entry));
  } else {
    existing->count += entry.count;
    existing->amount += entry.amount;
  }
}

void TraceHealth::Add(std::string name, HealthEntry::Severity severity, std::string explanation,
                      std::int64_t count, std::string place) {
  Add({.name = std::move(name),
       .severity = severity,
       .explanation = std::move(explanation),
       .count = count,
       .first_offset = {},
       .first_place = std::move(place)});
}

void TraceHealth::AddAll(const TraceHealth& other) {
  for (const HealthEntry& entry : other.entries_) Add(entry);
}

std::int64_t TraceHealth::GetCount(std::string_view name) const {
  for (const HealthEntry& entry : entries_) {
    if (entry.name == name) return entry.count;
  }
  return 0;
}

NameId NameTable::Intern(std::string_view text) {
  const auto [position, inserted] = ids_.try_emplace(std::string(text), static_cast<NameId>(texts_.size()));
  if (inserted) texts_.push_back(&position->first);
  return position->second;
}

std::vector<Nanoseconds> ExecuteTimes(const Trace& trace) {
  std::vector<Nanoseconds> times;
  for (const Trace::Block& block : trace.blocks) {
    const Trace::Layout& layout = trace.GetLayout(block);
    for (std::size_t i = 0; i < layout.size(); ++i) {
      const std::size_t event = block.first_event + i;
      if (trace.IsFramework(layout, i, "Method::execute"))
        times.push_back(std::max<Nanoseconds>(0, trace.end[event] - trace.start[event]));
    }
  }
  return times;
}

}  // namespace etprof
