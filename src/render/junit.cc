#include <fmt/format.h>

#include <algorithm>
#include <pugixml.hpp>

#include "core/escape.h"
#include "render/check.h"
#include "say/check.h"

namespace etprof {
namespace {

enum class Outcome { kPassed, kFailure, kError, kSkipped };

Outcome OutcomeOf(const CheckPair& pair, const CheckReport& check) {
  if (!pair.error.empty()) return Outcome::kError;
  if (pair.decision == GateDecision::kPass) return Outcome::kPassed;
  if (pair.decision == GateDecision::kFail || check.require_conclusive) return Outcome::kFailure;
  return Outcome::kSkipped;
}

// What decided, in one line: the checks that failed, else those that are open.
std::string MessageOf(const CheckPair& pair) {
  if (!pair.error.empty()) return pair.error;
  std::string message;
  for (const CheckItem& item : pair.items) {
    if (item.verdict.decision != pair.decision) continue;
    message += (message.empty() ? "" : "; ") + say::ItemLine(item);
  }
  return message.empty() ? "nothing was measured that could be checked" : message;
}

std::string DetailsOf(const CheckPair& pair) {
  std::string text;
  for (const CheckItem& item : pair.items) {
    if (say::IsListed(item)) text += say::ItemLine(item) + "\n";
  }
  if (const std::string passing = say::PassingOperators(pair); !passing.empty()) text += passing + "\n";
  const std::vector<std::string> moved = say::MovedLines(pair);
  if (!moved.empty()) text += "operators that moved:\n";
  for (const std::string& line : moved) text += "  " + line + "\n";
  return text + say::PairingText(pair) + "\n";
}

void Set(pugi::xml_node node, const char* name, const std::string& value) {
  node.append_attribute(name) = OneLine(value).c_str();
}
void SetText(pugi::xml_node node, const std::string& text) { node.text() = ManyLines(text).c_str(); }

std::string Seconds(double seconds) { return fmt::format("{:.3f}", std::max(0.0, seconds)); }

void AddCounts(pugi::xml_node node, const CheckReport& check) {
  const auto count = [&](Outcome outcome) {
    return std::to_string(std::count_if(check.pairs.begin(), check.pairs.end(), [&](const CheckPair& pair) {
      return OutcomeOf(pair, check) == outcome;
    }));
  };
  Set(node, "tests", std::to_string(check.pairs.size()));
  Set(node, "failures", count(Outcome::kFailure));
  Set(node, "errors", count(Outcome::kError));
  Set(node, "skipped", count(Outcome::kSkipped));
  Set(node, "time", Seconds(check.seconds));
}

void AddCase(pugi::xml_node suite, const CheckPair& pair, const CheckReport& check) {
  pugi::xml_node node = suite.append_child("testcase");
  Set(node, "name", pair.name);
  Set(node, "classname", check.model_id.empty() ? "etprof.check" : "etprof.check." + check.model_id);
  Set(node, "time", Seconds(check.seconds / static_cast<double>(check.pairs.size())));
  const auto add = [&](const char* element, const char* type) {
    pugi::xml_node child = node.append_child(element);
    if (*type != '\0') Set(child, "type", type);
    Set(child, "message", MessageOf(pair));
    SetText(child, DetailsOf(pair));
  };
  switch (OutcomeOf(pair, check)) {
    case Outcome::kPassed:
      SetText(node.append_child("system-out"), DetailsOf(pair));
      break;
    case Outcome::kFailure:
      add("failure", pair.decision == GateDecision::kFail ? "regression" : "inconclusive");
      break;
    case Outcome::kError:
      add("error", "measurement");
      break;
    case Outcome::kSkipped:
      add("skipped", "");
      break;
  }
}

}  // namespace

void RenderJunit(const CheckReport& check, std::ostream& out) {
  pugi::xml_document document;
  pugi::xml_node declaration = document.append_child(pugi::node_declaration);
  declaration.append_attribute("version") = "1.0";
  declaration.append_attribute("encoding") = "UTF-8";
  pugi::xml_node suites = document.append_child("testsuites");
  Set(suites, "name", "etprof check");
  AddCounts(suites, check);
  pugi::xml_node suite = suites.append_child("testsuite");
  Set(suite, "name", check.model_id.empty() ? "etprof check" : "etprof check " + check.model_id);
  AddCounts(suite, check);
  std::string timestamp = check.generated_at;
  if (timestamp.ends_with("Z")) timestamp.pop_back();  // the schema's time has no zone
  if (!timestamp.empty()) Set(suite, "timestamp", timestamp);
  pugi::xml_node properties = suite.append_child("properties");
  const auto add = [&](const char* name, const std::string& value) {
    if (value.empty()) return;
    pugi::xml_node property = properties.append_child("property");
    Set(property, "name", name);
    Set(property, "value", value);
  };
  add("device", check.where);
  add("run_directory", check.folder);
  add("false_discovery", fmt::format("{:g}", check.false_discovery));
  for (const CheckPair& pair : check.pairs) AddCase(suite, pair, check);
  std::string notes;
  for (const std::string& note : check.notes) notes += note + "\n";
  if (!notes.empty()) SetText(suite.append_child("system-out"), notes);
  document.save(out, "  ", pugi::format_indent, pugi::encoding_utf8);
}

}  // namespace etprof
