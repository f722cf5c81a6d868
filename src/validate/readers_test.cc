// Readers generated from descriptions accept the same values as the schemas of the same descriptions.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/json/json_members.h"
#include "core/json/json_schema_of.h"
#include "core/sanitizer.h"
#include "measure/store/run_data.h"
#include "measure/store/suite_state.h"
#include "measure/store/watch.h"
#include "protocol/messages.h"
#include "protocol/peaks.h"
#include "report/example_run.h"
#include "validate/json_schema.h"

namespace etprof {
namespace {

using nlohmann::json;
using Pointer = json::json_pointer;

// Adds the paths of all values. Of a list, only the first element is visited.
void AddPaths(const json& value, const Pointer& path, std::vector<Pointer>& paths) {
  if (!path.empty()) paths.push_back(path);
  if (value.is_object()) {
    for (const auto& [key, member] : value.items()) AddPaths(member, path / key, paths);
  } else if (value.is_array() && !value.empty()) {
    AddPaths(value[0], path / 0, paths);
  }
}

template <typename T>
class Fixture {
 public:
  explicit Fixture(json example) : example_(std::move(example)), schema_(MakeSchema<T>("", "")) {
    schema_.erase("$schema");
    for (const SchemaProblem& problem : CheckSchema(example_, schema_))
      ADD_FAILURE() << "the example: " << problem.path << ": " << problem.problem;
    EXPECT_EQ(ReaderProblem(example_), "");
  }

  // Changes every value in several ways, and returns the changes that only the reader or only the schema
  // accepts. `ignored_keys` collects the keys that the reader ignores, since their values are computed when
  // they are written. Sanitizer builds make every fifth change.
  std::vector<std::string> Differences(std::set<std::string>& ignored_keys) const {
    std::vector<Pointer> paths;
    AddPaths(example_, Pointer(), paths);
    std::vector<std::string> differences;
    std::string skipped = "none";
    std::size_t num_changes = 0;
    for (const Pointer& path : paths) {
      if (path.to_string().starts_with(skipped + "/")) continue;
      if (example_[path.parent_pointer()].is_object()) {
        json reduced = example_;
        reduced[path.parent_pointer()].erase(path.back());
        if (ReaderProblem(reduced).empty() && !CheckSchema(reduced, schema_).empty()) {
          skipped = path.to_string();
          ignored_keys.insert(path.back());
          continue;
        }
        Compare(reduced, path.to_string() + " is missing", differences);
      }
      for (const json& replacement : MakeReplacements(example_[path])) {
        if (kHasAddressSanitizer && num_changes++ % 5 != 0) continue;
        json changed = example_;
        changed[path] = replacement;
        Compare(changed, path.to_string() + " is " + replacement.dump(), differences);
      }
    }
    return differences;
  }

 private:
  static std::vector<json> MakeReplacements(const json& value) {
    std::vector<json> changes = {nullptr,
                                 true,
                                 -1,
                                 0,
                                 2.0,
                                 1.5,
                                 json::array(),
                                 json::object(),
                                 "",
                                 "text",
                                 json::array({nullptr}),
                                 std::string(64, 'a')};
    if (value.is_array() && !value.empty()) {
      changes.push_back(value);
      changes.back().push_back(value[0]);
    }
    return changes;
  }

  static std::string ReaderProblem(const json& value) {
    try {
      T read;
      FromJson(value, read, ReadMode::kAllKeysRequired);
      return "";
    } catch (const std::invalid_argument& problem) {
      return problem.what();
    }
  }

  void Compare(const json& value, const std::string& change, std::vector<std::string>& differences) const {
    const std::string reader_problem = ReaderProblem(value);
    const std::vector<SchemaProblem> schema_problems = CheckSchema(value, schema_);
    if (reader_problem.empty() == schema_problems.empty()) return;
    differences.push_back(
        change + ": " + (reader_problem.empty() ? "schema: " + schema_problems[0].problem : reader_problem));
  }

  json example_, schema_;
};

template <typename T>
void ExpectNoDifferences(const json& example, const std::set<std::string>& only_written = {}) {
  std::set<std::string> ignored_keys;
  EXPECT_THAT(Fixture<T>(example).Differences(ignored_keys), testing::IsEmpty());
  EXPECT_EQ(ignored_keys, only_written);
}

TEST(Readers, AgreeWithTheSchemaOfSuiteStates) {
  SuiteState state;
  state.cells.emplace_back();
  state.cells[0].model = "net";
  state.cells[0].device = "local";
  ExpectNoDifferences<SuiteState>(ToJson(state));
}

TEST(Readers, AgreeWithTheSchemaOfPeaks) {
  protocol::Peaks peaks;
  auto& compute = peaks.compute.emplace_back();
  compute.dtype = "fp32";
  compute.macs.tries = 1;
  auto& memory = peaks.memory.emplace_back();
  memory.access = "read";
  memory.bytes.tries = 1;
  memory.working_set_bytes = 1;
  ExpectNoDifferences<protocol::Peaks>(ToJson(peaks));
}

TEST(Readers, AgreeWithTheSchemasOfMessages) {
  protocol::OutputDigest digest;
  digest.sha256 = std::string(64, '0');
  ExpectNoDifferences<protocol::OutputDigest>(ToJson(digest));
  ExpectNoDifferences<protocol::BurstReply>(ToJson(protocol::BurstReply()));
  ExpectNoDifferences<protocol::LoadReply>(ToJson(protocol::LoadReply()));
}

TEST(Readers, AgreeWithTheSchemaOfWatchedRuns) {
  WatchData watch;
  watch.reply.runs = 1;
  watch.reply.threads = 1;
  protocol::WatchedOperator& op = watch.reply.operators.emplace_back();
  op.threads.emplace_back();
  std::set<std::string> ignored_keys;
  std::vector<std::string> differences = Fixture<WatchData>(ToJson(watch)).Differences(ignored_keys);
  // A schema cannot compare a length with a number.
  std::erase_if(differences, [](const std::string& difference) {
    return difference.ends_with(": an operator has not as many threads as the process");
  });
  EXPECT_THAT(differences, testing::IsEmpty());
  EXPECT_THAT(ignored_keys, testing::IsEmpty());
}

TEST(Readers, AgreeWithTheSchemaOfManifests) {
  RunData run = example::MakePairReport().run;
  run.config_hash = std::string(64, '0');
  run.generated_at = "2026-01-02T03:04:05Z";
  for (ExperimentData& data : run.experiments) {  // one of each kind is enough
    if (data.launches.size() > 1) data.launches.resize(1);
    for (Launch& launch : data.launches) {
      if (launch.bursts.size() > 1) launch.bursts.resize(1);
    }
  }
  // These sums and counts are only written: readers compute them from the latency file.
  ExpectNoDifferences<RunData>(
      ToJson(run),
      {"all_runs", "clean_runs", "first_run_ns", "latency_ms", "load_ns", "max_ms", "median_ms", "median_ns",
       "min_ms", "opening_runs", "peak_rss_bytes", "recorded_runs", "runs", "traced_runs", "warmup_runs"});
}

}  // namespace
}  // namespace etprof
