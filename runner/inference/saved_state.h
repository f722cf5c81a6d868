#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace etprof::runner {

// Restores memory before each run, for models whose state accumulates (recurrent layers), so that every run
// of a step begins with the same state. Writes only blocks that differ, which the previous run has touched
// anyway.
class SavedState {
 public:
  using Arena = std::pair<std::byte*, std::size_t>;
  using Copy = std::vector<std::vector<std::byte>>;  // contents of the arenas
  // Method, number of tokens, and position. Equal steps that begin with the same state change the same
  // blocks.
  using Step = std::tuple<std::string, std::size_t, std::int64_t>;

  // Saves the initial contents, which Restore() and Reset() restore.
  explicit SavedState(std::vector<Arena> arenas);

  // Restores the initial contents. From now on each run continues with the state of the previous run, until
  // Save() or SetSaved().
  void Reset();
  // Save() saves the current contents; SetSaved() replaces the saved contents. From now on, Restore()
  // restores the saved contents.
  void Save() { SetSaved(CopyContents()); }
  void SetSaved(Copy saved);
  const Copy& saved() const { return saved_; }

  void Restore();  // must be called before each run
  void RecordRun(const Step& step);

 private:
  struct Block {
    std::size_t arena, begin, size;
  };
  Copy CopyContents() const;
  void Write(const Block& block, const Copy& from);
  std::vector<Block> WriteDifferences(const Copy& from);

  std::vector<Arena> arenas_;
  Copy initial_, saved_;
  bool restoring_ = true, changed_ = false;
  std::optional<Step> only_run_;  // absent unless there was exactly one run since the last Restore()
  std::map<Step, std::vector<Block>> blocks_;  // blocks that a step changes
};

}  // namespace etprof::runner
