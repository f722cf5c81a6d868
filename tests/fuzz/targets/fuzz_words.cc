// The first byte chooses what the rest of the input is: a set of CPUs, a variant (`--vs`), a command line, or
// a line of a third-party runner's log.

#include <algorithm>

#include "core/process/cpus.h"
#include "device/tool.h"
#include "fuzz.h"
#include "measure/config/variant.h"
#include "measure/participants/participants.h"

namespace {

using namespace etprof;

void CheckCpuSet(const std::string& text) {
  std::vector<int> cpus;
  if (!fuzz::Accepts({ExitCode::kUsage}, [&] { cpus = ParseCpus(text); })) return;
  fuzz::Require(!cpus.empty() && std::is_sorted(cpus.begin(), cpus.end()) &&
                    std::adjacent_find(cpus.begin(), cpus.end()) == cpus.end(),
                "CPUs ascend, each once");
  fuzz::Require(ParseCpus(CpusText(cpus)) == cpus, "CPUs that are written and read again are the same");
}

void CheckVariant(const std::string& text) {
  fuzz::Accepts({ExitCode::kUsage}, [&] {
    ExperimentConfig base;
    base.name = "x";
    base.model = "/none/x.pte";
    base.runner = "/bin/runner";
    MakePlan(MakeProfileConfig(base, {ParseVariant(text)}));
  });
}

void CheckLog(const std::string& text) {
  ThirdPartyLog log;
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
      CheckCpuSet(text);
      break;
    case 1:
      CheckVariant(text);
      break;
    case 2:
      fuzz::Require(SplitCommand(text).size() <= text.size(), "words stand in the text");
      break;
    default:
      CheckLog(text);
  }
  return 0;
}
