// What users write as one word: the first byte chooses between a set of CPUs, a variant (`--vs`), a command
// line and a line of a foreign runner's log.

#include <algorithm>

#include "device/conditions/cpus.h"
#include "fuzz.h"
#include "measure/config/json_fields.h"
#include "measure/config/variant.h"
#include "measure/participants/participants.h"

namespace {

using namespace etprof;

void Cpus(const std::string& text) {
  std::vector<int> cpus;
  if (!fuzz::Accepts({ExitCode::kUsage}, [&] { cpus = ParseCpus(text); })) return;
  fuzz::Require(!cpus.empty() && std::is_sorted(cpus.begin(), cpus.end()) &&
                    std::adjacent_find(cpus.begin(), cpus.end()) == cpus.end(),
                "CPUs ascend, each once");
  fuzz::Require(ParseCpus(CpusText(cpus)) == cpus, "CPUs that are written and read again are the same");
}

void VariantOf(const std::string& text) {
  fuzz::Accepts({ExitCode::kUsage}, [&] {
    ExperimentConfig as_given;
    as_given.name = "x";
    as_given.model = "/none/x.pte";
    as_given.runner = "/bin/runner";
    MakePlan(MakeProfileConfig(as_given, {ParseVariant(text)}));
  });
}

void Log(const std::string& text) {
  ForeignLog log;
  log.AddLine(text);
  fuzz::Require(log.iterations.size() <= 1, "a line tells of one run");
  for (const Nanoseconds time : log.iterations) fuzz::Require(time >= 0, "a latency is not negative");
}

}  // namespace

ETPROF_FUZZ_TARGET(words) {
  if (size == 0) return 0;
  const std::string text = fuzz::Text(data + 1, size - 1);
  switch (data[0] % 4) {
    case 0:
      Cpus(text);
      break;
    case 1:
      VariantOf(text);
      break;
    case 2:
      fuzz::Require(SplitCommandLine(text).size() <= text.size(), "words stand in the text");
      break;
    default:
      Log(text);
  }
  return 0;
}
