#include "show/formats/export/github_annotations.h"

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace etprof {
namespace {

// Escapes the text. If it is a property of the command, ':' and ',' are special, too.
std::string Escape(std::string_view text, bool property) {
  std::string result;
  for (const char c : text) {
    const bool special = c == '%' || c == '\r' || c == '\n' || (property && (c == ':' || c == ','));
    result += special ? fmt::format("%{:02X}", static_cast<unsigned char>(c)) : std::string(1, c);
  }
  return result;
}

// The location property of the file; "" for a file outside of the workspace.
std::string LocationProperty(const show::TestSuite::Line& line, const std::filesystem::path& workspace) {
  const std::filesystem::path file = std::filesystem::path(line.file).lexically_normal();
  const std::filesystem::path relative =
      file.is_absolute() ? file.lexically_relative(workspace.lexically_normal()) : file;
  if (relative.empty() || *relative.begin() == "..") return "";
  return fmt::format(",file={},line={}", Escape(relative.generic_string(), true), line.line);
}

}  // namespace

void RenderGithubAnnotations(const show::TestSuite& suite, const std::filesystem::path& workspace,
                             std::ostream& out) {
  using Outcome = show::TestSuite::Outcome;
  for (const show::TestSuite::Case& test_case : suite.cases) {
    if (test_case.outcome == Outcome::kPassed) continue;
    const std::string command =
        fmt::format("::{} title={}", test_case.outcome == Outcome::kSkipped ? "warning" : "error",
                    Escape(fmt::format("etprof {}: {}", suite.command, test_case.name), true));
    out << command << "::" << Escape(test_case.message, false) << "\n";
    for (const show::TestSuite::Line& line : test_case.lines) {
      const std::string location = LocationProperty(line, workspace);
      if (!location.empty()) out << command << location << "::" << Escape(line.text, false) << "\n";
    }
  }
}

}  // namespace etprof
