#include "protocol/messages.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "core/golden_testing.h"
#include "core/json/json_members.h"

namespace etprof::protocol {
namespace {

using nlohmann::json;

// Reads back a written message and compares both as JSON: every written field must be read.
template <typename Message>
void ExpectRoundTrip(const Message& message) {
  const json written = message;
  const std::string line = written.dump();
  EXPECT_EQ(line.find('\n'), std::string::npos);
  EXPECT_EQ(json(json::parse(line).get<Message>()), written);
  EXPECT_EQ(json(json::object().get<Message>()), json(Message{})) << "a missing key keeps its default";
  json newer = written;
  newer["a_field_of_tomorrow"] = {1, 2};
  EXPECT_EQ(json(newer.get<Message>()), written);
  for (const json& foreign : {json(nullptr), json(1), json("x"), json::array(), json(true)}) {
    EXPECT_THROW(foreign.get<Message>(), std::invalid_argument);
  }
  // Every field refuses all other types.
  for (const auto& [key, value] : written.items()) {
    for (const json& wrong :
         {json("text"), json(true), json(json::array({"a", 1})), json(json::object({{"b", 2}})), json(1.5)}) {
      if (wrong.type() == value.type() || (wrong.is_object() && value.is_object())) continue;
      if (wrong.is_number() && (value.is_number_float() || value.is_null())) continue;
      json bad = written;
      bad[key] = wrong;
      EXPECT_THROW(bad.get<Message>(), std::invalid_argument) << key << " = " << wrong;
    }
  }
}

TEST(Messages, ReadBackEveryType) {
  const IsaState isa{{"avx", "avx2"}, {"avx2"}, {"avx"}, false, "why"};
  ExpectRoundTrip(isa);
  const Clocks clocks{1, 2, -3, 20};
  ExpectRoundTrip(clocks);
  ExpectRoundTrip(Ready{1,
                        "0.1",
                        "1.5.1",
                        kExactClock,
                        kSchedstat,
                        4,
                        99,
                        isa,
                        clocks,
                        "a \"CPU\"\n",
                        {{"/lib/x.so", "0a1f"}}});
  ExpectRoundTrip(InputSpec{"random", {"a", "b"}, std::numeric_limits<std::uint64_t>::max()});
  ExpectRoundTrip(LoadRequest{"m.pte", "d.ptd", "forward", {"g"}, InputSpec{"ones", {}, 0}, StepPlace{7, 3}});
  ExpectRoundTrip(LoadRequest{"m.pte", "", "f", {}, std::nullopt, std::nullopt});
  ExpectRoundTrip(StepPlace{2, 1});
  ExpectRoundTrip(StepPlace{2, 1, "embed"});
  ExpectRoundTrip(SelectRequest{"decode", std::nullopt});
  ExpectRoundTrip(SelectRequest{"", StepPlace{1, 2}});
  ExpectRoundTrip(FillRequest{9, 4});
  ExpectRoundTrip(FillReply{3, 2});
  ExpectRoundTrip(ReferenceReply{"a", "b"});
  ExpectRoundTrip(GenerateTextRequest{5, 4, 2});
  ExpectRoundTrip(GenerateTextReply{
      9, {1}, {2}, {1}, {0}, {1}, {2}, {3}, {3}, {-1}, std::nullopt, std::nullopt, std::nullopt});
  ExpectRoundTrip(GenerateTextReply{9, {1}, {2}, {1}, {0}, {1}, {2}, {3}, {3}, {-1}, 4, 16, 1});
  const TensorInfo info{"Float", {1, 3, 224, 224}};
  ExpectRoundTrip(info);
  const MethodReply method{{info}, {info, {"int", {}}}, "ones", {"w"}};
  ExpectRoundTrip(method);
  ExpectRoundTrip(LoadReply{method, 5, 1, {"XnnpackBackend"}, 7});
  ExpectRoundTrip(BurstRequest{1, 2, 3, 4, 5, 6, 7, StepPlace{1, 9}});
  BurstReply burst;
  burst.opening = {9, 8};
  burst.recorded = {std::numeric_limits<std::int64_t>::max()};
  burst.traced = {1};
  burst.stabilized = false;
  burst.first_run_traced = true;
  burst.temperature_celsius = -5;
  burst.load_average = 0.5;
  burst.cpu_end = 3;
  burst.opening_wait = {0, 5};
  burst.recorded_wait = {6};
  burst.traced_wait = {7};
  burst.recorded_cpu = {8};
  burst.thread_cpu = {9, 1};
  burst.steal_time = 10'000'000;
  ExpectRoundTrip(burst);
  ExpectRoundTrip(OutputDigest{info, std::string(64, 'a'), -1.5, 2.25, 0.1, 3, 4});
  ExpectRoundTrip(OutputDigest{info, std::string(64, 'a'), {}, {}, {}, 3, 4});
  ExpectRoundTrip(OutputsRequest{"o.safetensors", StepPlace{1, 2}});
  ExpectRoundTrip(OutputsReply{{OutputDigest{info, std::string(64, 'a'), {}, 1.5, {}, 3, 4}}});
  ExpectRoundTrip(EtdumpRequest{"a.etdump", StepPlace{3, 4}});
  ExpectRoundTrip(EtdumpReply{3, 4});
  ExpectRoundTrip(MemoryReply{3, 4});
}

template <typename Message>
std::string MessageProblem(const std::string& text) {
  try {
    (void)json::parse(text).get<Message>();
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "no error";
}

template <typename Message>
void AddProblems(const std::string& type, const std::vector<std::string>& texts, CaseMessages& problems) {
  for (const std::string& text : texts)
    problems.emplace_back(type + " " + text, MessageProblem<Message>(text));
}

TEST(Messages, RefuseNegativeAndTooLargeCounts) {
  CaseMessages problems;
  AddProblems<BurstRequest>(
      "BurstRequest",
      {R"({"min_runs": -1})", R"({"min_runs": 3.5})", R"({"min_runs": "3"})", R"({"min_runs": 100001})",
       R"({"max_runs": 2000000000})", R"({"min_opening": 31})", R"({"target_ns": 4611686018427387904})",
       R"({"target_ns": 18446744073709551615})", R"({"target_ns": 1e300})"},
      problems);
  AddProblems<Ready>("Ready", {R"({"threads": 2147483648})"}, problems);
  AddProblems<FillReply>("FillReply", {R"({"ns": 9223372036854775808})"}, problems);
  AddProblems<InputSpec>("InputSpec", {R"({"seed": -1})", R"({"seed": 0.5})"}, problems);
  AddProblems<TensorInfo>("TensorInfo", {R"({"shape": [1, -2]})"}, problems);
  AddProblems<BurstReply>("BurstReply", {R"({"cpu_start": -1})"}, problems);
  AddProblems<LoadRequest>("LoadRequest", {R"({"inputs": {"paths": [1]}})"}, problems);
  ExpectGoldenMessages("protocol/protocol_problems", problems);
  EXPECT_TRUE(
      json::parse(R"({"target_ns": 1e400})", nullptr, false).is_discarded());  // beyond the parser's limit
  EXPECT_EQ(MessageProblem<BurstRequest>("{}"), "no error");
}

TEST(Messages, DistinguishAbsentInputs) {
  EXPECT_FALSE(json::parse("{}").get<LoadRequest>().inputs.has_value());
  EXPECT_FALSE(json::parse(R"({"inputs": null})").get<LoadRequest>().inputs.has_value());
  EXPECT_TRUE(json::parse(R"({"inputs": {}})").get<LoadRequest>().inputs.has_value());
}

TEST(Messages, WriteNanAsNull) {
  OutputDigest digest;
  digest.mean = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(json::parse(json(digest).dump())["mean"], nullptr);
}

}  // namespace
}  // namespace etprof::protocol
