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

// Memory that is put back before each run, for models whose state accumulates (recurrent layers): so every
// run of a step begins with the same state. Only blocks that differ are written, which the run before has
// touched anyway.
class SavedState {
 public:
  using Arena = std::pair<std::byte*, std::size_t>;
  using Copy = std::vector<std::vector<std::byte>>;  // contents of the arenas
  // A step that changes the same blocks whenever it begins with the same state: method, tokens, position.
  using Step = std::tuple<std::string, std::size_t, std::int64_t>;

  // Saves the contents, which are also what Reset() restores.
  explicit SavedState(std::vector<Arena> arenas);

  // Puts the first contents back. From now on runs follow each other, until Save() or Hold().
  void Reset();
  // Saves the contents as they are now, or those given, and puts them back before each run from now on.
  void Save() { Hold(Contents()); }
  void Hold(Copy saved);
  const Copy& saved() const { return saved_; }

  void Restore();  // call before a run
  void Ran(const Step& step);

 private:
  struct Block {
    std::size_t arena, begin, size;
  };
  Copy Contents() const;
  void Write(const Block& block, const Copy& from);
  std::vector<Block> WriteDifferences(const Copy& from);

  std::vector<Arena> arenas_;
  Copy first_, saved_;
  bool holding_ = true, changed_ = false;
  std::optional<Step> ran_;  // the only run since the last Restore(); absent: there were others
  std::map<Step, std::vector<Block>> blocks_;
};

}  // namespace etprof::runner
