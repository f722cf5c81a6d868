// The input is an ETDump, which is read, attributed, and rendered.

#include "check_profile.h"
#include "format/etdump/reader.h"
#include "fuzz.h"

ETPROF_FUZZ_TARGET(etdump) {
  using namespace etprof;
  fuzz::Accepts({ExitCode::kBadInput},
                [&] { fuzz::CheckEtdump(ReadEtdump(fuzz::Bytes(data, size), "x.etdump")); });
  return 0;
}
