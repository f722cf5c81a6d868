#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/error.h"
#include "workflow/history.h"
#include "workflow/request.h"

namespace etprof {

// What became of adding measurements to a history; nothing of both: none was asked for, or none is finished.
struct KeptInHistory {
  std::optional<AddedToHistory> added;
  std::optional<Error> error;  // the runs are where they were measured all the same
};

// Adds finished measurements to the history that a command names, as `etprof history add` does. The commit is
// the one that is there when the measurement begins.
class HistoryKeeper {
 public:
  // Throws Error, before hours of measuring, where nothing could be added: as CommitOf and
  // HistoryFile::RequireAddable.
  explicit HistoryKeeper(const HistoryRequest& request);
  KeptInHistory Keep(const std::vector<std::string>& runs,
                     HistoryFile::OfOther of_other = HistoryFile::OfOther::kRefused) const;

 private:
  AddToHistoryOptions options_;  // its file is empty where nothing is kept
};

}  // namespace etprof
