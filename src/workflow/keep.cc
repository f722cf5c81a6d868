#include "workflow/keep.h"

namespace etprof {

HistoryKeeper::HistoryKeeper(const HistoryRequest& request) {
  options_.file = request.file;
  if (!request.Asked()) return;
  options_.commit = CommitOf(request.commit).name;
  options_.reference = request.reference;
  HistoryFile::RequireAddable(options_.file);
}

KeptInHistory HistoryKeeper::Keep(const std::vector<std::string>& runs, HistoryFile::OfOther of_other) const {
  KeptInHistory kept;
  if (options_.file.empty() || runs.empty()) return kept;
  AddToHistoryOptions options = options_;
  options.runs = runs;
  options.of_other = of_other;
  try {
    kept.added = AddToHistory(options);
  } catch (const std::exception& error) {
    kept.error = AsError(error);
  }
  return kept;
}

}  // namespace etprof
