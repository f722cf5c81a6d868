// The input is a configuration, which is read, planned, written, and read again, and a file of thresholds.

#include <nlohmann/json.hpp>

#include "fuzz.h"
#include "measure/config/config.h"
#include "measure/config/thresholds.h"

ETPROF_FUZZ_TARGET(config) {
  using namespace etprof;
  ConfigContext context;
  context.default_runner = "/bin/runner";
  const auto allowed = {ExitCode::kBadInput, ExitCode::kUsage};
  fuzz::Accepts(allowed, [&] { ParseThresholds(fuzz::Text(data, size), "/none/limits.json"); });
  Config config;
  const bool read = fuzz::Accepts(allowed, [&] {
    config = ParseConfig(fuzz::Text(data, size), "/none/config.json", context);
    MakePlan(config);
  });
  if (!read) return 0;
  const nlohmann::ordered_json written = ToJson(config);
  const std::string text = written.dump(1, ' ', false, nlohmann::json::error_handler_t::replace);
  const Config reread = ParseConfig(text, "/none/config.json", context);
  fuzz::Require(ToJson(reread) == nlohmann::ordered_json::parse(text),
                "a configuration that is written and read again is the same");
  return 0;
}
