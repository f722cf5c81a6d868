#include "commands/measurement/runtimes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <nlohmann/json.hpp>

#include "build/bundle/bundle.h"
#include "build/bundle/manifest.h"
#include "build/bundle/wheel.h"
#include "build/checkout/host_tools.h"
#include "commands/measurement/device.h"
#include "commands/measurement/locate.h"
#include "core/error.h"
#include "core/file/elf_file.h"
#include "core/file/file.h"
#include "core/file/sha256.h"
#include "core/json/json_members.h"
#include "device/bundle.h"
#include "device/local/local.h"
#include "measure/config/release.h"

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

struct Release {
  std::string_view version;
  bool has_libraries;  // for C++, which wheels have since 1.5
};
// The releases that were tried with this runner. Before 1.3, Module and Method have another layout than in
// the runner's headers.
constexpr Release kReleases[] = {
    {"1.3.1", false}, {"1.4.0", false}, {"1.4.1", false}, {"1.5.0", true}, {"1.5.1", true}};

// Later releases have libraries for C++, which may work. Whether they do is for RequireSelfTest.
bool MayBeLater(std::string_view version) {
  int major = 0, minor = 0;
  const char* const end = version.data() + version.size();
  const auto [dot, no_major] = std::from_chars(version.data(), end, major);
  if (no_major != std::errc() || dot == end || *dot != '.') return false;
  const auto [rest, no_minor] = std::from_chars(dot + 1, end, minor);
  if (no_minor != std::errc() || std::pair(major, minor) < std::pair(1, 5)) return false;
  return std::all_of(rest, end,
                     [](char c) { return c == '.' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z'); });
}

// Whether the release has libraries for C++.
bool RequireRelease(const std::string& executorch) {
  const std::string version = PublicRelease(executorch);
  const auto release = std::ranges::find(kReleases, version, &Release::version);
  if (release != std::end(kReleases)) return release->has_libraries;
  if (MayBeLater(version)) return true;
  Error error(ExitCode::kUsage, fmt::format("ExecuTorch {} was not tried with this runner", version));
  if (IsWheel(executorch)) error.InFile(executorch);
  throw error.Remedy(fmt::format(
      "the versions are {}, and later ones, or a wheel of one of them (FILE.whl); for another one, "
      "build etprof with its wheel, and give that `runner=`",
      fmt::join(VerifiedReleases(), ", ")));
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

// The architecture that a runner is for, as in the names of wheels, and its bundle.
struct RunnerTarget {
  std::string architecture;
  std::optional<RunnerBundle> bundle;  // runners for aarch64 are in one
};

RunnerTarget TargetOf(const fs::path& runner) {
  const auto program = ElfFile::Open(runner);
  const std::uint64_t machine = program ? program->machine() : 0;
  if (machine == ElfFile::kX86_64) return {"x86_64", std::nullopt};
  if (const auto bundle = FindBundle(runner); bundle && machine == ElfFile::kAarch64)
    return {"aarch64", bundle};
  throw Error(ExitCode::kUsage,
              "`executorch=` needs an etprof-runner for x86-64 Linux, or of a bundle for aarch64 Linux")
      .InFile(runner.string())
      .Remedy("for other devices, build runners with those wheels, and compare `runner=` (etprof build)");
}

// The library of the runner's own ExecuTorch that has cpuinfo and the thread pool.
fs::path ThreadpoolOf(Device& device, const fs::path& runner, const RunnerTarget& target) {
  if (target.bundle) return target.bundle->folder / "libexecutorch_threadpool.so";
  for (const protocol::MappedLibrary& library : AskRunner(device, runner.string(), "").libraries) {
    const fs::path path = library.path;
    if (path.filename() == "libexecutorch_threadpool.so") return path;
  }
  throw Error(ExitCode::kDeviceFailed, "does not say where its libraries are")
      .InFile(runner.string())
      .Remedy("use the etprof-runner that belongs to this etprof");
}

// The libraries of a wheel by the names under which they lie in the runtime's folder.
std::vector<std::pair<std::string, fs::path>> LibrariesOf(bool for_cpp, const fs::path& wheel, Device& device,
                                                          const fs::path& runner,
                                                          const RunnerTarget& target) {
  std::vector<std::pair<std::string, fs::path>> libraries;
  if (for_cpp) {
    std::error_code none;
    for (const auto& entry : fs::directory_iterator(wheel / "lib", none)) {
      if (entry.is_regular_file() && entry.path().filename().string().find(".so") != std::string::npos)
        libraries.emplace_back(entry.path().filename().string(), entry.path());
    }
    const std::string runtime = "libexecutorch.so";
    if (std::ranges::find(libraries, runtime, [](const auto& each) { return each.first; }) == libraries.end())
      libraries.emplace_back(runtime, wheel / "lib" / runtime);
    return libraries;
  }
  libraries.emplace_back("libexecutorch_cpuinfo.so", ThreadpoolOf(device, runner, target));
  const std::string extension = fmt::format("_portable_lib.cpython-311-{}-linux-gnu.so", target.architecture);
  libraries.emplace_back(extension, wheel / "extension" / "pybindings" / extension);
  if (target.architecture == "x86_64") {
    const char* const qnn = "libqnn_executorch_backend.so";
    libraries.emplace_back(qnn, wheel / "backends" / "qualcomm" / qnn);
  }
  return libraries;
}

// The folder with the libraries that are built with the runner and complete a release without C++ libraries.
fs::path StandInsOf(const fs::path& runner, const RunnerTarget& target) {
  // A bundle has no other files than those to push.
  fs::path built = fs::canonical(runner).parent_path();
  if (target.bundle) built = RunnerBuildFolder(CheckoutRoot().value_or(""), BundleTarget::kLinuxAarch64);
  fs::path stand_ins = built / "portable-runtime";
  if (Exists(stand_ins)) return stand_ins;
  throw Error(ExitCode::kBadInput,
              "was not built here with what ExecuTorch before 1.5 needs (portable-runtime)")
      .InFile(runner.string())
      .Remedy(target.bundle ? "run `etprof build --target linux-aarch64` in a checkout of etprof"
                            : "use the etprof-runner that belongs to this etprof, on x86-64 Linux");
}

// Those of another etprof are replaced.
void CopyStandIns(const fs::path& stand_ins, const fs::path& folder) {
  for (const auto& entry : fs::directory_iterator(stand_ins)) {
    const fs::path copy = folder / entry.path().filename();
    if (!Exists(copy) || Sha256HexOfFile(copy) != Sha256HexOfFile(entry.path()))
      WriteFileAtomically(copy, ReadTextFile(entry.path()));
  }
}

// Makes a bundle of the folder, with the runner, the loader, and the system's libraries of `bundle`.
void CompleteBundle(const RunnerBundle& bundle, const std::string& version, const fs::path& folder) {
  // ExecuTorch's libraries, and those that stand in for PyTorch's beside them.
  constexpr std::string_view kOfExecutorch[] = {"libexecutorch", "libcustom_ops", "libtorch", "libc10",
                                                "_C."};
  for (const BundleManifest::File& file : bundle.manifest.files) {
    const bool system = std::ranges::none_of(
        kOfExecutorch, [&](std::string_view name) { return file.name.starts_with(name); });
    const fs::path copy = folder / file.name;
    if (!system || (Exists(copy) && Sha256HexOfFile(copy) == file.sha256)) continue;
    WriteFileAtomically(copy, ReadTextFile(bundle.folder / file.name));
    fs::permissions(copy, fs::perms::owner_exec | fs::perms::group_exec | fs::perms::others_exec,
                    fs::perm_options::add);
  }
  BundleManifest manifest = bundle.manifest;
  manifest.executorch = version;
  manifest.files = ListFiles(folder);
  if (!IsUpToDate(folder, manifest)) WriteFileAtomically(folder / kBundleManifest, ToJsonText(manifest));
}

// Unpacks the wheel that the user gave into `folder`.
void UnpackGivenWheel(const std::string& wheel, const std::string& release, const fs::path& folder,
                      const std::function<bool()>& interrupted) {
  fs::create_directories(folder);
  try {
    UnpackWheel(PythonProgram(CheckoutRoot()), wheel, folder, interrupted);
  } catch (Error& error) {
    if (error.exit_code() == ExitCode::kInterrupted) throw;
    throw error.InFile(wheel).Remedy("fetch or build the wheel again; unpacked, it takes 80 MB of the cache");
  }
  if (ReleaseName(wheel) != release)
    throw Error(ExitCode::kBadInput, "was changed while it was read").InFile(wheel).Remedy("repeat");
}

// Tests the libraries of a folder, which is a bundle if the target has one.
void TestRelease(const fs::path& folder, const std::string& release, const fs::path& runner,
                 const RunnerTarget& target) {
  if (!target.bundle) {
    return RequireSelfTest(folder, release, {runner.string()},
                           {"env", "LD_LIBRARY_PATH=" + folder.string(), runner.string()});
  }
  const fs::path tools = CheckoutRoot().value_or("") / "build" / "tools";
  const std::optional<HostTool> emulator = FindTool("qemu-aarch64", "", tools);
  if (!emulator) {
    throw Error(
        ExitCode::kUsage,
        fmt::format("ExecuTorch {} was not tried with this runner, and its self-test for aarch64 needs "
                    "qemu-aarch64",
                    release))
        .Remedy("run script/fetch-qemu");
  }
  const auto command = [&](const fs::path& bundle) {
    std::vector<std::string> words = {emulator->path};
    const auto start = FindBundle(bundle / runner.filename())->StartCommand(bundle.string());
    words.insert(words.end(), start.begin(), start.end());
    return words;
  };
  RequireSelfTest(folder, release, command(target.bundle->folder), command(folder));
}

// A folder that is not complete yet. It is removed, and so are those that killed processes left a day ago.
struct PartialFolder {
  fs::path path;
  explicit PartialFolder(fs::path partial) : path(std::move(partial)) {
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(path.parent_path(), ignored)) {
      if (entry.path().filename().string().starts_with('.') &&
          entry.last_write_time(ignored) < fs::file_time_type::clock::now() - std::chrono::days(1))
        fs::remove_all(entry.path(), ignored);
    }
  }
  PartialFolder(const PartialFolder&) = delete;
  PartialFolder& operator=(const PartialFolder&) = delete;
  ~PartialFolder() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
};

}  // namespace

std::vector<std::string> VerifiedReleases() {
  std::vector<std::string> versions;
  for (const Release& release : kReleases) versions.emplace_back(release.version);
  return versions;
}

bool IsVerifiedRelease(const std::string& executorch) {
  return std::ranges::find(kReleases, executorch, &Release::version) != std::end(kReleases);
}

void RequireUsableRelease(const std::string& executorch) { RequireRelease(executorch); }

fs::path ExecutorchRuntime(const std::string& executorch, Device& device, const fs::path& runner,
                           const StepProgress& progress) {
  const bool for_cpp = RequireRelease(executorch);
  const fs::path cache = LocalDeviceFolder();
  if (cache.empty()) {
    throw Error(ExitCode::kBadInput, "there is no folder for ExecuTorch's libraries: HOME is not set")
        .Remedy("set HOME or XDG_CACHE_HOME");
  }
  const RunnerTarget target = TargetOf(runner);
  const bool given = IsWheel(executorch);
  const std::string release = ReleaseName(executorch);
  const std::string wheel_needed =
      fmt::format("give ExecuTorch's wheel for CPython 3.11 on Linux ({})", target.architecture);
  if (given) {
    const std::string platform = ParseWheelName(executorch).platform;
    if (platform.find("linux") == std::string::npos || !platform.ends_with("_" + target.architecture))
      throw Error(ExitCode::kBadInput, "is for " + platform).InFile(executorch).Remedy(wheel_needed);
  }
  const fs::path stand_ins = for_cpp ? fs::path() : StandInsOf(runner, target);
  const fs::path all = cache / "executorch";
  fs::path folder = all / fmt::format("{}-linux-{}", release, target.architecture);
  const auto complete = [&] {
    if (!stand_ins.empty()) CopyStandIns(stand_ins, folder);
    if (target.bundle) CompleteBundle(*target.bundle, release, folder);
    if (!IsVerifiedRelease(executorch)) TestRelease(folder, release, runner, target);
    return folder;
  };
  const PartialFolder partial{all / fmt::format(".{}-{}", release, ::getpid())};
  const fs::path wheel = partial.path / "wheel", libraries = partial.path / "libraries";
  try {
    if (Exists(folder)) {
      RequireUndamaged(folder, release);
      return complete();
    }
    fs::remove_all(partial.path);
    fs::create_directories(libraries);
    const std::string source = given ? executorch : "executorch==" + release;
    if (given) {
      progress.report("unpacking " + source);
      UnpackGivenWheel(source, release, wheel, progress.interrupted);
    } else {
      progress.report(fmt::format("fetching {} (18 MB)", source));
      // The wheel is for CPython 3.11, whatever Python there is here: it is never started.
      FetchWheel(PythonProgram(CheckoutRoot()), source,
                 {"--platform", "manylinux_2_28_" + target.architecture, "--python-version", "3.11",
                  "--implementation", "cp", "--abi", "cp311"},
                 wheel, progress.interrupted);
    }
    RuntimeManifest manifest{release, {}};
    for (const auto& [name, from] : LibrariesOf(for_cpp, wheel / "executorch", device, runner, target)) {
      if (!Exists(from)) {
        if (given) throw Error(ExitCode::kBadInput, "lacks " + name).InFile(executorch).Remedy(wheel_needed);
        throw Error(ExitCode::kDeviceFailed, fmt::format("the wheel of {} lacks {}", source, name))
            .Remedy("check where pip fetches it from: it is not the release's wheel for Linux");
      }
      fs::copy_file(from, libraries / name);
      manifest.files.push_back({name, Sha256HexOfFile(from)});
    }
    std::ranges::sort(manifest.files, {}, &RuntimeManifest::File::name);
    WriteFileAtomically(libraries / kRuntimeFile, nlohmann::json(manifest).dump(1) + "\n");
    std::error_code taken;
    fs::rename(libraries, folder, taken);
    if (taken) RequireUndamaged(folder, release);  // another etprof was quicker
    return complete();
  } catch (const fs::filesystem_error& error) {
    throw Error(ExitCode::kDeviceFailed, fmt::format("cannot be made: {}", error.code().message()))
        .InFile(folder.string())
        .Remedy("free some space, or set XDG_CACHE_HOME");
  }
}

}  // namespace etprof
