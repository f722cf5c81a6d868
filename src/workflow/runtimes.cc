#include "workflow/runtimes.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <vector>

#include "bundle/steps.h"
#include "core/error.h"
#include "core/file/file.h"
#include "core/file/sha256.h"
#include "core/json/json_members.h"
#include "protocol/messages.h"
#include "workflow/measure/locate.h"

namespace etprof {
namespace {

namespace fs = std::filesystem;

constexpr const char* kRuntimeFile = "runtime.json";

struct RuntimeManifest {
  struct File {
    std::string name, sha256;

    static constexpr bool kRequiresAllKeys = true;
    static void Describe(auto& v) {
      v("name", &File::name);
      v("sha256", &File::sha256, {.pattern = kSha256Pattern});
    }
  };
  std::string version;
  std::vector<File> files;

  static constexpr bool kRequiresAllKeys = true;
  static void Describe(auto& v) {
    v("version", &RuntimeManifest::version);
    v("files", &RuntimeManifest::files);
  }
};

// Releases that were tried with this runner. Before 1.4, Module has another layout than the runner's headers.
bool IsPortable(const std::string& version) { return version == "1.4.0" || version == "1.4.1"; }
bool HasLibraries(const std::string& version) { return version == "1.5.0" || version == "1.5.1"; }

fs::path CacheFolder() {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value == nullptr ? "" : value);
  };
  if (const std::string cache = variable("XDG_CACHE_HOME"); !cache.empty()) return fs::path(cache) / "etprof";
  const std::string home = variable("HOME");
  if (!home.empty()) return fs::path(home) / ".cache" / "etprof";
  throw Error(ExitCode::kBadInput, "there is no folder for ExecuTorch's libraries: HOME is not set")
      .Remedy("set HOME or XDG_CACHE_HOME");
}

void RequireUndamaged(const fs::path& folder, const std::string& version) {
  const auto broken = [&](const std::string& problem) {
    return Error(ExitCode::kBadInput, problem)
        .InFile(folder.string())
        .Remedy("remove the folder: the next measurement makes it again");
  };
  RuntimeManifest manifest;
  try {
    manifest = nlohmann::json::parse(ReadTextFile(folder / kRuntimeFile)).get<RuntimeManifest>();
  } catch (const std::exception&) {
    throw broken(fmt::format("has a {} that etprof did not write", kRuntimeFile));
  }
  if (manifest.version != version) throw broken("holds ExecuTorch " + manifest.version);
  for (const auto& [name, sha256] : manifest.files) {
    if (!Exists(folder / name)) throw broken("lacks " + name);
    if (Sha256HexOfFile(folder / name) != sha256) throw broken(name + " is not as it was fetched");
  }
}

// The library of the runner's own ExecuTorch that has cpuinfo and the thread pool.
fs::path ThreadpoolOf(const fs::path& runner) {
  const std::string text = RunStep({runner.string(), "--isa-info"}, "name its libraries").out;
  const nlohmann::json info = nlohmann::json::parse(text, nullptr, false);
  for (const nlohmann::json& library :
       info.is_object() ? info.value("libraries", nlohmann::json::array()) : nlohmann::json::array()) {
    const fs::path path = library.get<protocol::MappedLibrary>().path;
    if (path.filename() == "libexecutorch_threadpool.so") return path;
  }
  throw Error(ExitCode::kDeviceFailed, "does not say where its libraries are")
      .InFile(runner.string())
      .Remedy("use the etprof-runner that belongs to this etprof");
}

// The unpacked wheel of that version for CPython 3.11, whatever Python there is here: it is never started.
fs::path UnpackWheel(const std::string& version, const fs::path& folder,
                     const std::function<void(const std::string&)>& progress) {
  const std::string python = PythonProgram(CheckoutRoot()), requirement = "executorch==" + version;
  progress(fmt::format("fetching {} (18 MB)", requirement));
  try {
    RunStep({python, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps",
             "--only-binary=:all:", "--platform", "manylinux_2_28_x86_64", "--python-version", "3.11",
             "--implementation", "cp", "--abi", "cp311", "--dest", folder.string(), requirement},
            "fetch " + requirement);
  } catch (Error& error) {
    throw error.Remedy("check pip and the network");
  }
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() != ".whl") continue;
    const fs::path wheel = folder / "wheel";
    RunStep({python, "-m", "zipfile", "-e", entry.path().string(), wheel.string()}, "unpack the wheel");
    return wheel / "executorch";
  }
  throw Error(ExitCode::kDeviceFailed, "pip fetched no wheel of " + requirement).Remedy("check pip");
}

// The libraries of the runtime by the names under which they lie in its folder.
std::vector<std::pair<std::string, fs::path>> LibrariesOf(const std::string& version, const fs::path& wheel,
                                                          const fs::path& runner) {
  std::vector<std::pair<std::string, fs::path>> libraries;
  const auto add_all_of = [&](const fs::path& folder) {
    for (const auto& entry : fs::directory_iterator(folder)) {
      if (entry.is_regular_file() && entry.path().filename().string().find(".so") != std::string::npos)
        libraries.emplace_back(entry.path().filename().string(), entry.path());
    }
  };
  if (HasLibraries(version)) {
    add_all_of(wheel / "lib");
    return libraries;
  }
  const fs::path stand_ins = fs::canonical(runner).parent_path() / "portable-runtime";
  if (!Exists(stand_ins)) {
    throw Error(ExitCode::kBadInput, "has no portable-runtime beside it, which ExecuTorch before 1.5 needs")
        .InFile(runner.string())
        .Remedy("use the etprof-runner that belongs to this etprof, on x86-64 Linux");
  }
  add_all_of(stand_ins);
  libraries.emplace_back("libexecutorch_cpuinfo.so", ThreadpoolOf(runner));
  for (const char* const file : {"extension/pybindings/_portable_lib.cpython-311-x86_64-linux-gnu.so",
                                 "backends/qualcomm/libqnn_executorch_backend.so"})
    libraries.emplace_back(fs::path(file).filename().string(), wheel / file);
  return libraries;
}

}  // namespace

fs::path ExecutorchRuntime(const std::string& version, const fs::path& runner,
                           const std::function<void(const std::string&)>& progress) {
  if (!IsPortable(version) && !HasLibraries(version)) {
    throw Error(ExitCode::kUsage, fmt::format("ExecuTorch {} was not tried with this runner", version))
        .Remedy(
            "the versions are 1.4.0, 1.4.1, 1.5.0, and 1.5.1; for another one, build etprof with its wheel, "
            "and give that `runner=`");
  }
  const fs::path all = CacheFolder() / "executorch";
  fs::path folder = all / (version + "-linux-x86_64");
  if (Exists(folder)) {
    RequireUndamaged(folder, version);
    return folder;
  }
  const fs::path partial = all / fmt::format(".{}-{}", version, ::getpid());
  try {
    fs::remove_all(partial);
    fs::create_directories(partial / "libraries");
    RuntimeManifest manifest{version, {}};
    for (const auto& [name, from] : LibrariesOf(version, UnpackWheel(version, partial, progress), runner)) {
      fs::copy_file(from, partial / "libraries" / name);
      manifest.files.push_back({name, Sha256HexOfFile(from)});
    }
    std::ranges::sort(manifest.files, {}, &RuntimeManifest::File::name);
    WriteFileAtomically(partial / "libraries" / kRuntimeFile, nlohmann::json(manifest).dump(1) + "\n");
    std::error_code taken;  // another etprof may have been quicker
    fs::rename(partial / "libraries", folder, taken);
    fs::remove_all(partial);
  } catch (const fs::filesystem_error& error) {
    std::error_code ignored;
    fs::remove_all(partial, ignored);
    throw Error(ExitCode::kDeviceFailed, fmt::format("cannot be made: {}", error.code().message()))
        .InFile(folder.string())
        .Remedy("free some space, or set XDG_CACHE_HOME");
  } catch (...) {
    std::error_code ignored;
    fs::remove_all(partial, ignored);
    throw;
  }
  RequireUndamaged(folder, version);
  return folder;
}

}  // namespace etprof
