// The input is each of the files that a configuration names: model, runner, and data.

#include "fuzz.h"
#include "measure/config/config.h"

ETPROF_FUZZ_TARGET(model) {
  using namespace etprof;
  Config config;
  config.experiments.emplace_back();
  config.experiments[0].name = "x";
  config.experiments[0].model = config.experiments[0].runner = config.experiments[0].data =
      fuzz::ScratchFile("x.pte", fuzz::Bytes(data, size));
  fuzz::Accepts({ExitCode::kBadInput}, [&] { CheckFiles(config); });
  return 0;
}
