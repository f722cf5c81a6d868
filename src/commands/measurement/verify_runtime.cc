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
// 1e-5 of the largest of its outputs: sums of products in another order.
constexpr double kMaxRoundingOfProgram = 4e-6;

class SelfTest {
 public:
  SelfTest(const fs::path& folder, std::string release, std::vector<std::string> own,
           std::vector<std::string> tested)
      : release_(std::move(release)),
        libraries_(folder),
        own_(std::move(own)),
        tested_(std::move(tested)),
        files_(folder.parent_path() / fmt::format(".test-{}-{}", release_, ::getpid())) {
    fs::create_directories(files_);
  }
  ~SelfTest() {
    std::error_code ignored;
    fs::remove_all(files_, ignored);
  }
  SelfTest(const SelfTest&) = delete;
  SelfTest& operator=(const SelfTest&) = delete;

  void Run() const {
    WriteFileAtomically(Path("program.pte"), std::string(kProgram, sizeof kProgram));
    RunProgram("own", own_, {});
    RunProgram("untraced", tested_, {});
    RunProgram("traced", tested_, {"--etdump_path", Path("traced.etdump")});
    RequireRightOutputs("untraced");
    RequireRightOutputs("traced");
    RequireTrace();
  }

 private:
  std::string Path(const std::string& file) const { return (files_ / file).string(); }

  Error Failed(const std::string& problem) const {
    return Error(ExitCode::kDeviceFailed,
                 fmt::format("ExecuTorch {} was not tried with this runner, and a small program {}", release_,
                             problem))
        .InFile(libraries_.string())
        .Remedy("for this release, build etprof with its wheel, and give that `runner=`");
  }

  void RunProgram(const std::string& name, std::vector<std::string> words,
                  const std::vector<std::string>& more) const {
    words.insert(words.end(),
                 {"--model_path", Path("program.pte"), "--cpu_threads", "1", "--save-outputs", Path(name)});
    words.insert(words.end(), more.begin(), more.end());
    const ToolResult result = RunTool(words);
    if (result.Success() && Exists(Path(name))) return;
    const std::string said = result.errors.substr(0, result.errors.find('\n'));
    throw Failed(fmt::format("does not run with it ({}): {}", name, result.timed_out ? "it hangs" : said));
  }

  void RequireRightOutputs(const std::string& name) const {
    std::vector<std::string> words = own_;
    words.insert(words.end(), {"--compare-outputs", Path("own"), Path(name)});
    const ToolResult compared = RunTool(words);
    const auto json = nlohmann::json::parse(compared.output, nullptr, /*allow_exceptions=*/false);
    try {
      const auto& output = json.at("outputs").at(0);
      if (json.at("outputs").size() == 1 && output.at("nan_mismatches") == 0 &&
          output.at("max_abs_diff").get<double>() <= kMaxRoundingOfProgram)
        return;
    } catch (const nlohmann::json::exception&) {
      // The outputs differ in kind.
    }
    throw Failed(fmt::format("computes something else with it ({})", name));
  }

  void RequireTrace() const {
    bool kernel = false, delegate = false;
    try {
      const Trace trace = ReadEtdumpFile(Path("traced.etdump"));
      for (const Trace::Layout& layout : trace.layouts) {
        for (std::size_t i = 0; i < layout.size(); ++i) {
          kernel |= trace.IsFramework(layout, i, "native_call_cumsum.out");
          delegate |= layout.source[i] == Trace::Source::kDelegate;
        }
      }
    } catch (const Error& error) {
      throw Failed("leaves no trace that can be read: " + error.Message());
    }
    if (!kernel || !delegate) throw Failed("leaves a trace without its operators");
  }

  std::string release_;
  fs::path libraries_;
  std::vector<std::string> own_, tested_;
  fs::path files_;
};

}  // namespace

void RequireSelfTest(const fs::path& folder, const std::string& release, const std::vector<std::string>& own,
                     const std::vector<std::string>& tested) {
  SelfTest(folder, release, own, tested).Run();
}

}  // namespace etprof
