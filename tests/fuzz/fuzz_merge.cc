// Bytes as two ETDumps that are merged: the merged one reads back with the runs of both.

#include "etdump/reader.h"
#include "fuzz.h"
#include "measure/run_directory.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace etprof;
  const std::filesystem::path part = fuzz::ScratchFile("part.etdump", fuzz::Bytes(data, size));
  const std::filesystem::path merged = fuzz::ScratchFolder() / "merged.etdump";
  if (fuzz::Accepts({ExitCode::kBadInput}, [&] { MergeEtdumps({part, part}, merged); })) {
    fuzz::Require(CountRuns(merged) == 2 * CountRuns(part), "a merged ETDump has the runs of its parts");
  }
  return 0;
}
