#include "cli/reference/schema_reference.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "core/text/escape.h"

namespace etprof {
namespace {

using Schema = nlohmann::ordered_json;

std::string Code(const Schema& value) {
  return CodeCell(value.is_string() ? value.get<std::string>() : value.dump());
}

// Words with `code` in them.
std::string WithCode(const std::string& text) {
  std::string words;
  for (std::size_t at = 0, end = 0; at < text.size(); at = end) {
    const bool code = text[at] == '`';
    end = std::min(text.find('`', at + 1), text.size());
    if (code && end < text.size()) ++end;
    const std::string part = text.substr(at, end - at);
    words += code && part.size() > 1 ? Code(part.substr(1, part.size() - 2)) : EscapeMarkdown(part);
  }
  return words;
}

std::string Bounds(const Schema& schema) {
  const auto number = [&](const char* key) { return schema[key].dump(); };
  if (schema.contains("minimum") && schema.contains("maximum"))
    return fmt::format(" from {} to {}", number("minimum"), number("maximum"));
  std::vector<std::string> bounds;
  if (schema.contains("minimum")) bounds.push_back("≥ " + number("minimum"));
  if (schema.contains("exclusiveMinimum")) bounds.push_back("> " + number("exclusiveMinimum"));
  if (schema.contains("maximum")) bounds.push_back("≤ " + number("maximum"));
  if (schema.contains("exclusiveMaximum")) bounds.push_back("< " + number("exclusiveMaximum"));
  return bounds.empty() ? "" : fmt::format(" {}", fmt::join(bounds, ", "));
}

// The tables of one schema.
class Tables {
 public:
  explicit Tables(const Schema& schema) : schema_(schema) {}

  std::string Text() {
    std::string text = TableOf(schema_);
    if (const auto definitions = schema_.find("$defs"); definitions != schema_.end()) {
      for (const auto& [name, definition] : definitions->items())
        text += fmt::format("\n`{}`\n\n{}", name, TableOf(definition));
    }
    return text;
  }

 private:
  std::string TableOf(const Schema& object) {
    table_ = "| key | value | meaning |\n| --- | --- | --- |\n";
    AddMembers(object, "");
    return std::move(table_);
  }

  void AddMembers(const Schema& object, const std::string& path) {
    const Schema required = object.value("required", Schema::array());
    for (const auto& [key, member] : object["properties"].items()) {
      std::string form = FormOf(member);
      if (std::ranges::find(required, Schema(key)) == required.end()) form += ", optional";
      table_ += fmt::format("| {} | {} | {} |\n", Code(path + key), form,
                            WithCode(member.value("description", "")));
      AddNested(member, path + key);
    }
  }

  // Objects without a table of their own.
  void AddNested(const Schema& member, const std::string& path) {
    if (member.contains("properties")) AddMembers(member, path + ".");
    if (const auto any = member.find("anyOf"); any != member.end()) {
      for (const Schema& each : *any) AddNested(each, path);
    }
    if (const auto items = member.find("items"); items != member.end()) AddNested(*items, path + "[]");
    const auto others = member.find("additionalProperties");
    if (others != member.end() && others->is_object()) AddNested(*others, path + ".*");
  }

  static std::string FormOf(const Schema& schema) {
    if (const auto reference = schema.find("$ref"); reference != schema.end()) {
      const auto text = reference->get<std::string>();
      return Code(text.substr(text.rfind('/') + 1));
    }
    if (const auto constant = schema.find("const"); constant != schema.end()) return Code(*constant);
    std::vector<std::string> forms;
    if (const auto names = schema.find("enum"); names != schema.end()) {
      for (const Schema& name : *names) forms.push_back(Code(name));
      return fmt::format("{}", fmt::join(forms, ", "));
    }
    if (const auto any = schema.find("anyOf"); any != schema.end()) {
      for (const Schema& each : *any) forms.push_back(FormOf(each));
      return fmt::format("{}", fmt::join(forms, " or "));
    }
    const Schema type = schema.value("type", Schema::array());
    for (const Schema& each : type.is_array() ? type : Schema::array({type})) {
      const auto name = each.get<std::string>();
      forms.push_back(name == "array"                                  ? "list of " + FormOf(schema["items"])
                      : name == "integer" || name == "number"          ? name + Bounds(schema)
                      : name == "string" && schema.contains("pattern") ? "string, " + Code(schema["pattern"])
                                                                       : name);
    }
    return fmt::format("{}", fmt::join(forms, " or "));
  }

  const Schema& schema_;
  std::string table_;
};

}  // namespace

std::string CodeCell(const std::string& text) {
  std::string code = "`";
  for (const char c : text) code += c == '|' ? std::string("\\|") : std::string(1, c);
  return code + "`";
}

std::string SchemaReference(const std::map<std::string, nlohmann::ordered_json>& schemas) {
  std::string text =
      "# JSON\n\n"
      "Made by `script/reference` from the descriptions that write the files and outputs. Each is a JSON\n"
      "Schema in `docs/schema`, too. A list's elements are `key[]`, what is not known is null, and keys\n"
      "may be added under the same `schema_version`.\n";
  for (const auto& [name, schema] : schemas) {
    text += fmt::format("\n## {}\n\n{}: {}\n\n{}", name, WithCode(schema["title"].get<std::string>()),
                        WithCode(schema["description"].get<std::string>()), Tables(schema).Text());
  }
  return text;
}

}  // namespace etprof
