#include "commands/measurement/runtimes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "build/bundle/bundle.h"
#include "build/bundle/wheel.h"
#include "build/checkout/host_tools.h"
#include "commands/measurement/device.h"
#include "commands/measurement/locate.h"
#include "core/error.h"
#include "core/file/elf_file.h"
#include "core/file/file.h"
#include "core/file/sha256.h"
#include "core/json/json_members.h"
#include "core/text/text.h"
#include "device/bundle.h"
#include "device/local/local.h"
#include "device/tool.h"
#include "format/etdump/reader.h"
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
  bool has_cpp_libraries;  // true since 1.5
};
// The releases that were tested with this runner. Before 1.3, the layouts of Module and Method differ from
// the runner's headers.
constexpr Release kReleases[] = {
    {"1.3.1", false}, {"1.4.0", false}, {"1.4.1", false}, {"1.5.0", true}, {"1.5.1", true}};

// True for versions since 1.5, which have libraries for C++. SelfTest finds out whether these work.
bool IsLaterRelease(std::string_view version) {
  const auto major = ConsumeNumber<int>(version);
  if (!major || !version.starts_with('.')) return false;
  version.remove_prefix(1);
  const auto minor = ConsumeNumber<int>(version);
  return minor && std::pair(*major, *minor) >= std::pair(1, 5) && std::ranges::all_of(version, [](char c) {
           return c == '.' || IsDigit(c) || (c >= 'a' && c <= 'z');
         });
}

// Returns whether the release has libraries for C++. Throws as RequireUsableRelease.
bool CheckRelease(const std::string& executorch) {
  const std::string version = PublicRelease(executorch);
  const auto release = std::ranges::find(kReleases, version, &Release::version);
  if (release != std::end(kReleases)) return release->has_cpp_libraries;
  if (IsLaterRelease(version)) return true;
  Error error(ExitCode::kUsage, fmt::format("ExecuTorch {} was not tried with this runner", version));
  if (IsWheel(executorch)) error.InFile(executorch);
  throw error.Remedy(fmt::format(
      "the versions are {}, and later ones, or a wheel of one of them (FILE.whl); for another one, "
      "build etprof with its wheel, and give that `runner=`",
      fmt::join(VerifiedReleases(), ", ")));
}

void RequireUndamaged(const fs::path& folder, const std::string& version) {
  const auto make_error = [&](const std::string& problem) {
    return Error(ExitCode::kBadInput, problem)
        .InFile(folder.string())
        .Remedy("remove the folder: the next measurement makes it again");
  };
  RuntimeManifest manifest;
  try {
    manifest = nlohmann::json::parse(ReadTextFile(folder / kRuntimeFile)).get<RuntimeManifest>();
  } catch (const std::exception&) {
    throw make_error(fmt::format("has a {} that etprof did not write", kRuntimeFile));
  }
  if (manifest.version != version) throw make_error("holds ExecuTorch " + manifest.version);
  for (const auto& [name, sha256] : manifest.files) {
    if (!Exists(folder / name)) throw make_error("lacks " + name);
    if (Sha256HexOfFile(folder / name) != sha256) throw make_error(name + " is not as it was fetched");
  }
}

// The architecture of a runner, as in the names of wheels, and the bundle of the runner.
struct RunnerTarget {
  std::string architecture;
  std::optional<RunnerBundle> bundle;  // absent for x86_64
};

RunnerTarget FindRunnerTarget(const fs::path& runner) {
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

// Finds the library of the runner's own ExecuTorch that has cpuinfo and the thread pool.
fs::path FindThreadpoolLibrary(Device& device, const fs::path& runner, const RunnerTarget& target) {
  if (target.bundle) return target.bundle->folder / "libexecutorch_threadpool.so";
  for (const protocol::MappedLibrary& library : QueryRunner(device, runner.string(), "").libraries) {
    const fs::path path = library.path;
    if (path.filename() == "libexecutorch_threadpool.so") return path;
  }
  throw Error(ExitCode::kDeviceFailed, "does not say where its libraries are")
      .InFile(runner.string())
      .Remedy("use the etprof-runner that belongs to this etprof");
}

// Finds the libraries of a wheel. Each has the name that it gets in the runtime's folder.
std::vector<std::pair<std::string, fs::path>> FindLibraries(bool has_cpp_libraries, const fs::path& wheel,
                                                            Device& device, const fs::path& runner,
                                                            const RunnerTarget& target) {
  std::vector<std::pair<std::string, fs::path>> libraries;
  if (has_cpp_libraries) {
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(wheel / "lib", ignored)) {
      if (entry.is_regular_file() && entry.path().filename().string().find(".so") != std::string::npos)
        libraries.emplace_back(entry.path().filename().string(), entry.path());
    }
    const std::string runtime = "libexecutorch.so";
    if (std::ranges::find(libraries, runtime, [](const auto& library) { return library.first; }) ==
        libraries.end())
      libraries.emplace_back(runtime, wheel / "lib" / runtime);
    return libraries;
  }
  libraries.emplace_back("libexecutorch_cpuinfo.so", FindThreadpoolLibrary(device, runner, target));
  const std::string extension = fmt::format("_portable_lib.cpython-311-{}-linux-gnu.so", target.architecture);
  libraries.emplace_back(extension, wheel / "extension" / "pybindings" / extension);
  if (target.architecture == "x86_64") {
    const char* const qnn_library = "libqnn_executorch_backend.so";
    libraries.emplace_back(qnn_library, wheel / "backends" / "qualcomm" / qnn_library);
  }
  return libraries;
}

// Finds the folder with the libraries that are built with the runner and complete a release without C++
// libraries.
fs::path FindReplacementLibraries(const fs::path& runner, const RunnerTarget& target) {
  // A bundle has only the files to push, so these libraries are in the folder in which its runner was built.
  fs::path built = fs::canonical(runner).parent_path();
  if (target.bundle) built = RunnerBuildFolder(CheckoutRoot().value_or(""), BundleTarget::kLinuxAarch64);
  fs::path replacements = built / "portable-runtime";
  if (Exists(replacements)) return replacements;
  throw Error(ExitCode::kBadInput,
              "was not built here with what ExecuTorch before 1.5 needs (portable-runtime)")
      .InFile(runner.string())
      .Remedy(target.bundle ? "run `etprof build --target linux-aarch64` in a checkout of etprof"
                            : "use the etprof-runner that belongs to this etprof, on x86-64 Linux");
}

// Copies the libraries of FindReplacementLibraries(). Replaces the copies of another etprof.
void CopyReplacementLibraries(const fs::path& replacements, const fs::path& folder) {
  for (const auto& entry : fs::directory_iterator(replacements)) {
    const fs::path copy = folder / entry.path().filename();
    if (!Exists(copy) || Sha256HexOfFile(copy) != Sha256HexOfFile(entry.path()))
      WriteFileAtomically(copy, ReadTextFile(entry.path()));
  }
}

// Completes the folder to a bundle: adds the runner, the loader, and the system's libraries from `bundle`.
void CompleteBundle(const RunnerBundle& bundle, const std::string& version, const fs::path& folder) {
  // The names of ExecuTorch's libraries, and of the libraries that replace PyTorch's, begin with these.
  constexpr std::string_view kExecutorchPrefixes[] = {"libexecutorch", "libcustom_ops", "libtorch", "libc10",
                                                      "_C."};
  for (const BundleManifest::File& file : bundle.manifest.files) {
    const bool is_system_file = std::ranges::none_of(
        kExecutorchPrefixes, [&](std::string_view prefix) { return file.name.starts_with(prefix); });
    const fs::path copy = folder / file.name;
    if (!is_system_file || (Exists(copy) && Sha256HexOfFile(copy) == file.sha256)) continue;
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
    throw SetStepRemedy(error.InFile(wheel),
                        "fetch or build the wheel again; unpacked, it takes 80 MB of the cache");
  }
  if (ReleaseName(wheel) != release)
    throw Error(ExitCode::kBadInput, "was changed while it was read").InFile(wheel).Remedy("repeat");
}

// Two delegates of XNNPACK with portable kernels between them: tests/fuzz/corpus/program/mixed_delegates.pte.
constexpr char kSelfTestProgram[] = {
#include "self_test_program.inc"
};
// 1e-5 of the program's largest output, since the order of summation may differ.
constexpr double kMaxOutputDifference = 4e-6;

// Runs a small program with an ExecuTorch release, with and without a tracer.
class SelfTest {
 public:
  // The release's libraries are in `folder`. `own_command` starts the runner with its own ExecuTorch,
  // `tested_command` with these libraries.
  SelfTest(const fs::path& folder, std::string release, std::vector<std::string> own_command,
           std::vector<std::string> tested_command)
      : release_(std::move(release)),
        libraries_(folder),
        own_command_(std::move(own_command)),
        tested_command_(std::move(tested_command)),
        folder_(folder.parent_path() / fmt::format(".test-{}-{}", release_, ::getpid())) {
    fs::create_directories(folder_);
  }
  ~SelfTest() {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }
  SelfTest(const SelfTest&) = delete;
  SelfTest& operator=(const SelfTest&) = delete;

  // Throws Error (kDeviceFailed) if the program does not run, has other outputs than with `own_command`, or
  // is not traced.
  void Run() const {
    WriteFileAtomically(Path("program.pte"), std::string(kSelfTestProgram, sizeof kSelfTestProgram));
    RunProgram("own", own_command_, {});
    RunProgram("untraced", tested_command_, {});
    RunProgram("traced", tested_command_, {"--etdump_path", Path("traced.etdump")});
    RequireEqualOutputs("untraced");
    RequireEqualOutputs("traced");
    RequireTrace();
  }

 private:
  std::string Path(const std::string& file) const { return (folder_ / file).string(); }

  Error MakeError(const std::string& problem) const {
    return Error(ExitCode::kDeviceFailed,
                 fmt::format("ExecuTorch {} was not tried with this runner, and a small program {}", release_,
                             problem))
        .InFile(libraries_.string())
        .Remedy("for this release, build etprof with its wheel, and give that `runner=`");
  }

  void RunProgram(const std::string& name, std::vector<std::string> command,
                  const std::vector<std::string>& extra_arguments) const {
    command.insert(command.end(),
                   {"--model_path", Path("program.pte"), "--cpu_threads", "1", "--save-outputs", Path(name)});
    command.insert(command.end(), extra_arguments.begin(), extra_arguments.end());
    const ToolResult result = RunTool(command);
    if (result.Success() && Exists(Path(name))) return;
    const std::string first_line = result.errors.substr(0, result.errors.find('\n'));
    throw MakeError(
        fmt::format("does not run with it ({}): {}", name, result.timed_out ? "it hangs" : first_line));
  }

  void RequireEqualOutputs(const std::string& name) const {
    std::vector<std::string> command = own_command_;
    command.insert(command.end(), {"--compare-outputs", Path("own"), Path(name)});
    const ToolResult comparison = RunTool(command);
    const auto json = nlohmann::json::parse(comparison.output, nullptr, /*allow_exceptions=*/false);
    try {
      const auto& output = json.at("outputs").at(0);
      if (json.at("outputs").size() == 1 && output.at("nan_mismatches") == 0 &&
          output.at("max_abs_diff").get<double>() <= kMaxOutputDifference)
        return;
    } catch (const nlohmann::json::exception&) {
      // The outputs cannot be compared.
    }
    throw MakeError(fmt::format("computes something else with it ({})", name));
  }

  void RequireTrace() const {
    bool has_kernel = false, has_delegate = false;
    try {
      const Trace trace = ReadEtdumpFile(Path("traced.etdump"));
      for (const Trace::Layout& layout : trace.layouts) {
        for (std::size_t i = 0; i < layout.size(); ++i) {
          has_kernel |= trace.IsFramework(layout, i, "native_call_cumsum.out");
          has_delegate |= layout.source[i] == Trace::Source::kDelegate;
        }
      }
    } catch (const Error& error) {
      throw MakeError("leaves no trace that can be read: " + error.Message());
    }
    if (!has_kernel || !has_delegate) throw MakeError("leaves a trace without its operators");
  }

  std::string release_;
  fs::path libraries_;
  std::vector<std::string> own_command_, tested_command_;
  fs::path folder_;
};

// Tests the libraries of a folder, which is a bundle if the target has one. Throws as SelfTest::Run.
void TestRelease(const fs::path& folder, const std::string& release, const fs::path& runner,
                 const RunnerTarget& target) {
  if (!target.bundle) {
    return SelfTest(folder, release, {runner.string()},
                    {"env", "LD_LIBRARY_PATH=" + folder.string(), runner.string()})
        .Run();
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
    std::vector<std::string> arguments = {emulator->path};
    const auto start_command = FindBundle(bundle / runner.filename())->StartCommand(bundle.string());
    arguments.insert(arguments.end(), start_command.begin(), start_command.end());
    return arguments;
  };
  SelfTest(folder, release, command(target.bundle->folder), command(folder)).Run();
}

// A folder that is filled before it is renamed. The destructor removes it. The constructor removes the
// folders that killed processes left more than a day ago.
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

void RequireUsableRelease(const std::string& executorch) { CheckRelease(executorch); }

void RequireRunnerForReleases(Device& device, const fs::path& runner) {
  if (FindRunnerTarget(runner).bundle) return;
  try {
    QueryRunner(device, runner.string(), "");
  } catch (const Error& error) {
    if (error.exit_code() == ExitCode::kInterrupted) throw;
    throw Error(ExitCode::kBadInput,
                "does not answer as an etprof-runner of this version, and only that takes "
                "the libraries of `executorch=`")
        .InFile(runner.string())
        .Remedy("leave out the runner: the etprof-runner next to etprof takes the release's libraries");
  }
}

fs::path PrepareExecutorchRuntime(const std::string& executorch, Device& device, const fs::path& runner,
                                  const StepProgress& progress) {
  const bool has_cpp_libraries = CheckRelease(executorch);
  const fs::path cache = LocalDeviceFolder();
  if (cache.empty()) {
    throw Error(ExitCode::kBadInput, "there is no folder for ExecuTorch's libraries: HOME is not set")
        .Remedy("set HOME or XDG_CACHE_HOME");
  }
  const RunnerTarget target = FindRunnerTarget(runner);
  const bool is_wheel = IsWheel(executorch);
  const std::string release = ReleaseName(executorch);
  const std::string wheel_hint =
      fmt::format("give ExecuTorch's wheel for CPython 3.11 on Linux ({})", target.architecture);
  if (is_wheel) {
    const std::string platform = ParseWheelName(executorch).platform;
    if (platform.find("linux") == std::string::npos || !platform.ends_with("_" + target.architecture))
      throw Error(ExitCode::kBadInput, "is for " + platform).InFile(executorch).Remedy(wheel_hint);
  }
  const fs::path replacements = has_cpp_libraries ? fs::path() : FindReplacementLibraries(runner, target);
  const fs::path releases_folder = cache / "executorch";
  fs::path folder = releases_folder / fmt::format("{}-linux-{}", release, target.architecture);
  const auto complete_folder = [&] {
    if (!replacements.empty()) CopyReplacementLibraries(replacements, folder);
    if (target.bundle) CompleteBundle(*target.bundle, release, folder);
    if (!IsVerifiedRelease(executorch)) TestRelease(folder, release, runner, target);
    return folder;
  };
  const PartialFolder partial{releases_folder / fmt::format(".{}-{}", release, ::getpid())};
  const fs::path wheel = partial.path / "wheel", libraries = partial.path / "libraries";
  try {
    if (Exists(folder)) {
      RequireUndamaged(folder, release);
      return complete_folder();
    }
    fs::remove_all(partial.path);
    fs::create_directories(libraries);
    const std::string source = is_wheel ? executorch : "executorch==" + release;
    if (is_wheel) {
      progress.report("unpacking " + source);
      UnpackGivenWheel(source, release, wheel, progress.interrupted);
    } else {
      progress.report(fmt::format("fetching {} (18 MB)", source));
      // Always fetch the wheel for CPython 3.11: no Python loads its extension, so the version does not
      // matter.
      FetchWheel(PythonProgram(CheckoutRoot()), source,
                 {"--platform", "manylinux_2_28_" + target.architecture, "--python-version", "3.11",
                  "--implementation", "cp", "--abi", "cp311"},
                 wheel, progress.interrupted);
    }
    RuntimeManifest manifest{release, {}};
    for (const auto& [name, from] :
         FindLibraries(has_cpp_libraries, wheel / "executorch", device, runner, target)) {
      if (!Exists(from)) {
        if (is_wheel) throw Error(ExitCode::kBadInput, "lacks " + name).InFile(executorch).Remedy(wheel_hint);
        throw Error(ExitCode::kDeviceFailed, fmt::format("the wheel of {} lacks {}", source, name))
            .Remedy("check where pip fetches it from: it is not the release's wheel for Linux");
      }
      fs::copy_file(from, libraries / name);
      manifest.files.push_back({name, Sha256HexOfFile(from)});
    }
    std::ranges::sort(manifest.files, {}, &RuntimeManifest::File::name);
    WriteFileAtomically(libraries / kRuntimeFile, nlohmann::json(manifest).dump(1) + "\n");
    std::error_code rename_error;
    fs::rename(libraries, folder, rename_error);
    if (rename_error) RequireUndamaged(folder, release);  // another etprof has made the folder meanwhile
    return complete_folder();
  } catch (const fs::filesystem_error& error) {
    throw Error(ExitCode::kDeviceFailed, fmt::format("cannot be made: {}", error.code().message()))
        .InFile(folder.string())
        .Remedy("free some space, or set XDG_CACHE_HOME");
  }
}

}  // namespace etprof
