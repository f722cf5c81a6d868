// Bytes as an ETDump: read, attributed, rendered.

#include "check_profile.h"
#include "etdump/reader.h"
#include "fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace etprof;
  fuzz::Accepts({ExitCode::kBadInput},
                [&] { fuzz::CheckProfile(ReadEtdump(fuzz::Bytes(data, size), "x.etdump")); });
  return 0;
}
