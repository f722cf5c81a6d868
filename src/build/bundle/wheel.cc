#include "build/bundle/wheel.h"

#include <fmt/format.h>

#include "core/error.h"
#include "core/file/file.h"
#include "core/text/text.h"

namespace etprof {

namespace fs = std::filesystem;

namespace {

// The Python of the checkout's environment. Throws Error (kBadInput) if there is none.
fs::path CheckoutPython(const fs::path& checkout) {
  fs::path python = checkout / ".venv" / "bin" / "python";
  if (!Exists(python))
    throw Error(ExitCode::kBadInput, "no such file").InFile(python.string()).Remedy("run `script/bootstrap`");
  return python;
}

// The value of a Python expression on executorch's metadata (the module `m`), which is printed as one line.
std::string QueryMetadata(const fs::path& checkout, const std::string& expression) {
  const std::string script = fmt::format("import importlib.metadata as m; print({})", expression);
  try {
    return LastLine(RunStep({CheckoutPython(checkout).string(), "-c", script}, "find executorch").out);
  } catch (Error& error) {
    throw error.Remedy("run `script/bootstrap`");
  }
}

fs::path WheelFolder(const fs::path& checkout) { return checkout / "build" / "wheels" / "linux-aarch64"; }

}  // namespace

void FetchWheel(const std::string& python, const std::string& requirement,
                const std::vector<std::string>& pip_options, const fs::path& folder,
                const std::function<bool()>& interrupted, const std::string& remedy) {
  fs::create_directories(folder);
  std::vector<std::string> download = {python,      "-m",
                                       "pip",       "download",
                                       "--quiet",   "--disable-pip-version-check",
                                       "--no-deps", "--only-binary=:all:",
                                       "--dest",    folder.string()};
  download.insert(download.end(), pip_options.begin(), pip_options.end());
  download.push_back(requirement);
  try {
    RunStep(download, "fetch " + requirement, interrupted);
    for (const auto& entry : fs::directory_iterator(folder)) {
      if (entry.path().extension() != ".whl") continue;
      UnpackWheel(python, entry.path(), folder, interrupted);
      fs::remove(entry.path());
      return;
    }
  } catch (Error& error) {
    if (error.exit_code() == ExitCode::kInterrupted) throw;
    throw SetStepRemedy(error, remedy);
  }
  throw Error(ExitCode::kDeviceFailed, "pip fetched no wheel of " + requirement).Remedy("check pip");
}

void UnpackWheel(const std::string& python, const fs::path& wheel, const fs::path& folder,
                 const std::function<bool()>& interrupted) {
  RunStep({python, "-m", "zipfile", "-e", wheel.string(), folder.string()}, "unpack the wheel", interrupted);
}

std::string QueryExecutorchVersion(const fs::path& checkout) {
  return QueryMetadata(checkout, "m.version('executorch')");
}

fs::path FindInstalledWheel(const fs::path& checkout) {
  return QueryMetadata(checkout, "m.distribution('executorch').locate_file('executorch')");
}

std::optional<fs::path> FindFetchedAarch64Wheel(const fs::path& checkout, const std::string& version) {
  const fs::path folder = WheelFolder(checkout);
  fs::path package = folder / "executorch";
  if (!Exists(folder / fmt::format("executorch-{}.dist-info", version)) || !Exists(package / "lib"))
    return std::nullopt;
  return package;
}

fs::path FetchAarch64Wheel(const fs::path& checkout, const std::string& version,
                           const StepProgress& progress) {
  if (const auto fetched = FindFetchedAarch64Wheel(checkout, version)) return *fetched;
  const fs::path folder = WheelFolder(checkout);
  fs::path package = folder / "executorch";
  const std::string requirement = "executorch==" + version;
  progress.report(fmt::format("fetching {} for aarch64 Linux (18 MB)", requirement));
  const fs::path partial = folder.string() + ".partial";
  fs::remove_all(partial);
  FetchWheel(CheckoutPython(checkout).string(), requirement, {"--platform", "manylinux_2_28_aarch64"},
             partial, progress.interrupted,
             fmt::format("check pip and the network, or unpack that wheel into {}", folder.string()));
  fs::remove_all(folder);
  fs::rename(partial, folder);
  if (!Exists(package / "lib")) {
    throw Error(ExitCode::kDeviceFailed, "the executorch wheel for aarch64 Linux holds no executorch/lib")
        .InFile(folder.string())
        .Remedy("remove the folder, and build again");
  }
  return package;
}

}  // namespace etprof
