#include "build/checkout/requirements.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/utsname.h>

#include <algorithm>
#include <sstream>

#include "core/error.h"
#include "core/file/file.h"
#include "device/executable.h"
#include "device/tool.h"

namespace etprof {

namespace fs = std::filesystem;

namespace {

using MissingList = std::vector<MissingRequirement>;

constexpr double kPythonTimeoutSeconds = 60;
// NDK r27 has Clang 18. With an older Clang, XNNPACK omits its kernels for SME and SME2 whatever its options
// are.
constexpr std::string_view kMinNdk = "27";

std::optional<HostPython> QueryPythonModules(const std::string& program) {
  // find_spec() does not import the modules, which would take seconds.
  const std::string script =
      "import importlib.util\n"
      "print('lacks:', *(name for name in ('torch', 'yaml') if importlib.util.find_spec(name) is None))";
  try {
    const ToolRun run = RunTool({{program, "-c", script}, {}, {}}, kPythonTimeoutSeconds, {}, {});
    constexpr std::string_view kPrefix = "lacks:";
    const std::size_t at = run.output.rfind(kPrefix);
    if (!run.status.Success() || at == std::string::npos) return std::nullopt;
    HostPython python{FindProgram(program), {}};
    std::istringstream words(run.output.substr(at + kPrefix.size()));
    for (std::string word; words >> word;) python.missing_modules.push_back(word);
    return python;
  } catch (const Error& error) {
    if (error.exit_code() == ExitCode::kInterrupted) throw;
    return std::nullopt;
  }
}

void AddProblem(std::string problem, const char* remedy, MissingList& missing) {
  if (!problem.empty()) missing.push_back({std::move(problem), remedy});
}

void CheckTool(const char* name, const std::optional<HostTool>& tool, std::string_view min_version,
               const std::string& remedy, MissingList& missing) {
  if (!tool) {
    missing.push_back({fmt::format("{} was not found", name), remedy});
  } else if (!VersionAtLeast(tool->version, min_version)) {
    missing.push_back(
        {fmt::format("{} is {}; {} or later is needed", tool->path, tool->version, min_version), remedy});
  }
}

void CheckCheckout(const Checkout& checkout, bool llm, MissingList& missing) {
  if (checkout.folder.filename() != "executorch") {
    missing.push_back(
        {fmt::format("the checkout's folder is named {}, and ExecuTorch builds only in one named executorch",
                     checkout.folder.filename().string()),
         fmt::format("rename it: mv {} {}", checkout.folder.string(),
                     (checkout.folder.parent_path() / "executorch").string())});
  }
  const std::vector<std::string> submodules = MissingSubmodules(checkout.folder, llm);
  if (!submodules.empty()) {
    const std::size_t shown_count = std::min<std::size_t>(submodules.size(), 3);
    missing.push_back(
        {fmt::format("{} of its submodules {} not there: {}{}", submodules.size(),
                     submodules.size() == 1 ? "is" : "are",
                     fmt::join(submodules.begin(),
                               submodules.begin() + static_cast<std::ptrdiff_t>(shown_count), ", "),
                     shown_count < submodules.size() ? ", ..." : ""),
         fmt::format("git -C {0} submodule sync --recursive && "
                     "git -C {0} submodule update --init --recursive {1}",
                     checkout.folder.string(), fmt::join(submodules, " "))});
  }
}

}  // namespace

BuildHost ReadBuildHost(const Checkout& checkout, const fs::path& etprof_tools) {
  BuildHost host;
  struct utsname name {};
  if (::uname(&name) == 0) {
    host.system = name.sysname;
    host.machine = name.machine;
  }
  host.cmake = FindTool("cmake", kMinCMake, etprof_tools);
  host.ninja = FindTool("ninja", kMinNinja, etprof_tools);
  host.make = FindTool("make", kAnyVersion, {});
  host.python = FindPython(etprof_tools);
  host.ndk = FindNdk();
  std::error_code error;
  const fs::space_info space = fs::space(checkout.folder, error);
  if (!error) host.free_disk = static_cast<Bytes>(space.available);
  return host;
}

MissingList MissingRequirements(const Checkout& checkout, const std::vector<RunnerPreset>& presets, bool llm,
                                const BuildHost& host) {
  MissingList missing;
  CheckCheckout(checkout, llm, missing);
  const std::string install_remedy = "install it, or run script/bootstrap, which brings one";
  CheckTool("cmake", host.cmake, kMinCMake, install_remedy, missing);
  CheckTool("ninja", host.ninja, kMinNinja, install_remedy, missing);
  CheckTool("make", host.make, kAnyVersion, kGetMake, missing);
  AddProblem(PythonProblem(host.python),
             "activate the environment that ExecuTorch's install_executorch.sh has filled, or run "
             "script/bootstrap, whose environment is taken then",
             missing);
  const auto has_platform = [&presets](RunnerPreset::Platform platform) {
    return std::ranges::any_of(
        presets, [platform](const RunnerPreset& preset) { return preset.platform == platform; });
  };
  if (has_platform(RunnerPreset::Platform::kAndroid)) AddProblem(NdkProblem(host.ndk), kGetNdk, missing);
  if (has_platform(RunnerPreset::Platform::kMac) && host.system != "Darwin") {
    missing.push_back({fmt::format("the mac presets are built on a Mac, and this is {}", host.system),
                       "choose native or an android preset, or build on a Mac"});
  }
  if (host.free_disk && *host.free_disk < kMinFreeDisk) {
    missing.push_back({fmt::format("{} has {} free; about {} are needed", checkout.folder.string(),
                                   FormatBytes(static_cast<double>(*host.free_disk)),
                                   FormatBytes(static_cast<double>(kMinFreeDisk))),
                       "make room, or take a checkout on another disk"});
  }
  return missing;
}

std::optional<HostPython> FindPython(const fs::path& etprof_tools) {
  std::optional<HostPython> best;
  for (const std::string& program : {std::string("python3"), (etprof_tools / "python3").string()}) {
    if (program != "python3" && (etprof_tools.empty() || !Exists(program))) continue;
    const std::optional<HostPython> python = QueryPythonModules(program);
    if (python && python->missing_modules.empty()) return python;
    if (!best) best = python;
  }
  return best;
}

std::string PythonProblem(const std::optional<HostPython>& python) {
  if (!python) return "python3 was not found";
  if (python->missing_modules.empty()) return "";
  return fmt::format("{} has no {}, which ExecuTorch's configure step imports", python->path,
                     fmt::join(python->missing_modules, " and no "));
}

std::optional<NdkVariable> FindNdk() {
  for (const char* variable : {"ANDROID_NDK", "ANDROID_NDK_HOME", "ANDROID_NDK_ROOT"}) {
    if (const std::string folder = EnvironmentVariable(variable); !folder.empty())
      return NdkVariable{variable, folder};
  }
  return std::nullopt;
}

std::string NdkProblem(const std::optional<NdkVariable>& ndk) {
  if (!ndk) return "ANDROID_NDK is not set, which the android presets need";
  const std::string location = fmt::format("{} ({})", ndk->name, ndk->folder.string());
  if (!Exists(ndk->folder / "build" / "cmake" / "android.toolchain.cmake"))
    return location + " has no build/cmake/android.toolchain.cmake";
  const std::string version = NdkVersion(*ndk);
  if (version.empty()) return location + " does not say its version in source.properties";
  return VersionAtLeast(version, kMinNdk) ? "" : fmt::format("{} is {}, older than r27", location, version);
}

std::string NdkVersion(const NdkVariable& ndk) {
  const fs::path properties = ndk.folder / "source.properties";
  if (!Exists(properties)) return {};
  const std::string text = ReadTextFile(properties);
  const std::size_t key = text.find("Pkg.Revision");
  if (key == std::string::npos) return {};
  return ParseVersion(std::string_view(text).substr(key, text.find('\n', key) - key));
}

}  // namespace etprof
