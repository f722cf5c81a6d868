#include "validate/json_schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>

#include "core/json/json.h"
#include "core/json/json_members.h"
#include "core/json/json_schema_of.h"
#include "core/text/text.h"
#include "format/program/source/noise_budget.h"
#include "history/trends.h"
#include "measure/config/config.h"
#include "measure/config/suite_config.h"
#include "measure/store/peaks.h"
#include "measure/store/run_data.h"
#include "measure/store/suite_state.h"
#include "measure/store/watch.h"
#include "report/check.h"
#include "report/kernels/kernels.h"
#include "report/static_check.h"
#include "report/suite/suite.h"
#include "show/formats.h"
#include "show/formats/csv/kit_files.h"
#include "show/formats/json/json.h"

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

std::string Quote(const json& value) {
  return value.is_object() ? "an object" : value.is_array() ? "a list" : Shorten(JsonText(value));
}

std::string JoinWithOr(const json& list) {
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
    const auto add_problem = [&](const std::string& requirement) {
      Add(path, fmt::format("must {}, but is {}", requirement, Quote(value)));
    };
    if (keyword == "type") {
      const json types = rule.is_array() ? rule : json::array({rule});
      if (std::ranges::none_of(types, [&](const json& type) { return IsOfType(value, type); }))
        add_problem("be " + JoinWithOr(types));
    } else if (keyword == "const") {
      if (value != rule) add_problem("be " + rule.dump());
    } else if (keyword == "enum") {
      if (std::ranges::find(rule, value) == rule.end()) add_problem("be " + JoinWithOr(rule));
    } else if (keyword == "minimum") {
      if (value.is_number() && value < rule) add_problem("be at least " + rule.dump());
    } else if (keyword == "maximum") {
      if (value.is_number() && value > rule) add_problem("be at most " + rule.dump());
    } else if (keyword == "pattern") {
      const auto pattern = rule.get<std::string>();
      if (value.is_string() && !describe::MatchesPattern(value.get_ref<const std::string&>(), pattern))
        add_problem("look like " + pattern);
    } else {
      return false;
    }
    return true;
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

const std::map<std::string, nlohmann::ordered_json>& DescribedSchemas() {
  static const std::map<std::string, nlohmann::ordered_json> schemas = {
      {"config", MakeSchema<ConfigFile>(
                     "Configuration of `etprof run`",
                     "What to measure and how (docs/reference/config.md). The file may have comments, "
                     "which JSON Schema does not see.")},
      {"manifest",
       MakeSchema<RunData>(
           "manifest.json of an etprof results directory",
           "How and where it was measured, and what came out but for the single latencies "
           "(docs/reference/files.md). Times are integer nanoseconds (_ns), sizes bytes; what is not "
           "known is null.")},
      {"metrics", MakeSchema<Metrics>("metrics.json of an etprof results directory",
                                      "A summary of each experiment (docs/reference/files.md).")},
      {"peaks",
       MakeSchema<Peaks>("peaks.json of an etprof results directory",
                         "The machine's peaks for the experiments of a run (docs/guides/bottlenecks.md).")},
      {"watch",
       MakeSchema<WatchData>("_watch.json of an experiment",
                             "What the runner saw of XNNPACK's calls (docs/concepts/kernels.md). Times and "
                             "counts are sums over the runs.")},
      {"accuracy", MakeSchema<NoiseBudget>("MODEL.pte.accuracy.json, next to a quantized program",
                                           "Which values make the noise of its outputs "
                                           "(docs/guides/accuracy.md).")},
      {"check", MakeSchema<CheckReport>("etprof check --json: what the gate found",
                                        "docs/guides/ci.md. What is not defined is null.")},
      {"history_check",
       MakeSchema<HistoryReport>("etprof history check --json: what became slower, and since when",
                                 "docs/guides/history.md. What is not defined is null.")},
      {"suite",
       MakeSchema<SuiteConfig>("Suite of `etprof suite`",
                               "Which models to measure where (docs/guides/suites.md). The file may have "
                               "comments, which JSON Schema does not see.")},
      {"suite_state", MakeSchema<SuiteState>("suite_state.json of a suite's folder",
                                             "How far each cell is (docs/guides/suites.md).")},
      {"suite_report", MakeSchema<SuiteReport>("suite_report.json of a suite, and `etprof suite --json`",
                                               "docs/guides/suites.md. What is not defined is null.")},
      {"static_check",
       MakeSchema<StaticCheck>(
           "etprof check --static --json, and limits of etprof inspect --json",
           "What the static gate found (docs/guides/ci.md). Shares are from 0 to 1, sizes bytes.")},
      {"kernels", MakeSchema<KernelReport>("etprof kernels --json",
                                           "docs/concepts/kernels.md. Names stand as they are in the logs.")},
      {"document", DocumentSchema()},
      {"devices_report", DevicesReportSchema()},
      {"analysis_summary", AnalysisSummarySchema()},
      {"pipeline_summary", PipelineSummarySchema()},
      {"timeline", TimelineSchema()},
      {"robust_stats", RobustStatsSchema()},
      {"robust_comparison", RobustComparisonSchema()},
      {"inspect", InspectSchema()},
      {"inspect_data", InspectDataSchema()}};
  return schemas;
}

const nlohmann::json& GetPublishedSchema(const std::string& name) {
  static const std::map<std::string, nlohmann::json> schemas = [] {
    std::map<std::string, nlohmann::json> parsed;
    for (const auto& [schema_name, schema] : DescribedSchemas()) parsed[schema_name] = nlohmann::json(schema);
    return parsed;
  }();
  return schemas.at(name);
}

}  // namespace etprof
