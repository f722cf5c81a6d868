// Merges two copies of the input, which is an ETDump. Requires that the result has the runs of both.

#include "format/etdump/reader.h"
#include "fuzz.h"
#include "measure/store/run_directory.h"

ETPROF_FUZZ_TARGET(merge) {
  using namespace etprof;
  const std::filesystem::path part = fuzz::ScratchFile("part.etdump", fuzz::Bytes(data, size));
  const std::filesystem::path merged = fuzz::ScratchFolder() / "merged.etdump";
  if (!fuzz::Accepts({ExitCode::kBadInput}, [&] { WriteFileAtomically(merged, MergeEtdumps({part, part})); }))
    return 0;
  // The merged ETDump may be refused although its parts are valid, since only its total time overflows.
  std::int64_t runs = 0;
  if (fuzz::Accepts({ExitCode::kBadInput}, [&] { runs = static_cast<std::int64_t>(CountRuns(merged)); }))
    fuzz::Require(runs == 2 * static_cast<std::int64_t>(CountRuns(part)),
                  "a merged ETDump has the runs of its parts");
  return 0;
}
