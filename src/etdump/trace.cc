#include "etdump/trace.h"

#include <algorithm>

namespace etprof {

void Health::Add(HealthEntry entry) {
  const auto known = std::find_if(entries_.begin(), entries_.end(),
                                  [&](const HealthEntry& e) { return e.name == entry.name; });
  if (known == entries_.end()) {
    entries_.push_back(std::move(entry));
  } else {
    known->count += entry.count;
    known->amount += entry.amount;
  }
}

void Health::AddAll(const Health& other) {
  for (const HealthEntry& entry : other.entries_) Add(entry);
}

std::int64_t Health::CountOf(std::string_view name) const {
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

}  // namespace etprof
