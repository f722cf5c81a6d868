#include "workflow/doctor.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>
#include <sstream>

#include "bundle/bundle.h"
#include "bundle/wheel.h"
#include "checkout/host_tools.h"
#include "checkout/requirements.h"
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
#include "workflow/measure/device.h"
#include "workflow/measure/locate.h"

namespace etprof {
namespace {

namespace fs = std::filesystem;

using Check = DoctorCheck;
using CheckState = DoctorCheck::State;

constexpr double kAskSeconds = 20;
constexpr double kImportSeconds = 60;
constexpr Bytes kLittleDisk = 1'000'000'000;  // a run with traces has tens of megabytes
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

// What such a program prints; absent where it is not there or does not run.
std::optional<std::string> Printed(const std::vector<std::string>& words, double seconds = kAskSeconds) {
  try {
    const ToolRun run = RunTool({words, {}, {}}, seconds, {}, {});
    if (run.status.Success()) return run.output;
  } catch (const Error& error) {
    if (error.exit_code() == ExitCode::kInterrupted) throw;
  }
  return std::nullopt;
}

// A program on PATH or in `own` folder, of the version `least` or a later one.
Check Tool(const std::string& name, const std::string& program, const std::string& remedy,
           std::string_view least = kAnyVersion, const fs::path& own = {}) {
  const std::optional<HostTool> tool = FindTool(program, least, own);
  if (!tool) return Missing(name, "not found", remedy);
  const std::string found = fmt::format("{}, {}", tool->version, tool->path);
  if (VersionAtLeast(tool->version, least)) return Ok(name, found);
  return Missing(name, fmt::format("{}; {} or later is needed", found, least), remedy);
}

// A program that tells its version by `option`, behind `key` of what it prints.
Check Client(const std::string& name, std::vector<std::string> words, const char* option,
             const std::string& key, const std::string& remedy) {
  const std::string program = words.front();
  words.emplace_back(option);
  const std::optional<std::string> printed = Printed(words);
  if (!printed) return Missing(name, program + " is not there or does not run", remedy);
  const std::size_t at = printed->find(key);
  const std::string version = VersionIn(std::string_view(*printed).substr(at == std::string::npos ? 0 : at));
  return Ok(name, fmt::format("{}, {}", version, FindProgram(program)));
}

Check Disk(const fs::path& folder, Bytes least, const std::string& remedy) {
  std::error_code error;
  const fs::space_info space = fs::space(folder, error);
  if (error) return Warning("disk space", folder.string() + ": " + error.message());
  const auto free = static_cast<Bytes>(space.available);
  const std::string found =
      fmt::format("{} free in {}", FormatBytes(static_cast<double>(free)), folder.string());
  return free < least ? Warning("disk space", found, remedy) : Ok("disk space", found);
}

// --- measuring on this machine ---

void AddRunner(std::vector<Check>& checks) {
  const std::string name = "etprof-runner";
  try {
    const std::string runner = DefaultRunner().string();
    const std::unique_ptr<Device> device = MakeLocalDevice();
    const protocol::IsaState isa = AskRunner(*device, runner, "");
    std::string version = Printed({runner, "--version"}).value_or("");
    version = version.substr(0, version.find('\n'));
    const bool ours = version.starts_with(ETPROF_VERSION);
    checks.push_back({name, ours ? CheckState::kOk : CheckState::kWarning,
                      fmt::format("{}, {}", version, runner),
                      ours ? "" : "build it again: this etprof is " ETPROF_VERSION});
    if (isa.can_mask) {
      checks.push_back(Ok("instruction sets", "can be switched off one by one (--vs isa=...)"));
    } else {
      checks.push_back(Warning("instruction sets", "cannot be switched off: " + isa.why_not,
                               "compare two runners instead: --vs runner=PATH"));
    }
  } catch (const Error& error) {
    if (error.exit_code() == ExitCode::kInterrupted) throw;
    const std::string where = error.file().empty() ? "" : error.file() + ": ";
    checks.push_back(
        Missing(name, where + error.problem(), error.remedy().empty() ? kBootstrap : error.remedy()));
  }
}

void AddSteadiness(std::vector<Check>& checks) {
  const auto remedy = [](const std::string& warning) -> std::string {
    const auto has = [&](const char* word) { return warning.find(word) != std::string::npos; };
    if (has("governor")) return "as root: cpupower frequency-set --governor performance";
    if (has("battery")) return "plug it in";
    if (has("container may use")) return "give the container more processor time (docker run --cpus)";
    if (has("guests"))
      return "small differences need more launches (--max-seconds), or a machine of your own";
    return "";
  };
  const DeviceProperties properties = ReadLocalProperties();
  for (const std::string& warning : properties.warnings)
    checks.push_back(Warning("steadiness", warning, remedy(warning)));
  if (properties.warnings.empty())
    checks.push_back(Ok("steadiness", "nothing seen that would disturb measurements"));
}

// Whether the processor is free for a measurement with one thread.
Check Others() {
  const std::string name = "other processes";
  const std::unique_ptr<Device> device = MakeLocalDevice();
  const std::optional<OtherLoad> load = LookAtOtherLoad(*device, ReadLocalProperties().cores);
  if (!load) return Ok(name, "not known: this system does not say what they use");
  if (Matters(*load, 1)) return Warning(name, LoadText(*load), "stop them, or wait until they end");
  return Ok(name, "they use " + LoadAmountText(*load));
}

// What the container and the affinity let a measurement use.
Check Limits() {
  const std::string text = LimitsText(ReadResourceLimits());
  return Ok("limits", text.empty() ? "none known" : text);
}

DoctorGroup Measuring() {
  DoctorGroup group{"measure", "profile, run, check on this machine", {}};
  AddRunner(group.checks);
  group.checks.push_back(Disk(fs::current_path(), kLittleDisk, "make room: traces are written there"));
  group.checks.push_back(Limits());
  AddSteadiness(group.checks);
  group.checks.push_back(Others());
  return group;
}

// --- Python's side ---

struct PythonPackages {
  std::string python;                           // the program
  std::string version;                          // empty: it does not run
  std::map<std::string, std::string> versions;  // of what is installed
};

PythonPackages AskPython(const std::optional<fs::path>& root) {
  PythonPackages packages;
  packages.python = PythonProgram(root);
  const std::string question =
      "import importlib.metadata as m, platform\n"
      "print('python', platform.python_version())\n"
      "for n in ('executorch', 'torch', 'torchao', 'numpy', 'timm', 'torchvision', 'transformers'):\n"
      "  try: print(n, m.version(n))\n"
      "  except m.PackageNotFoundError: pass\n";
  std::istringstream lines(Printed({packages.python, "-c", question}).value_or(""));
  for (std::string name, version; lines >> name >> version;) packages.versions[name] = version;
  packages.version = packages.versions["python"];
  return packages;
}

Check Package(const PythonPackages& packages, const std::string& name, const std::string& title) {
  const auto found = packages.versions.find(name);
  if (found == packages.versions.end()) return Missing(title, "not installed for " + packages.python);
  return Ok(title, fmt::format("{} {}, of {}", name, found->second, packages.python));
}

DoctorGroup Exporting(const PythonPackages& packages) {
  if (packages.version.empty())
    return {"export", "export", {Missing("Python", packages.python + " is not there or does not run")}};
  return {"export",
          "export",
          {Ok("Python", packages.version + ", " + packages.python), Package(packages, "torch", "PyTorch"),
           Package(packages, "executorch", "executorch wheel"), Package(packages, "torchao", "torchao"),
           Package(packages, "numpy", "NumPy")}};
}

// The libraries of requirements/models.txt. Models that use none of them need none.
void AddModelLibraries(const PythonPackages& packages, std::vector<Check>& checks) {
  constexpr const char* kInstall = "run script/bootstrap --models";
  const std::array names = {"timm", "torchvision", "transformers"};
  std::string installed;
  for (const char* name : names) {
    if (packages.versions.contains(name)) installed += std::string(name) + " ";
  }
  std::map<std::string, std::string> problems;  // empty: it can be imported
  if (!installed.empty()) {
    const std::string imports =
        "import importlib\n"
        "for n in '" +
        installed +
        "'.split():\n"
        "  try: importlib.import_module(n); print(n)\n"
        "  except Exception as e: print(n, (str(e) or type(e).__name__).splitlines()[0])\n";
    std::istringstream lines(Printed({packages.python, "-c", imports}, kImportSeconds).value_or(""));
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
    Check check = Package(packages, name, name);
    const auto problem = problems.find(name);
    if (problem == problems.end()) {
      check =
          Warning(name, check.found + fmt::format("; the import did not end within {:g} s", kImportSeconds));
    } else if (problem->second.find("operator torchvision::") != std::string::npos) {
      check = Warning(name, fmt::format("{}; `import {}` fails: {}", check.found, name, problem->second),
                      "`import etprof` before it, as etprof export does");
    } else if (!problem->second.empty()) {
      check = Warning(name, fmt::format("{}; `import {}` fails: {}", check.found, name, problem->second),
                      kInstall);
    }
    checks.push_back(std::move(check));
  }
}

// --- building ---

Check Aarch64Libraries(const fs::path& root, const PythonPackages& packages) {
  const auto executorch = packages.versions.find("executorch");
  if (executorch != packages.versions.end()) {
    const std::string& version = executorch->second;
    if (const auto wheel = FetchedAarch64Wheel(root, version))
      return Ok("aarch64 wheel", fmt::format("{}, {}", version, wheel->parent_path().string()));
  }
  return Warning("aarch64 wheel", "not fetched yet", "etprof build --target fetches it by pip, 18 MB");
}

DoctorGroup BuildingBundles(const std::optional<fs::path>& root, const PythonPackages& packages) {
  if (!root)
    return {"build-target",
            "build --target",
            {Missing("checkout", "this etprof lies in no checkout of its sources",
                     "run build/etprof of a checkout")}};
  // The checkout's own: the build uses no others.
  const fs::path tools = *root / ".venv" / "bin";
  Check cross =
      Tool("cross compiler", "aarch64-linux-gnu-g++", "on Debian: apt-get install g++-aarch64-linux-gnu");
  if (cross.state == CheckState::kMissing)
    cross.found = "aarch64-linux-gnu-g++ not found, which linux-aarch64 and android need";
  return {"build-target",
          "build --target",
          {Tool("cmake", (tools / "cmake").string(), kBootstrap),
           Tool("ninja", (tools / "ninja").string(), kBootstrap), Tool("native compiler", "c++", kBootstrap),
           Package(packages, "executorch", "executorch wheel"), cross, Aarch64Libraries(*root, packages)}};
}

Check Ndk() {
  const std::optional<NdkVariable> ndk = FindNdk();
  const std::string problem = NdkProblem(ndk);
  if (!problem.empty()) return Warning("Android NDK", problem, kGetNdk);
  return Ok("Android NDK", fmt::format("{}, {}", NdkVersion(*ndk), ndk->folder.string()));
}

Check PythonWithTorch(const fs::path& tools) {
  const std::string name = "Python with PyTorch";
  const std::optional<HostPython> python = FindPython(tools);
  const std::string problem = PythonProblem(python);
  return problem.empty() ? Ok(name, python->path) : Missing(name, problem);
}

DoctorGroup BuildingExecutorch(const std::optional<fs::path>& root) {
  const fs::path tools = root ? *root / ".venv" / "bin" : fs::path();
  return {"build-executorch",
          "build --executorch",
          {Tool("git", "git", "install git"), Tool("cmake", "cmake", kBootstrap, kLeastCMake, tools),
           Tool("ninja", "ninja", kBootstrap, kLeastNinja, tools), Tool("make", "make", kGetMake),
           Tool("native compiler", "c++", "install a C++ compiler"), PythonWithTorch(tools), Ndk(),
           Disk(fs::current_path(), kRunnerDisk, "a runner's build needs 137 MB where the checkout lies")}};
}

// --- devices ---

// The bundle of etprof-runner for a device, or what makes it.
Check BundleFor(const std::optional<fs::path>& root, BundleTarget target, CheckState when_missing) {
  const std::string name = Name(target) + " runner";
  const std::string remedy = "make it: etprof build --target " + Name(target);
  const fs::path folder = BundleFolder(Name(target));
  if (!Exists(folder / "bundle.json"))
    return {name, when_missing, "not built yet", root ? remedy : "run etprof of a checkout, then " + remedy};
  try {
    const std::optional<RunnerBundle> bundle = BundleOf(folder / "etprof-runner");
    if (bundle)
      return Ok(name, fmt::format("executorch {}, {}", bundle->manifest.executorch, folder.string()));
    return {name, when_missing, folder.string() + " is not whole", remedy};
  } catch (const Error& error) {
    return {name, when_missing, error.problem(), remedy};
  }
}

DoctorGroup OverAdb(const std::optional<fs::path>& root) {
  return {"adb",
          "devices over adb",
          {Client("adb", AdbWords(), "--version", "\nVersion ",
                  "on Debian: apt-get install adb; else Android's platform-tools"),
           BundleFor(root, BundleTarget::kAndroid, CheckState::kMissing)}};
}

DoctorGroup OverSsh(const std::optional<fs::path>& root) {
  return {"ssh",
          "devices over ssh",
          {Client("ssh", ClientWords("ETPROF_SSH", "ssh"), "-V", "OpenSSH",
                  "install OpenSSH's client (on Debian: apt-get install openssh-client)"),
           // A machine like this one takes this machine's runner.
           BundleFor(root, BundleTarget::kLinuxAarch64, CheckState::kWarning)}};
}

DoctorGroup Emulated(const std::optional<fs::path>& root) {
  const fs::path own = root ? *root / "build" / "tools" : fs::path();
  return {
      "emulated",
      "an emulated device",
      {Tool("qemu-aarch64", "qemu-aarch64", "run script/fetch-qemu: from 10.1 on it has SME2", "10.1", own),
       BundleFor(root, BundleTarget::kAndroid, CheckState::kMissing)}};
}

DoctorGroup CountingInstructions(const std::optional<fs::path>& root) {
  const std::string remedy = "run script/fetch-qemu --plugins";
  const fs::path own = root ? *root / "build" / "tools" / "qemu-plugins" : fs::path();
  Check emulator = Tool("QEMU with plugins", "qemu-aarch64", remedy, kAnyVersion, own);
  if (const auto tool = FindTool("qemu-aarch64", kAnyVersion, own); tool && !HasPlugins(tool->path))
    emulator = Missing("QEMU with plugins", tool->path + " has none: it is statically linked", remedy);
  return {"instructions",
          "--instructions, where the processor's counters are closed",
          {Tool("Valgrind", "valgrind", "install it (on Debian: apt-get install valgrind)"), emulator}};
}

}  // namespace

Examination ExamineThisMachine() {
  const std::optional<fs::path> root = CheckoutRoot();
  const PythonPackages packages = AskPython(root);
  DoctorGroup exporting = Exporting(packages);
  if (!packages.version.empty()) AddModelLibraries(packages, exporting.checks);
  return {{Measuring(), std::move(exporting), BuildingBundles(root, packages), BuildingExecutorch(root),
           OverAdb(root), OverSsh(root), Emulated(root), CountingInstructions(root)}};
}

DoctorGroup ExportNeeds() { return Exporting(AskPython(CheckoutRoot())); }

}  // namespace etprof
