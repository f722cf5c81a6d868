#include "core/text/csv_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"

namespace etprof {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Records = std::vector<std::vector<std::string>>;

Records Read(const std::string& text) {
  CsvReader reader(text, "a.csv");
  Records records;
  std::vector<std::string_view> fields;
  while (reader.Next(fields)) records.emplace_back(fields.begin(), fields.end());
  return records;
}

std::string CsvProblem(const std::string& text) {
  try {
    Read(text);
  } catch (const Error& error) {
    EXPECT_EQ(error.exit_code(), ExitCode::kBadInput);
    return error.Message();
  }
  return "";
}

TEST(CsvReader, ReadsPlainAndQuotedFields) {
  EXPECT_EQ(Read("a,b\n1,\n"), (Records{{"a", "b"}, {"1", ""}}));
  EXPECT_EQ(Read("\xef\xbb\xbf"
                 "a,b\r\n\"x, \"\"y\"\"\",\"line\nbreak\"\r\n"),
            (Records{{"a", "b"}, {"x, \"y\"", "line\nbreak"}}));
  EXPECT_EQ(Read("\"\"\"\"\n"), (Records{{"\""}}));
  EXPECT_EQ(Read(""), Records());
}

TEST(CsvReader, NamesTheLineOfAProblem) {
  EXPECT_THAT(CsvProblem("a,b\n1,2\n3\n"), HasSubstr("line 3: has 1 field, the header has 2"));
  EXPECT_THAT(CsvProblem("a,b\n\"x\ny\",2\n1,2,3\n"), HasSubstr("line 4: has 3 fields"));
  EXPECT_THAT(CsvProblem("a,b\n1,2"), HasSubstr("line 2: the last line has no end"));
  EXPECT_THAT(CsvProblem("a,b\n1,\"2\n\n\n"),
              HasSubstr("line 2: a quoted field that begins here has no end"));
  EXPECT_THAT(CsvProblem("a,b\n1,2\"3\n"), HasSubstr("line 2: a quote in a field"));
  EXPECT_THAT(CsvProblem("a,b\n1,\"2\"3\n"), HasSubstr("line 2: text after the closing quote"));
  EXPECT_THAT(CsvProblem("a,b\r1,2\n"), HasSubstr("line 1: a carriage return"));
  EXPECT_THAT(CsvProblem("a,b\n\n"), HasSubstr("line 2: has 1 field"));
}

TEST(CsvReader, RefusesEveryTruncatedLine) {
  const std::string text = "a,b\n\"x\"\"\",1\ny,2\n";
  for (std::size_t size = 0; size < text.size(); ++size) {
    const std::string cut = text.substr(0, size);
    if (cut.empty() || cut.ends_with("\n")) {
      EXPECT_EQ(CsvProblem(cut), "") << cut;  // whole lines
    } else {
      EXPECT_NE(CsvProblem(cut), "") << cut;
    }
  }
}

}  // namespace
}  // namespace etprof
