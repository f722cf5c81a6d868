#include "inference/saved_state.h"

#include <algorithm>
#include <cstring>

namespace etprof::runner {
namespace {

constexpr std::size_t kStateBlockBytes = 4096;

}  // namespace

SavedState::SavedState(std::vector<Arena> arenas)
    : arenas_(std::move(arenas)), initial_(CopyContents()), saved_(initial_) {}

SavedState::Copy SavedState::CopyContents() const {
  Copy copy;
  for (const auto& [begin, size] : arenas_) copy.emplace_back(begin, begin + size);
  return copy;
}

void SavedState::Reset() {
  WriteDifferences(initial_);
  restoring_ = false;
}

void SavedState::SetSaved(Copy saved) {
  saved_ = std::move(saved);
  blocks_.clear();
  only_run_.reset();
  restoring_ = changed_ = true;
}

void SavedState::RecordRun(const Step& step) {
  only_run_ = changed_ ? std::nullopt : std::optional(step);
  changed_ = true;
}

void SavedState::Restore() {
  if (!restoring_ || !changed_) return;
  const auto changed_blocks = only_run_ ? blocks_.find(*only_run_) : blocks_.end();
  if (changed_blocks != blocks_.end()) {
    for (const Block& block : changed_blocks->second) Write(block, saved_);
  } else {
    std::vector<Block> written = WriteDifferences(saved_);
    if (only_run_) blocks_[*only_run_] = std::move(written);
  }
  changed_ = false;
}

void SavedState::Write(const Block& block, const Copy& from) {
  std::memcpy(arenas_[block.arena].first + block.begin, from[block.arena].data() + block.begin, block.size);
}

std::vector<SavedState::Block> SavedState::WriteDifferences(const Copy& from) {
  std::vector<Block> written;
  for (std::size_t a = 0; a < arenas_.size(); ++a) {
    for (std::size_t begin = 0; begin < from[a].size(); begin += kStateBlockBytes) {
      const Block block{a, begin, std::min(kStateBlockBytes, from[a].size() - begin)};
      if (std::memcmp(arenas_[a].first + begin, from[a].data() + begin, block.size) == 0) continue;
      Write(block, from);
      written.push_back(block);
    }
  }
  return written;
}

}  // namespace etprof::runner
