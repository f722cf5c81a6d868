#include "inference/saved_state.h"

#include <algorithm>
#include <cstring>

namespace etprof::runner {
namespace {

constexpr std::size_t kStateBlock = 4096;

}  // namespace

SavedState::SavedState(std::vector<Arena> arenas)
    : arenas_(std::move(arenas)), first_(Contents()), saved_(first_) {}

SavedState::Copy SavedState::Contents() const {
  Copy copy;
  for (const auto& [begin, size] : arenas_) copy.emplace_back(begin, begin + size);
  return copy;
}

void SavedState::Reset() {
  WriteDifferences(first_);
  holding_ = false;
}

void SavedState::Hold(Copy saved) {
  saved_ = std::move(saved);
  blocks_.clear();
  ran_.reset();
  holding_ = changed_ = true;
}

void SavedState::Ran(const Step& step) {
  ran_ = changed_ ? std::nullopt : std::optional(step);
  changed_ = true;
}

void SavedState::Restore() {
  if (!holding_ || !changed_) return;
  const auto known = ran_ ? blocks_.find(*ran_) : blocks_.end();
  if (known != blocks_.end()) {
    for (const Block& block : known->second) Write(block, saved_);
  } else {
    std::vector<Block> written = WriteDifferences(saved_);
    if (ran_) blocks_[*ran_] = std::move(written);
  }
  changed_ = false;
}

void SavedState::Write(const Block& block, const Copy& from) {
  std::memcpy(arenas_[block.arena].first + block.begin, from[block.arena].data() + block.begin, block.size);
}

std::vector<SavedState::Block> SavedState::WriteDifferences(const Copy& from) {
  std::vector<Block> written;
  for (std::size_t a = 0; a < arenas_.size(); ++a) {
    for (std::size_t begin = 0; begin < from[a].size(); begin += kStateBlock) {
      const Block block{a, begin, std::min(kStateBlock, from[a].size() - begin)};
      if (std::memcmp(arenas_[a].first + begin, from[a].data() + begin, block.size) == 0) continue;
      Write(block, from);
      written.push_back(block);
    }
  }
  return written;
}

}  // namespace etprof::runner
