#include "commands/setup/doctor.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <sstream>

#include "build/bundle/bundle.h"
#include "build/bundle/wheel.h"
#include "build/checkout/host_tools.h"
#include "build/checkout/requirements.h"
#include "commands/measurement/device.h"
#include "commands/measurement/locate.h"
#include "commands/terminal/show.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/file/file.h"
#include "core/units.h"
#include "device/adb/adb_devices.h"
#include "device/bundle.h"
#include "device/conditions/other_load.h"
#include "device/executable.h"
#include "device/local/local.h"
#include "device/local/local_properties.h"
#include "device/tool.h"
#include "measure/instructions/instrument.h"
#include "show/subjects.h"

namespace etprof {

namespace {

namespace fs = std::filesystem;

using Check = DoctorCheck;
using CheckState = DoctorCheck::State;

constexpr double kToolTimeoutSeconds = 20;
constexpr double kImportTimeoutSeconds = 60;
constexpr Bytes kMinRunDisk = 1'000'000'000;  // a run with traces has tens of megabytes
constexpr const char* kBootstrap = "run script/bootstrap";

Check Ok(std::string name, std::string found) {
  return {std::move(name), CheckState::kOk, std::move(found), ""};
}
Check Warning(std::string name, std::string found, std::string remedy = "") {
  return {std::move(name), CheckState::kWarning, std::move(found), std::move(remedy)};
}
Check Missing(std::string name, std::string found, std::string remedy = kBootstrap) {
  return {std::move(name), CheckState::kMissing, std::move(found), std::move(remedy)};
}

// Returns the output of a program; absent if the program does not exist, fails, prints more than 1 MiB, or
// runs for longer than `seconds`.
std::optional<std::string> RunForOutput(const std::vector<std::string>& command,
                                        double seconds = kToolTimeoutSeconds) {
  constexpr std::size_t kMaxToolOutputBytes = std::size_t{1} << 20U;
  const double deadline = MonotonicSeconds() + seconds;
  std::size_t bytes = 0;
  const auto require_end = [&](std::string_view line) {
    bytes += line.size() + 1;
    if (bytes > kMaxToolOutputBytes || MonotonicSeconds() > deadline)
      throw Error(ExitCode::kDeviceFailed, "prints without an end");
  };
  try {
    const ToolRun run = RunTool({command, {}, {}}, seconds, require_end, {});
    if (run.status.Success()) return run.output;
  } catch (const Error& error) {
    if (error.exit_code() == ExitCode::kInterrupted) throw;
  }
  return std::nullopt;
}

// Checks for a program on PATH or in `folder`, of version `min_version` or later.
Check CheckTool(const std::string& name, const std::string& program, const std::string& remedy,
                std::string_view min_version = kAnyVersion, const fs::path& folder = {}) {
  const std::optional<HostTool> tool = FindTool(program, min_version, folder);
  if (!tool) return Missing(name, "not found", remedy);
  const std::string found = fmt::format("{}, {}", tool->version, tool->path);
  if (VersionAtLeast(tool->version, min_version)) return Ok(name, found);
  return Missing(name, fmt::format("{}; {} or later is needed", found, min_version), remedy);
}

// Checks for a program that prints its version after `key` if called with `option`.
Check CheckClient(const std::string& name, std::vector<std::string> command, const char* option,
                  const std::string& key, const std::string& remedy) {
  const std::string program = command.front();
  command.emplace_back(option);
  const std::optional<std::string> output = RunForOutput(command);
  if (!output) return Missing(name, program + " is not there or does not run", remedy);
  const std::size_t position = output->find(key);
  const std::string version =
      ParseVersion(std::string_view(*output).substr(position == std::string::npos ? 0 : position));
  return Ok(name, fmt::format("{}, {}", version, FindProgram(program)));
}

Check CheckDisk(const fs::path& folder, Bytes min_free, const std::string& remedy) {
  std::error_code error;
  const fs::space_info space = fs::space(folder, error);
  if (error) return Warning("disk space", folder.string() + ": " + error.message());
  const auto free = static_cast<Bytes>(space.available);
  const std::string found =
      fmt::format("{} free in {}", FormatBytes(static_cast<double>(free)), folder.string());
  return free < min_free ? Warning("disk space", found, remedy) : Ok("disk space", found);
}

// --- measuring on this machine ---

void AddRunner(std::vector<Check>& checks) {
  const std::string name = "etprof-runner";
  try {
    const std::string runner = DefaultRunner().string();
    const std::unique_ptr<Device> device = MakeLocalDevice();
    const protocol::IsaState isa = QueryRunner(*device, runner, "").isa;
    std::string version = RunForOutput({runner, "--version"}).value_or("");
    version = version.substr(0, version.find('\n'));
    const bool same_version = version.starts_with(ETPROF_VERSION);
    checks.push_back({name, same_version ? CheckState::kOk : CheckState::kWarning,
                      fmt::format("{}, {}", version, runner),
                      same_version ? "" : "build it again: this etprof is " ETPROF_VERSION});
    if (isa.can_mask) {
      checks.push_back(Ok("instruction sets", "can be switched off one by one (--vs isa=...)"));
    } else {
      checks.push_back(Warning("instruction sets", "cannot be switched off: " + isa.masking_problem,
                               "compare two runners instead: --vs runner=PATH"));
    }
  } catch (const Error& error) {
    if (error.exit_code() == ExitCode::kInterrupted) throw;
    const std::string location = error.file().empty() ? "" : error.file() + ": ";
    checks.push_back(
        Missing(name, location + error.problem(), error.remedy().empty() ? kBootstrap : error.remedy()));
  }
}

void AddSteadiness(std::vector<Check>& checks) {
  const auto remedy = [](const std::string& warning) -> std::string {
    const auto contains = [&](const char* word) { return warning.find(word) != std::string::npos; };
    if (contains("governor")) return "as root: cpupower frequency-set --governor performance";
    if (contains("battery")) return "plug it in";
    if (contains("container may use")) return "give the container more processor time (docker run --cpus)";
    if (contains("guests"))
      return "small differences need more launches (--max-seconds), or a machine of your own";
    return "";
  };
  const DeviceProperties properties = ReadLocalProperties();
  for (const std::string& warning : properties.warnings)
    checks.push_back(Warning("steadiness", warning, remedy(warning)));
  if (properties.warnings.empty())
    checks.push_back(Ok("steadiness", "nothing seen that would disturb measurements"));
}

// Checks whether other processes leave a CPU core free for a measurement with one thread.
Check CheckOtherLoad() {
  const std::string name = "other processes";
  const std::unique_ptr<Device> device = MakeLocalDevice();
  const std::optional<OtherLoad> load = MeasureOtherLoad(*device, ReadLocalProperties().cores);
  if (!load) return Ok(name, "not known: this system does not say what they use");
  if (IsSignificantLoad(*load, 1)) return Warning(name, LoadText(*load), "stop them, or wait until they end");
  return Ok(name, "they use " + LoadAmountText(*load));
}

// Shows the limits that the container and the CPU affinity set.
Check CheckResourceLimits() {
  const std::string text = LimitsText(ReadResourceLimits());
  return Ok("limits", text.empty() ? "none known" : text);
}

DoctorGroup CheckMeasuring() {
  DoctorGroup group{"measure", "profile, run, check on this machine", {}};
  AddRunner(group.checks);
  group.checks.push_back(CheckDisk(fs::current_path(), kMinRunDisk, "make room: traces are written there"));
  group.checks.push_back(CheckResourceLimits());
  AddSteadiness(group.checks);
  group.checks.push_back(CheckOtherLoad());
  return group;
}

// --- exporting ---

struct PythonPackages {
  std::string python;                           // path of the interpreter
  std::string version;                          // empty: Python does not run
  std::map<std::string, std::string> versions;  // versions of the installed packages
};

PythonPackages QueryPython(const std::optional<fs::path>& root) {
  PythonPackages packages;
  packages.python = PythonProgram(root);
  const std::string script =
      "import importlib.metadata as m, platform\n"
      "print('python', platform.python_version())\n"
      "for n in ('executorch', 'torch', 'torchao', 'numpy', 'timm', 'torchvision', 'transformers'):\n"
      "  try: print(n, m.version(n))\n"
      "  except m.PackageNotFoundError: pass\n";
  std::istringstream lines(RunForOutput({packages.python, "-c", script}).value_or(""));
  for (std::string name, version; lines >> name >> version;) packages.versions[name] = version;
  packages.version = packages.versions["python"];
  return packages;
}

Check CheckPackage(const PythonPackages& packages, const std::string& name, const std::string& title) {
  const auto found = packages.versions.find(name);
  if (found == packages.versions.end()) return Missing(title, "not installed for " + packages.python);
  return Ok(title, fmt::format("{} {}, of {}", name, found->second, packages.python));
}

DoctorGroup CheckExporting(const PythonPackages& packages) {
  if (packages.version.empty())
    return {"export", "export", {Missing("Python", packages.python + " is not there or does not run")}};
  return {
      "export",
      "export",
      {Ok("Python", packages.version + ", " + packages.python), CheckPackage(packages, "torch", "PyTorch"),
       CheckPackage(packages, "executorch", "executorch wheel"), CheckPackage(packages, "torchao", "torchao"),
       CheckPackage(packages, "numpy", "NumPy")}};
}

// Checks the libraries of requirements/models.txt, which only some models need.
void AddModelLibraries(const PythonPackages& packages, std::vector<Check>& checks) {
  constexpr const char* kInstall = "run script/bootstrap --models";
  const std::array names = {"timm", "torchvision", "transformers"};
  std::string installed;
  for (const char* name : names) {
    if (packages.versions.contains(name)) installed += std::string(name) + " ";
  }
  std::map<std::string, std::string> problems;  // keyed by library; empty: the import succeeds
  if (!installed.empty()) {
    const std::string imports =
        "import importlib\n"
        "for n in '" +
        installed +
        "'.split():\n"
        "  try: importlib.import_module(n); print(n)\n"
        "  except Exception as e: print(n, (str(e) or type(e).__name__).splitlines()[0])\n";
    std::istringstream lines(
        RunForOutput({packages.python, "-c", imports}, kImportTimeoutSeconds).value_or(""));
    for (std::string line; std::getline(lines, line);) {
      const std::size_t end = std::min(line.find(' '), line.size());
      problems[line.substr(0, end)] = line.substr(std::min(end + 1, line.size()));
    }
  }
  for (const char* name : names) {
    if (!packages.versions.contains(name)) {
      checks.push_back(Warning(name, "not installed, which only models that use it need", kInstall));
      continue;
    }
    Check check = CheckPackage(packages, name, name);
    const auto problem = problems.find(name);
    if (problem == problems.end()) {
      check = Warning(
          name, check.found + fmt::format("; the import did not end within {:g} s", kImportTimeoutSeconds));
    } else if (!problem->second.empty()) {
      const bool needs_etprof = problem->second.find("operator torchvision::") != std::string::npos;
      check = Warning(name, fmt::format("{}; `import {}` fails: {}", check.found, name, problem->second),
                      needs_etprof ? "`import etprof` before it, as etprof export does" : kInstall);
    }
    checks.push_back(std::move(check));
  }
}

// --- building ---

Check CheckAarch64Wheel(const fs::path& root, const PythonPackages& packages) {
  const auto executorch = packages.versions.find("executorch");
  if (executorch != packages.versions.end()) {
    const std::string& version = executorch->second;
    if (const auto wheel = FindFetchedAarch64Wheel(root, version))
      return Ok("aarch64 wheel", fmt::format("{}, {}", version, wheel->parent_path().string()));
  }
  return Warning("aarch64 wheel", "not fetched yet", "etprof build --target fetches it by pip, 18 MB");
}

DoctorGroup CheckBundleBuilds(const std::optional<fs::path>& root, const PythonPackages& packages) {
  if (!root)
    return {"build-target",
            "build --target",
            {Missing("checkout", "this etprof lies in no checkout of its sources",
                     "run build/etprof of a checkout")}};
  // The build uses only the tools in the checkout.
  const fs::path tools = *root / ".venv" / "bin";
  Check cross_compiler = CheckTool("cross compiler", "aarch64-linux-gnu-g++",
                                   "on Debian: apt-get install g++-aarch64-linux-gnu");
  if (cross_compiler.state == CheckState::kMissing)
    cross_compiler.found = "aarch64-linux-gnu-g++ not found, which linux-aarch64 and android need";
  return {"build-target",
          "build --target",
          {CheckTool("cmake", (tools / "cmake").string(), kBootstrap),
           CheckTool("ninja", (tools / "ninja").string(), kBootstrap),
           CheckTool("native compiler", "c++", kBootstrap),
           CheckPackage(packages, "executorch", "executorch wheel"), cross_compiler,
           CheckAarch64Wheel(*root, packages)}};
}

Check CheckNdk() {
  const std::optional<NdkVariable> ndk = FindNdk();
  const std::string problem = NdkProblem(ndk);
  if (!problem.empty()) return Warning("Android NDK", problem, kGetNdk);
  return Ok("Android NDK", fmt::format("{}, {}", NdkVersion(*ndk), ndk->folder.string()));
}

Check CheckPythonWithTorch(const fs::path& tools) {
  const std::string name = "Python with PyTorch";
  const std::optional<HostPython> python = FindPython(tools);
  const std::string problem = PythonProblem(python);
  return problem.empty() ? Ok(name, python->path) : Missing(name, problem);
}

DoctorGroup CheckExecutorchBuilds(const std::optional<fs::path>& root) {
  const fs::path tools = root ? *root / ".venv" / "bin" : fs::path();
  return {
      "build-executorch",
      "build --executorch",
      {CheckTool("git", "git", "install git"), CheckTool("cmake", "cmake", kBootstrap, kMinCMake, tools),
       CheckTool("ninja", "ninja", kBootstrap, kMinNinja, tools), CheckTool("make", "make", kGetMake),
       CheckTool("native compiler", "c++", "install a C++ compiler"), CheckPythonWithTorch(tools), CheckNdk(),
       CheckDisk(fs::current_path(), kMinFreeDisk, "a runner's build needs 137 MB where the checkout lies")}};
}

// --- devices ---

// Checks for etprof-runner's bundle for a device; the remedy is the command that builds it.
Check CheckBundle(const std::optional<fs::path>& root, BundleTarget target, CheckState state_if_missing) {
  const std::string name = Name(target) + " runner";
  const std::string remedy = "make it: etprof build --target " + Name(target);
  const fs::path folder = BundleFolder(Name(target));
  if (!Exists(folder / "bundle.json"))
    return {name, state_if_missing, "not built yet",
            root ? remedy : "run etprof of a checkout, then " + remedy};
  try {
    const std::optional<RunnerBundle> bundle = FindBundle(folder / "etprof-runner");
    if (bundle)
      return Ok(name, fmt::format("executorch {}, {}", bundle->manifest.executorch, folder.string()));
    return {name, state_if_missing, folder.string() + " is not whole", remedy};
  } catch (const Error& error) {
    return {name, state_if_missing, error.problem(), remedy};
  }
}

DoctorGroup CheckAdb(const std::optional<fs::path>& root) {
  return {"adb",
          "devices over adb",
          {CheckClient("adb", AdbCommand(), "--version", "\nVersion ",
                       "on Debian: apt-get install adb; else Android's platform-tools"),
           CheckBundle(root, BundleTarget::kAndroid, CheckState::kMissing)}};
}

DoctorGroup CheckSsh(const std::optional<fs::path>& root) {
  return {"ssh",
          "devices over ssh",
          {CheckClient("ssh", ClientCommand("ETPROF_SSH", "ssh"), "-V", "OpenSSH",
                       "install OpenSSH's client (on Debian: apt-get install openssh-client)"),
           // A device of this machine's platform uses this machine's runner instead.
           CheckBundle(root, BundleTarget::kLinuxAarch64, CheckState::kWarning)}};
}

DoctorGroup CheckEmulator(const std::optional<fs::path>& root) {
  const fs::path folder = root ? *root / "build" / "tools" : fs::path();
  return {"emulated",
          "an emulated device",
          {CheckTool("qemu-aarch64", "qemu-aarch64", "run script/fetch-qemu: from 10.1 on it has SME2",
                     "10.1", folder),
           CheckBundle(root, BundleTarget::kAndroid, CheckState::kMissing)}};
}

DoctorGroup CheckInstructionCounting(const std::optional<fs::path>& root) {
  const std::string remedy = "run script/fetch-qemu --plugins";
  const fs::path folder = root ? *root / "build" / "tools" / "qemu-plugins" : fs::path();
  Check emulator = CheckTool("QEMU with plugins", "qemu-aarch64", remedy, kAnyVersion, folder);
  if (const auto tool = FindTool("qemu-aarch64", kAnyVersion, folder); tool && !HasPlugins(tool->path))
    emulator = Missing("QEMU with plugins", tool->path + " has none: it is statically linked", remedy);
  return {"instructions",
          "--instructions, where the processor's counters are closed",
          {CheckTool("Valgrind", "valgrind", "install it (on Debian: apt-get install valgrind)"), emulator}};
}

}  // namespace

DoctorReport MakeDoctorReport() {
  const std::optional<fs::path> root = CheckoutRoot();
  const PythonPackages packages = QueryPython(root);
  DoctorGroup exporting = CheckExporting(packages);
  if (!packages.version.empty()) AddModelLibraries(packages, exporting.checks);
  return {{CheckMeasuring(), std::move(exporting), CheckBundleBuilds(root, packages),
           CheckExecutorchBuilds(root), CheckAdb(root), CheckSsh(root), CheckEmulator(root),
           CheckInstructionCounting(root)}};
}

DoctorGroup CheckExportRequirements() { return CheckExporting(QueryPython(CheckoutRoot())); }

namespace {

int RunDoctor(const View& view) {
  const DoctorReport report = MakeDoctorReport();
  ShowDocument(show::MakeDoctorDocument(report), view, report);
  return static_cast<int>(report.IsReady() ? ExitCode::kDone : ExitCode::kDeviceFailed);
}

}  // namespace

std::function<int()> DoctorCommand(CLI::App& app) {
  const auto view = std::make_shared<View>();
  AddDocumentOptions(app, *view, "Show the result as JSON", {show::MakeDoctorDocument({{DoctorGroup()}})});
  return [view] { return RunDoctor(*view); };
}

}  // namespace etprof
