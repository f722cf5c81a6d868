#include "validate/json_schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>

#include "core/json/json.h"
#include "core/json/json_members.h"

namespace etprof {
namespace {

using nlohmann::json;

bool IsOfType(const json& value, const std::string& type) {
  if (type == "null") return value.is_null();
  if (type == "boolean") return value.is_boolean();
  if (type == "string") return value.is_string();
  if (type == "number") return value.is_number();
  if (type == "array") return value.is_array();
  if (type == "object") return value.is_object();
  if (type == "integer") {
    return value.is_number_integer() ||
           (value.is_number_float() && value.get<double>() == std::floor(value.get<double>()));
  }
  throw std::logic_error("a schema names a type that does not exist: " + type);
}

std::string Quoted(const json& value) {
  std::string text = value.is_object() ? "an object" : value.is_array() ? "a list" : JsonText(value);
  if (text.size() > 60) {
    text.resize(57);
    text += "...";
  }
  return text;
}

std::string Joined(const json& list) {
  std::string text;
  for (const json& item : list) {
    text += (text.empty() ? "" : " or ") + (item.is_string() ? item.get<std::string>() : item.dump());
  }
  return text;
}

class Checker {
 public:
  explicit Checker(const json& root) : root_(root) {}

  void Check(const json& value, const json& schema, const std::string& path) {
    for (const auto& [keyword, rule] : schema.items()) {
      if (keyword == "$schema" || keyword == "$defs" || keyword == "title" || keyword == "description") {
        continue;
      }
      if (keyword == "$ref") {
        Check(value, ResolveReference(rule.get<std::string>()), path);
      } else if (keyword == "anyOf") {
        CheckAnyOf(value, rule, path);
      } else if (!CheckValue(value, keyword, rule, path) &&
                 !CheckObject(value, keyword, rule, schema, path) &&
                 !CheckArray(value, keyword, rule, path)) {
        throw std::logic_error("a schema has a keyword that is not checked: " + keyword);
      }
    }
  }

  std::vector<SchemaProblem> Take() { return std::move(problems_); }

 private:
  void Add(const std::string& path, std::string problem) { problems_.push_back({path, std::move(problem)}); }

  // Finds the schema of a reference such as "#/$defs/name".
  const json& ResolveReference(const std::string& reference) const {
    return root_.at(json::json_pointer(reference.substr(1)));
  }

  // If the value fits none of the schemas, reports the problems with the schema that it violates least.
  void CheckAnyOf(const json& value, const json& schemas, const std::string& path) {
    std::vector<SchemaProblem> fewest_problems;
    for (const json& schema : schemas) {
      Checker checker(root_);
      checker.Check(value, schema, path);
      std::vector<SchemaProblem> problems = checker.Take();
      if (problems.empty()) return;
      const bool only_null = schema == json{{"type", "null"}};
      if (!only_null && (fewest_problems.empty() || problems.size() < fewest_problems.size()))
        fewest_problems = std::move(problems);
    }
    problems_.insert(problems_.end(), fewest_problems.begin(), fewest_problems.end());
  }

  bool CheckValue(const json& value, const std::string& keyword, const json& rule, const std::string& path) {
    if (keyword == "type") {
      const json types = rule.is_array() ? rule : json::array({rule});
      if (std::ranges::none_of(types, [&](const json& type) { return IsOfType(value, type); })) {
        Add(path, fmt::format("must be {}, but is {}", Joined(types), Quoted(value)));
      }
    } else if (keyword == "const") {
      if (value != rule) Add(path, fmt::format("must be {}, but is {}", rule.dump(), Quoted(value)));
    } else if (keyword == "enum") {
      if (std::ranges::find(rule, value) == rule.end()) {
        Add(path, fmt::format("must be {}, but is {}", Joined(rule), Quoted(value)));
      }
    } else if (keyword == "minimum") {
      if (value.is_number() && value < rule) {
        Add(path, fmt::format("must be at least {}, but is {}", rule.dump(), Quoted(value)));
      }
    } else if (keyword == "maximum") {
      if (value.is_number() && value > rule) {
        Add(path, fmt::format("must be at most {}, but is {}", rule.dump(), Quoted(value)));
      }
    } else if (keyword == "pattern") {
      CheckPattern(value, rule.get<std::string>(), path);
    } else {
      return false;
    }
    return true;
  }

  void CheckPattern(const json& value, const std::string& pattern, const std::string& path) {
    if (!value.is_string()) return;
    if (!describe::MatchesPattern(value.get_ref<const std::string&>(), pattern)) {
      Add(path, fmt::format("must look like {}, but is {}", pattern, Quoted(value)));
    }
  }

  bool CheckObject(const json& value, const std::string& keyword, const json& rule, const json& schema,
                   const std::string& path) {
    const auto member_path = [&](const std::string& key) { return path.empty() ? key : path + "." + key; };
    static const std::set<std::string> keywords = {"properties", "required", "dependentRequired",
                                                   "additionalProperties"};
    if (!keywords.contains(keyword)) return false;
    if (!value.is_object()) return true;
    if (keyword == "properties") {
      for (const auto& [key, property] : rule.items()) {
        if (value.contains(key)) Check(value.at(key), property, member_path(key));
      }
    } else if (keyword == "required") {
      for (const json& key : rule) {
        if (!value.contains(key.get<std::string>())) Add(member_path(key), "is missing");
      }
    } else if (keyword == "dependentRequired") {
      for (const auto& [key, others] : rule.items()) {
        if (!value.contains(key)) continue;
        for (const json& other : others) {
          if (!value.contains(other.get<std::string>()))
            Add(member_path(other), "is missing, where " + key + " is");
        }
      }
    } else {
      const json known_properties = schema.value("properties", json::object());
      for (const auto& [key, member] : value.items()) {
        if (known_properties.contains(key)) continue;
        if (rule == false) {
          Add(member_path(key), "is not known");
        } else if (rule.is_object()) {
          Check(member, rule, member_path(key));
        }
      }
    }
    return true;
  }

  bool CheckArray(const json& value, const std::string& keyword, const json& rule, const std::string& path) {
    if (keyword == "items") {
      for (std::size_t i = 0; value.is_array() && i < value.size(); ++i) {
        Check(value[i], rule, fmt::format("{}[{}]", path, i));
      }
    } else if (keyword == "minItems") {
      if (value.is_array() && value.size() < rule.get<std::size_t>()) {
        Add(path, fmt::format("must have at least {} entries", rule.dump()));
      }
    } else {
      return false;
    }
    return true;
  }

  const json& root_;
  std::vector<SchemaProblem> problems_;
};

}  // namespace

std::vector<SchemaProblem> CheckSchema(const json& value, const json& schema) {
  Checker checker(schema);
  checker.Check(value, schema, "");
  return checker.Take();
}

}  // namespace etprof
