#include "cli/check_outputs.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>

#include "cli/analyze_files.h"
#include "cli/stdout_terminal.h"
#include "core/error.h"
#include "core/file.h"
#include "render/check.h"
#include "render/document.h"
#include "say/check.h"

namespace etprof {
namespace {

// GitHub's file collects what several commands of a step have to say, and may be one that cannot be replaced.
void Append(const std::string& path, const CheckReport& check) {
  std::ofstream out(path, std::ios::app | std::ios::binary);
  RenderDocumentMarkdown(say::SayCheck(check), 2, out);
  out.close();
  if (!out) {
    throw Error(ExitCode::kDeviceFailed, std::string("cannot be written: ") + std::strerror(errno))
        .InFile(path);
  }
}

}  // namespace

std::string GithubSummaryFile(const std::string& flag) {
  if (flag != "true") return flag;
  const char* file = std::getenv("GITHUB_STEP_SUMMARY");
  if (file == nullptr || *file == '\0') {
    throw Error(ExitCode::kUsage, "--github-summary: GITHUB_STEP_SUMMARY is not set")
        .Remedy("name a file: --github-summary=FILE");
  }
  return file;
}

void WriteCheck(const CheckReport& check, const CheckOutputs& outputs) {
  if (!outputs.junit.empty()) WriteOutput(outputs.junit, [&](std::ostream& out) { RenderJunit(check, out); });
  if (!outputs.github_summary.empty()) Append(outputs.github_summary, check);
  const say::Document document = say::SayCheck(check);
  if (WriteDocumentFiles(document, outputs.files)) return FlushStdout();
  if (outputs.json) {
    RenderCheckJson(check, std::cout);
  } else {
    ShowDocument(document, outputs.table, outputs.more, outputs.all);
  }
  FlushStdout();
}

int ExitCodeOf(const CheckReport& check) {
  if (check.decision == GateDecision::kFail) return static_cast<int>(ExitCode::kCheckFailed);
  if (check.error) return static_cast<int>(ExitCode::kDeviceFailed);
  if (check.decision == GateDecision::kPass) return static_cast<int>(ExitCode::kDone);
  return static_cast<int>(check.require_conclusive ? ExitCode::kCheckFailed : ExitCode::kInconclusive);
}

}  // namespace etprof
