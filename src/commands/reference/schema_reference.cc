#include "commands/reference/schema_reference.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <regex>
#include <string_view>
#include <utility>
#include <vector>

#include "core/text/escape.h"

namespace etprof {
namespace {

using Schema = nlohmann::ordered_json;

std::string Code(const Schema& value) {
  return CodeCell(value.is_string() ? value.get<std::string>() : value.dump());
}

// Converts a description to Markdown: `code`, *terms*, and links to pages (docs/guides/ci.md), relative to
// docs/reference and docs/guides.
std::string DescriptionToMarkdown(const std::string& text) {
  static const std::regex marks("`[^`]+`|\\*[a-z]+\\*|docs/([a-z]+/([a-z-]+)\\.md(#[a-z0-9-]+)?)");
  std::string markdown;
  auto position = text.begin();
  for (std::sregex_iterator mark(text.begin(), text.end(), marks), end; mark != end; ++mark) {
    markdown += EscapeMarkdown(std::string(position, (*mark)[0].first));
    position = (*mark)[0].second;
    const std::string markup = mark->str();
    markdown += markup.front() == '`'   ? CodeCell(markup.substr(1, markup.size() - 2))
                : markup.front() == '*' ? markup
                                        : fmt::format("[{}](../{})", mark->str(2), mark->str(1));
  }
  return markdown + EscapeMarkdown(std::string(position, text.end()));
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

// The texts of the tables that differ between JSON and the rows of a CSV file.
struct TableTexts {
  const char* key;
  std::map<std::string, std::string> types;  // names of types that differ from the schema's
  // True if users write the file and may omit most keys. The tables of nested objects then omit the keys that
  // the file itself has.
  bool for_writers = false;
};

// Makes the tables of one schema.
class SchemaTables {
 public:
  SchemaTables(const Schema& schema, const TableTexts& texts) : schema_(schema), texts_(texts) {}

  std::string Text() {
    std::string text = MakeTable(schema_);
    if (const auto definitions = schema_.find("$defs"); definitions != schema_.end()) {
      for (const auto& [name, definition] : definitions->items())
        text += fmt::format("\n`{}`\n\n{}", name, MakeTable(definition));
    }
    return text;
  }

 private:
  std::string MakeTable(const Schema& object) {
    table_ = fmt::format("| {} | value | meaning |\n| --- | --- | --- |\n", texts_.key);
    AddMembers(object, "");
    return std::move(table_);
  }

  void AddMembers(const Schema& object, const std::string& path) {
    const Schema required = object.value("required", Schema::array());
    for (const auto& [key, member] : object["properties"].items()) {
      if (texts_.for_writers && &object != &schema_ && schema_["properties"].value(key, Schema()) == member)
        continue;
      std::string type_text = TypeText(member);
      const bool required_key = std::ranges::find(required, Schema(key)) != required.end();
      if (required_key == texts_.for_writers) type_text += required_key ? ", needed" : ", optional";
      if (const auto default_value = member.find("default"); default_value != member.end())
        type_text += fmt::format(" (default: {})", default_value->is_number()
                                                       ? fmt::format("`{}`", default_value->get<double>())
                                                       : Code(*default_value));
      table_ += fmt::format("| {} | {} | {} |\n", Code(path + key), type_text,
                            DescriptionToMarkdown(member.value("description", "")));
      AddNested(member, path + key);
    }
  }

  // Adds the members of nested objects that have no separate table.
  void AddNested(const Schema& member, const std::string& path) {
    if (member.contains("properties")) AddMembers(member, path + ".");
    if (const auto alternatives = member.find("anyOf"); alternatives != member.end()) {
      for (const Schema& alternative : *alternatives) AddNested(alternative, path);
    }
    if (const auto items = member.find("items"); items != member.end()) AddNested(*items, path + "[]");
    const auto additional = member.find("additionalProperties");
    if (additional != member.end() && additional->is_object()) AddNested(*additional, path + ".*");
  }

  std::string TypeText(const Schema& schema) const {
    if (const auto reference = schema.find("$ref"); reference != schema.end()) {
      const auto text = reference->get<std::string>();
      return Code(text.substr(text.rfind('/') + 1));
    }
    if (const auto constant = schema.find("const"); constant != schema.end()) return Code(*constant);
    std::vector<std::string> types;
    if (const auto names = schema.find("enum"); names != schema.end()) {
      for (const Schema& name : *names) types.push_back(Code(name));
      return fmt::format("{}", fmt::join(types, ", "));
    }
    if (const auto alternatives = schema.find("anyOf"); alternatives != schema.end()) {
      for (const Schema& alternative : *alternatives) {
        if (!texts_.for_writers || alternative != Schema{{"type", "null"}})
          types.push_back(TypeText(alternative));
      }
      return fmt::format("{}", fmt::join(types, " or "));
    }
    const Schema type = schema.value("type", Schema::array());
    for (const Schema& alternative : type.is_array() ? type : Schema::array({type})) {
      const auto name = alternative.get<std::string>();
      if (texts_.for_writers && name == "null") continue;
      types.push_back(name == "array"                         ? "list of " + TypeText(schema["items"])
                      : name == "integer" || name == "number" ? name + Bounds(schema)
                      : name == "string" && schema.contains("pattern") && !texts_.for_writers
                          ? "string, " + Code(schema["pattern"])
                      : texts_.types.contains(name) ? texts_.types.at(name)
                                                    : name);
    }
    return fmt::format("{}", fmt::join(types, " or "));
  }

  const Schema& schema_;
  const TableTexts& texts_;
  std::string table_;
};

std::string Sections(const std::map<std::string, Schema>& schemas, const TableTexts& texts) {
  std::string text;
  for (const auto& [name, schema] : schemas) {
    text += fmt::format(
        "\n## {}\n\n{}: {}\n\n{}", name, DescriptionToMarkdown(schema["title"].get<std::string>()),
        DescriptionToMarkdown(schema["description"].get<std::string>()), SchemaTables(schema, texts).Text());
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

std::string InsertKeys(const std::string& page, const nlohmann::ordered_json& schema) {
  static constexpr std::string_view kBegin = "<!-- keys: made by script/reference -->\n\n",
                                    kEnd = "\n<!-- end of keys -->";
  const std::size_t begin = page.find(kBegin), end = page.find(kEnd);
  if (begin == std::string::npos || end == std::string::npos) return page;
  return page.substr(0, begin + kBegin.size()) +
         SchemaTables(schema, {.key = "key", .types = {}, .for_writers = true}).Text() + page.substr(end);
}

}  // namespace etprof
