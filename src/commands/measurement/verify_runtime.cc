#include <fmt/format.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "commands/measurement/runtimes.h"
#include "core/error.h"
#include "core/file/file.h"
#include "device/tool.h"
#include "format/etdump/reader.h"

namespace etprof {
namespace {

namespace fs = std::filesystem;

// Two delegates of XNNPACK with portable kernels between them: tests/fuzz/corpus/program/mixed_delegates.pte.
constexpr char kProgram[] = {
#include "self_test_program.inc"
};
// 1e-5 of the program's largest output, since the order of summation may differ.
constexpr double kMaxOutputDifference = 4e-6;

class SelfTest {
 public:
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

  void Run() const {
    WriteFileAtomically(Path("program.pte"), std::string(kProgram, sizeof kProgram));
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

}  // namespace

void RequireSelfTest(const fs::path& folder, const std::string& release,
                     const std::vector<std::string>& own_command,
                     const std::vector<std::string>& tested_command) {
  SelfTest(folder, release, own_command, tested_command).Run();
}

}  // namespace etprof
