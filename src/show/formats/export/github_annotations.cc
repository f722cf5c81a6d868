#include "show/formats/export/github_annotations.h"

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace etprof {
namespace {

// `property`: the text is a property of the command, where ':' and ',' are special.
std::string Escaped(std::string_view text, bool property) {
  std::string escaped;
  for (const char c : text) {
    const bool special = c == '%' || c == '\r' || c == '\n' || (property && (c == ':' || c == ','));
    escaped += special ? fmt::format("%{:02X}", static_cast<unsigned char>(c)) : std::string(1, c);
  }
  return escaped;
}

// The location property of the file; "" for a file outside of the workspace.
std::string LocationProperty(const show::TestSuite::Line& line, const std::filesystem::path& workspace) {
  const std::filesystem::path file = std::filesystem::path(line.file).lexically_normal();
  const std::filesystem::path relative =
      file.is_absolute() ? file.lexically_relative(workspace.lexically_normal()) : file;
  if (relative.empty() || *relative.begin() == "..") return "";
  return fmt::format(",file={},line={}", Escaped(relative.generic_string(), true), line.line);
}

}  // namespace

void RenderGithubAnnotations(const show::TestSuite& suite, const std::filesystem::path& workspace,
                             std::ostream& out) {
  using Outcome = show::TestSuite::Outcome;
  for (const show::TestSuite::Case& of : suite.cases) {
    if (of.outcome == Outcome::kPassed) continue;
    const std::string command =
        fmt::format("::{} title={}", of.outcome == Outcome::kSkipped ? "warning" : "error",
                    Escaped(fmt::format("etprof {}: {}", suite.command, of.name), true));
    out << command << "::" << Escaped(of.message, false) << "\n";
    for (const show::TestSuite::Line& line : of.lines) {
      const std::string place = LocationProperty(line, workspace);
      if (!place.empty()) out << command << place << "::" << Escaped(line.text, false) << "\n";
    }
  }
}

}  // namespace etprof
