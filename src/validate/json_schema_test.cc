#include "validate/json_schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>

#include "core/file/file.h"
#include "core/golden_testing.h"
#include "core/json/json_schema_of.h"
#include "measure/store/run_data.h"
#include "report/example_run.h"
#include "show/formats/json/json.h"

namespace etprof {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> Problems(const json& value, const json& schema) {
  std::vector<std::string> texts;
  for (const SchemaProblem& problem : CheckSchema(value, schema))
    texts.push_back(problem.path + ": " + problem.problem);
  return texts;
}

TEST(CheckSchema, SupportsEachKeyword) {
  const json schema = json::parse(R"({
    "type": "object", "required": ["n"], "additionalProperties": false,
    "dependentRequired": {"part": ["n"]},
    "properties": {
      "n": {"type": ["integer", "null"], "minimum": 0, "maximum": 9},
      "kind": {"enum": ["a", "b"]},
      "version": {"const": 1},
      "part": {"type": "string", "pattern": "^x+$"},
      "list": {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/side"}},
      "free": {"type": "object", "additionalProperties": {"type": "number"}},
      "either": {"anyOf": [{"$ref": "#/$defs/side"}, {"type": "null"}]}
    },
    "$defs": {"side": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}}}
  })");
  EXPECT_THAT(Problems({{"n", 1},
                        {"kind", "a"},
                        {"version", 1},
                        {"part", "xx"},
                        {"free", {{"y", 0.5}}},
                        {"list", {{{"name", "z"}}}},
                        {"either", nullptr}},
                       schema),
              IsEmpty());
  EXPECT_THAT(Problems({{"n", nullptr}}, schema), IsEmpty());
  EXPECT_THAT(Problems({{"n", 2.0}}, schema), IsEmpty());  // JSON Schema counts 2.0 as an integer
  const auto single_problem = [&](json value) {
    if (!value.contains("n")) value["n"] = 1;
    const auto problems = Problems(value, schema);
    return problems.size() == 1 ? problems[0] : "not one problem";
  };
  EXPECT_THAT(Problems(json::object(), schema), ElementsAre("n: is missing"));
  EXPECT_THAT(Problems(json::array(), schema), ElementsAre(": must be object, but is a list"));
  ExpectGoldenMessages("validate/schema_problems",
                       {{"fraction", single_problem({{"n", 2.5}})},
                        {"below minimum", single_problem({{"n", -1}})},
                        {"above maximum", single_problem({{"n", 10}})},
                        {"enum", single_problem({{"kind", "c"}})},
                        {"const", single_problem({{"version", 2}})},
                        {"pattern", single_problem({{"part", "y"}})},
                        {"pattern of a long text", single_problem({{"part", std::string(5000, 'x')}})},
                        {"empty list", single_problem({{"list", json::array()}})},
                        {"type in a list", single_problem({{"list", {{{"name", 1}}}}})},
                        {"additional property", single_problem({{"free", {{"y", "z"}}}})},
                        {"anyOf", single_problem({{"either", json::object()}})},
                        {"unknown property", single_problem({{"other", 1}})}});
  EXPECT_THAT(Problems({{"part", "x"}}, schema),
              ElementsAre("n: is missing, where part is", "n: is missing"));
}

TEST(CheckSchema, RejectsUnsupportedKeywords) {
  EXPECT_THROW(CheckSchema(1, {{"multipleOf", 2}}), std::logic_error);
  EXPECT_THROW(CheckSchema(1, {{"type", "text"}}), std::logic_error);
  EXPECT_THROW(GetPublishedSchema("none"), std::out_of_range);
}

TEST(PublishedSchemas, MatchTheDescriptions) {
  for (const auto& [name, schema] : DescribedSchemas()) {
    const std::string file = ETPROF_TEST_DATA "/../../docs/schema/" + name + ".schema.json";
    EXPECT_EQ(ReadTextFile(file), WrapJson(schema)) << "script/reference writes it";
    EXPECT_EQ(GetPublishedSchema(name), json(schema));
  }
}

TEST(PublishedSchemas, AcceptWrittenFiles) {
  const Report report = example::MakePairReport();
  std::ostringstream analysis, summary;
  RenderAnalysisJson(report, analysis);
  RenderPipelineSummaryJson(report, summary);
  EXPECT_THAT(Problems(json::parse(analysis.str()), GetPublishedSchema("analysis_summary")), IsEmpty());
  EXPECT_THAT(Problems(json::parse(summary.str()), GetPublishedSchema("pipeline_summary")), IsEmpty());
  EXPECT_THAT(Problems(json(ToJson(Metrics(report.run), report.run.folder)), GetPublishedSchema("metrics")),
              IsEmpty());
}

TEST(PublishedSchemas, AcceptTheAnalysisOfABareEtdump) {
  std::ostringstream analysis;
  RenderAnalysisJson(example::MakeBareEtdumpReport(), analysis);
  EXPECT_THAT(Problems(json::parse(analysis.str()), GetPublishedSchema("analysis_summary")), IsEmpty());
}

}  // namespace
}  // namespace etprof
