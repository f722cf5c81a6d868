#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "core/text/csv_reader.h"
#include "core/text/escape.h"
#include "report/example_run.h"
#include "show/formats/csv/kit_files.h"
#include "show/formats/formats_testing.h"

namespace etprof {
namespace {

// Maps the columns of `header` to the fields of `line`.
std::map<std::string, std::string> FieldsOfLine(const std::string& header, const std::string& line) {
  const std::string csv = header + "\n" + line + "\n";
  CsvReader reader(csv, "a.csv");
  std::vector<std::string_view> fields;
  EXPECT_TRUE(reader.Next(fields));
  const std::vector<std::string> columns(fields.begin(), fields.end());
  EXPECT_TRUE(reader.Next(fields));
  EXPECT_EQ(fields.size(), columns.size());
  std::map<std::string, std::string> values;
  for (std::size_t i = 0; i < columns.size(); ++i) values.emplace(columns[i], std::string(fields.at(i)));
  return values;
}

std::vector<std::string> Timeline(const Trace& trace, std::optional<std::size_t> run = std::nullopt) {
  AttributeOptions options;
  options.model_id = "net";
  return read::Lines(read::RenderToString(RenderTimelineCsv, trace, Attribute(trace, options), run));
}

TEST(TimelineCsv, HasOneRowPerEventWithExactTimes) {
  const std::vector<std::string> lines = Timeline(example::MakeTrace(example::MakeInferences(2, 4'000'001)));
  ASSERT_EQ(lines.size(), 1 + 2 * 8u);
  EXPECT_EQ(
      lines[0],
      "model_id,name,type,delegate_backend,start_us,end_us,duration_ms,pct_total,node_id,run_index,block,"
      "instruction,chain,self_ms,category,group,phase");
  EXPECT_EQ(lines[1],
            "net,native_call_mean.out,mean.out,,2,202.001,0.200001,3.8895,forward/0/kernel/0,0,Execute,0,0,"
            "0.200001,REDUCTION,Other,first");
  EXPECT_EQ(
      lines[4],
      "net,\"Convolution (NHWC, F32) IGEMM #1\",\"Convolution (NHWC, F32) IGEMM\",XnnpackBackend,542.004,"
      "4542.005,4.000001,77.7906,forward/1/backend/"
      "1,0,Execute,1,0,4.000001,CONV_STANDARD,Convolution,first");
}

TEST(TimelineCsv, WritesASingleRun) {
  const std::vector<std::string> lines =
      Timeline(example::MakeTrace(example::MakeInferences(3, 4'000'000)), 1);
  ASSERT_EQ(lines.size(), 1 + 8u);
  const auto fields = FieldsOfLine(lines[0], lines[1]);
  EXPECT_EQ(fields.at("run_index"), "1");
  EXPECT_EQ(fields.at("block"), "Execute");
}

TEST(TimelineCsv, KeepsEventsOfAnIncompleteRun) {
  Trace trace = example::MakeTrace(example::MakeInferences(2, 4'000'000));
  Trace::Layout& layout = trace.layouts.back();
  layout.name.pop_back();  // Method::execute
  layout.source.pop_back();
  layout.chain.pop_back();
  layout.instruction.pop_back();
  layout.delegate_id.pop_back();
  trace.blocks.back().event_count -= 1;
  const std::vector<std::string> lines = Timeline(trace);
  ASSERT_EQ(lines.size(), 1 + 15u);
  const auto fields = FieldsOfLine(lines[0], lines[9]);
  for (const char* const column : {"pct_total", "node_id", "run_index"}) EXPECT_EQ(fields.at(column), "");
  EXPECT_EQ(fields.at("block"), "Execute");
}

TEST(TimelineCsv, EmptyTraceGivesOnlyTheHeader) { EXPECT_EQ(Timeline({}).size(), 1u); }

TEST(OperatorStatisticsCsv, AddsUpToTheWhole) {
  const Profile profile = example::MakeProfile("off", 4'000'000);
  const std::vector<std::string> lines =
      read::Lines(read::RenderToString(RenderOperatorStatisticsCsv, profile));
  ASSERT_EQ(lines.size(), 1 + profile.operators.size());
  const auto fields = FieldsOfLine(lines[0], lines[1]);
  EXPECT_EQ(fields.at("model_id"), "net");
  EXPECT_EQ(fields.at("name"), "Convolution (NHWC, F32) IGEMM #1");
  EXPECT_EQ(fields.at("key"), "forward/1/backend/1");
  EXPECT_EQ(fields.at("category"), "CONV_STANDARD");
  EXPECT_EQ(fields.at("group"), "Convolution");
}

TEST(CsvField, RoundTrips) {
  for (const std::string text : {"", "plain", "a,b", "\"", "\"\"", "line\nbreak", "caf\xc3\xa9"}) {
    const std::string csv = "name,other\n" + CsvField(text) + ",1\n";
    CsvReader reader(csv, "a.csv");
    std::vector<std::string_view> fields;
    ASSERT_TRUE(reader.Next(fields));
    ASSERT_TRUE(reader.Next(fields));
    EXPECT_EQ(fields[0], text);
  }
}

TEST(CsvField, QuotesByRfc4180) {
  EXPECT_EQ(CsvField("plain"), "plain");
  EXPECT_EQ(CsvField("a,b"), "\"a,b\"");
  EXPECT_EQ(CsvField("say \"x\""), "\"say \"\"x\"\"\"");
  EXPECT_EQ(CsvField("two\nlines"), "\"two\nlines\"");
}

}  // namespace
}  // namespace etprof
