#include "show/formats/export/test_suite.h"

#include <fmt/format.h>

#include <algorithm>
#include <pugixml.hpp>
#include <string>
#include <string_view>

#include "core/text/escape.h"

namespace etprof {
namespace {

using Outcome = show::TestSuite::Outcome;

void AddAttribute(pugi::xml_node node, const char* name, const std::string& value) {
  node.append_attribute(name) = EscapeToOneLine(value).c_str();
}
void SetText(pugi::xml_node node, const std::string& text) { node.text() = EscapeLines(text).c_str(); }

std::string FormatSeconds(double seconds) { return fmt::format("{:.3f}", std::max(0.0, seconds)); }

void AddCounts(pugi::xml_node node, const show::TestSuite& suite) {
  const auto count = [&](Outcome outcome) {
    return std::to_string(std::ranges::count(suite.cases, outcome, &show::TestSuite::Case::outcome));
  };
  AddAttribute(node, "tests", std::to_string(suite.cases.size()));
  AddAttribute(node, "failures", count(Outcome::kFailure));
  AddAttribute(node, "errors", count(Outcome::kError));
  AddAttribute(node, "skipped", count(Outcome::kSkipped));
  AddAttribute(node, "time", FormatSeconds(suite.seconds));
}

void AddCase(pugi::xml_node parent, const show::TestSuite::Case& test_case, const show::TestSuite& suite) {
  pugi::xml_node node = parent.append_child("testcase");
  AddAttribute(node, "name", test_case.name);
  AddAttribute(node, "classname",
               "etprof." + suite.command + (suite.subject.empty() ? "" : "." + suite.subject));
  AddAttribute(node, "time", FormatSeconds(suite.seconds / static_cast<double>(suite.cases.size())));
  if (test_case.outcome == Outcome::kPassed)
    return SetText(node.append_child("system-out"), test_case.details);
  pugi::xml_node child = node.append_child(test_case.outcome == Outcome::kFailure ? "failure"
                                           : test_case.outcome == Outcome::kError ? "error"
                                                                                  : "skipped");
  if (test_case.outcome != Outcome::kSkipped) AddAttribute(child, "type", test_case.type);
  AddAttribute(child, "message", test_case.message);
  SetText(child, test_case.details);
}

// Escapes a text for a workflow command of GitHub. In a property, ':' and ',' are special, too.
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

void RenderJunit(const show::TestSuite& suite, std::ostream& out) {
  pugi::xml_document document;
  pugi::xml_node declaration = document.append_child(pugi::node_declaration);
  declaration.append_attribute("version") = "1.0";
  declaration.append_attribute("encoding") = "UTF-8";
  pugi::xml_node suites = document.append_child("testsuites");
  const std::string command = "etprof " + suite.command;
  AddAttribute(suites, "name", command);
  AddCounts(suites, suite);
  pugi::xml_node node = suites.append_child("testsuite");
  AddAttribute(node, "name", suite.subject.empty() ? command : command + " " + suite.subject);
  AddCounts(node, suite);
  std::string timestamp = suite.timestamp;
  if (timestamp.ends_with("Z")) timestamp.pop_back();  // the schema's time has no zone
  if (!timestamp.empty()) AddAttribute(node, "timestamp", timestamp);
  pugi::xml_node properties = node.append_child("properties");
  for (const auto& [name, value] : suite.properties) {
    if (value.empty()) continue;
    pugi::xml_node property = properties.append_child("property");
    AddAttribute(property, "name", name);
    AddAttribute(property, "value", value);
  }
  for (const show::TestSuite::Case& test_case : suite.cases) AddCase(node, test_case, suite);
  std::string notes;
  for (const std::string& note : suite.notes) notes += note + "\n";
  if (!notes.empty()) SetText(node.append_child("system-out"), notes);
  document.save(out, "  ", pugi::format_indent, pugi::encoding_utf8);
}

void RenderGithubAnnotations(const show::TestSuite& suite, const std::filesystem::path& workspace,
                             std::ostream& out) {
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
