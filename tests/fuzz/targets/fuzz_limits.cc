// The input changes values of a file of limits (`--thresholds`), or replaces the file.

#include "fuzz.h"
#include "measure/config/thresholds.h"
#include "mutate_json.h"

ETPROF_FUZZ_TARGET(limits) {
  using namespace etprof;
  nlohmann::json valid;
  for (const FactInfo& info : AllFacts())
    valid[info.FileKey()] =
        info.unit == FactInfo::Unit::kShare ? nlohmann::json("80 %") : nlohmann::json(1000);
  const std::string text = fuzz::MutateJson(valid.dump(), data, size);
  fuzz::Accepts({ExitCode::kBadInput}, [&] { ParseThresholds(text, "/none/limits.json"); });
  return 0;
}
