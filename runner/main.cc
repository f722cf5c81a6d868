#include <unistd.h>

#include <cstdio>
#include <exception>
#include <new>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/json/json.h"
#include "core/json/json_members.h"
#include "core/process/process_start.h"
#include "inference/backends.h"
#include "inference/libraries.h"
#include "inference/outputs.h"
#include "isa_mask.h"
#include "machine/conditions.h"
#include "machine/peaks.h"
#include "modes.h"
#include "options.h"
#include "platform.h"
#include "timing/layout.h"
#include "timing/waiting.h"

namespace etprof::runner {
namespace {

// Prepares the process for `options`. The order matters: CPUs before threads, the mask before XNNPACK.
protocol::Ready Prepare(const Options& options) {
  protocol::Ready ready;
  ready.runner_version = ETPROF_VERSION;
  ready.pid = ::getpid();
  ready.cpu_model = CpuModel();
  if (!options.cpus.empty()) SetCpus(options.cpus);
  InstallPlatform(options.verbose);
  ready.isa = ApplyIsaMask(options.isa);
  ready.operator_clock = LoadXnnpack(options.exact_clock);
  for (const std::string& library : options.load) LoadLibrary(library);
  RequireOneXnnpack();
  ready.libraries = MappedExecutorchLibraries();
  ready.executorch_version = MappedExecutorchVersion(ready.libraries);
  SetXnnpackOptions(ready.executorch_version);
  ready.threads = SetThreads(options.cpu_threads);
  ready.clocks = ReadClocks();
  ready.wait_source = DetectWaitSource();
  return ready;
}

// Measures peaks. Prepares only what a peak depends on: CPUs, the mask, and threads.
protocol::Peaks RunPeaks(const Options& options) {
  protocol::Peaks peaks;
  if (!options.cpus.empty()) SetCpus(options.cpus);
  InstallPlatform(options.verbose);
  peaks.cpus = options.cpus;
  peaks.isa = options.isa;
  peaks.isa_state = ApplyIsaMask(options.isa);
  MeasurePeaks(SetThreads(options.cpu_threads), {}, peaks);
  return peaks;
}

int Main(int argc, char** argv) {
  ShiftHeap();
  const Options options = ParseOptions(argc, argv);
  switch (options.mode) {
    case Options::Mode::kCompareOutputs:
      std::puts(CompareOutputs(options.compare[0], options.compare[1]).dump(2).c_str());
      return 0;
    case Options::Mode::kIsaInfo: {
      nlohmann::json info = Prepare(options);
      info["backends"] = RegisteredBackends();
      std::puts(JsonText(info, 2).c_str());
      return 0;
    }
    case Options::Mode::kMeasurePeaks:
      std::puts(nlohmann::json(RunPeaks(options)).dump(2).c_str());
      return 0;
    case Options::Mode::kWorker: {
      const int reply_descriptor = RedirectStdout();
      return ServeWorker(reply_descriptor, Prepare(options));
    }
    case Options::Mode::kExecutorRunner:
      break;
  }
  return RunAsExecutorRunner(options, Prepare(options));
}

}  // namespace
}  // namespace etprof::runner

int main(int argc, char** argv) {
  try {
    etprof::PrepareProcess();
    return etprof::runner::CallWithShiftedStack(&etprof::runner::Main, argc, argv);
  } catch (const etprof::Error& error) {
    std::fflush(stdout);
    std::fprintf(stderr, "etprof-runner: %s\n", error.what());
    return static_cast<int>(error.exit_code());
  } catch (const std::bad_alloc&) {
    std::fputs("etprof-runner: out of memory; the model, or what it asks for, is too large for this device\n",
               stderr);
    return static_cast<int>(etprof::ExitCode::kDeviceFailed);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "etprof-runner: %s\n", error.what());
    return static_cast<int>(etprof::ExitCode::kDeviceFailed);
  }
}
