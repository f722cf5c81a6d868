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

// How the tables name things: of JSON, or of a CSV file's rows.
struct Words {
  const char* key;
  std::map<std::string, std::string> types;  // others than the schema's own
};

// The tables of one schema.
class Tables {
 public:
  Tables(const Schema& schema, const Words& words) : schema_(schema), words_(words) {}

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
    table_ = fmt::format("| {} | value | meaning |\n| --- | --- | --- |\n", words_.key);
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

  std::string FormOf(const Schema& schema) const {
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
                      : words_.types.contains(name)                    ? words_.types.at(name)
                                                                       : name);
    }
    return fmt::format("{}", fmt::join(forms, " or "));
  }

  const Schema& schema_;
  const Words& words_;
  std::string table_;
};

std::string Sections(const std::map<std::string, Schema>& schemas, const Words& words) {
  std::string text;
  for (const auto& [name, schema] : schemas) {
    text += fmt::format("\n## {}\n\n{}: {}\n\n{}", name, WithCode(schema["title"].get<std::string>()),
                        WithCode(schema["description"].get<std::string>()), Tables(schema, words).Text());
  }
  return text;
}

}  // namespace

std::string CodeCell(const std::string& text) {
  std::string code = "`";
  for (const char c : text) code += c == '|' ? std::string("\\|") : std::string(1, c);
  return code + "`";
}

std::string SchemaReference(const std::map<std::string, nlohmann::ordered_json>& schemas) {
  return "# JSON\n\n"
         "Made by `script/reference` from the descriptions that write the files and outputs. Each is a JSON\n"
         "Schema in `docs/schema`, too. A list's elements are `key[]`, what is not known is null, and keys\n"
         "may be added under the same `schema_version`.\n" +
         Sections(schemas, {.key = "key", .types = {}});
}

std::string CsvReference(const std::map<std::string, nlohmann::ordered_json>& schemas) {
  return "# CSV\n\n"
         "Made by `script/reference` from the descriptions that write the tables, and read those of\n"
         "measurements. [Files](files.md#what-the-analysis-writes) says what all of them have in common.\n"
         "Columns stand in this order. Their names end in the unit: `_ms`, `_us`, `_ns`, `_bytes`; `pct` is\n"
         "percent.\n" +
         Sections(schemas,
                  {.key = "column", .types = {{"null", "empty"}, {"string", "text"}, {"boolean", "0 or 1"}}});
}

}  // namespace etprof
